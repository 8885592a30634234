// Runs a sequence on two servers in step (each request goes to both, then the next), or on one alone.
import { applyMergePatch } from '@capstan/kube';
import { parse } from 'yaml';
import { createNormaliser, type Normaliser } from './normalise.ts';
import type { Answer, DiffRequest, Sequence } from './sequence.ts';
import type { OpenWatch, RawAnswer, RawRequest, ServerUnderTest } from './server-under-test.ts';

/** The results on one server. */
export interface Outcome {
  answers: Answer[];
}

export interface RunOptions {
  /** The interval and the limit of the re-checks of controllers' work. */
  pollMs?: number;
  patienceMs?: number;
  /** Earlier answers of a server, to compare with where there is one server only. */
  known?: readonly Answer[];
}

export async function runSequence(
  sequence: Sequence,
  servers: readonly ServerUnderTest[],
  { pollMs = 50, patienceMs = 10_000, known = [] }: RunOptions = {},
): Promise<Outcome[]> {
  const runs = servers.map((server) => startRun(sequence, server));
  try {
    await Promise.all(runs.map((run) => run.begin()));
    for (const [at, request] of sequence.requests.entries()) {
      const marks = runs.map((run) => run.mark());
      let answers = await Promise.all(runs.map((run) => run.step(request)));
      if (request.eventually) {
        const end = Date.now() + patienceMs;
        while (!agree(answers, known[at]) && Date.now() < end) {
          await pause(pollMs);
          // Intermediate values are not compared.
          for (const goBack of marks) goBack();
          answers = await Promise.all(runs.map((run) => run.step(request)));
        }
      }
      for (const [index, run] of runs.entries()) run.keep(answers[index] as Answer);
    }
    await quiet(runs.flatMap((run) => run.watches));
    return runs.map((run) => run.outcome());
  } finally {
    await Promise.all(runs.map((run) => run.end()));
  }
}

function agree([first, ...others]: readonly Answer[], known: Answer | undefined): boolean {
  // Work that the collector has yet to do is not compared.
  const text = JSON.stringify(first);
  if ([first, ...others].some((one) => isWaiting(one))) return false;
  // With one server there are only the earlier answers to compare with; else controllers are done when the object is gone.
  if (others.length === 0) return known === undefined ? first?.status === 404 : JSON.stringify(known) === text;
  return others.every((one) => JSON.stringify(one) === text);
}

function isWaiting(answer: Answer | undefined): boolean {
  const { metadata } = (answer?.body ?? {}) as { metadata?: { finalizers?: string[] } };
  return (metadata?.finalizers ?? []).some((one) => one === 'orphan' || one === 'foregroundDeletion');
}

interface Run {
  begin(): Promise<void>;
  step(request: DiffRequest): Promise<Answer>;
  /** Returns a function that goes back to the values seen before. */
  mark(): () => void;
  keep(answer: Answer): void;
  readonly watches: OpenWatch[];
  outcome(): Outcome;
  end(): Promise<void>;
}

function startRun({ name, requests }: Sequence, server: ServerUnderTest): Run {
  const prefixes = requests.flatMap(({ body }) => generatedPrefix(body)?.replaceAll('{ns}', name) ?? []);
  const normaliser = createNormaliser(prefixes);
  const memory = createMemory(name);
  const answers: Answer[] = [];
  const watches = new Map<number, OpenWatch>();
  const appearance = async (object: string) => {
    const path = `/api/v1/namespaces/${name}/${object}`;
    for (const end = Date.now() + 20_000; ; await pause(20)) {
      const { status, text } = await server.send({ method: 'GET', path, headers: {} });
      memory.saw(0, path, jsonOf(text));
      if (status === 200) break;
      if (Date.now() > end) throw new Error(`${server.label}: ${path} does not come to be`);
    }
  };
  return {
    watches: [],
    async begin() {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      const path = '/api/v1/namespaces';
      const made = await server.send({ method: 'POST', path, headers: JSON_BODY, body });
      if (made.status !== 201) throw new Error(`${server.label}: cannot make the namespace ${name}: ${made.text}`);
      // Controllers create these objects in every namespace: pods take the account, and lists contain the ConfigMap.
      for (const made of ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']) await appearance(made);
    },
    async step(request) {
      const raw = rawOf(request, memory);
      if (request.watch) {
        watches.get(request.id)?.close();
        const watch = await server.watch(raw);
        watches.set(request.id, watch);
        this.watches.push(watch);
        return {
          id: request.id,
          status: watch.status,
          contentType: watch.headers['content-type'] ?? '',
          warnings: [],
          body: null,
        };
      }
      const answer = await server.send(raw);
      const parsed =
        answer.headers['content-type'] === 'application/yaml' ? (parse(answer.text) as unknown) : jsonOf(answer.text);
      memory.saw(request.id, raw.path, parsed);
      return shown(request.id, answer, parsed, normaliser);
    },
    mark: () => normaliser.mark(),
    keep: (answer) => answers.push(answer),
    outcome() {
      for (const answer of answers) {
        const watch = watches.get(answer.id);
        if (watch) answer.events = eventsOf(watch, createNormaliser(prefixes));
      }
      return { answers };
    },
    async end() {
      for (const watch of watches.values()) watch.close();
      await server.send({ method: 'DELETE', path: `/api/v1/namespaces/${name}`, headers: {} }).catch(() => {});
    },
  };
}

function generatedPrefix(body: unknown): string | undefined {
  const { metadata } = (body ?? {}) as { metadata?: { generateName?: unknown } | null };
  return typeof metadata?.generateName === 'string' && metadata.generateName !== '' ? metadata.generateName : undefined;
}

const JSON_BODY = { 'content-type': 'application/json' };

function shown(id: number, { status, headers }: RawAnswer, parsed: unknown, normaliser: Normaliser): Answer {
  const warnings = [headers['warning'] ?? []].flat().flatMap((line) => line.split(/, (?=299 )/));
  return {
    id,
    status,
    contentType: headers['content-type'] ?? '',
    warnings: warnings.map((line) => normaliser.text(line)).toSorted(),
    body: normaliser.value(parsed),
  };
}

// A watch may show one object several times; each is compared with the state before it, whatever else happened between.
function eventsOf({ lines, status }: OpenWatch, normaliser: Normaliser): unknown[] {
  if (status !== 200) return [normaliser.value(jsonOf(lines.join('\n')))];
  const values = lines.filter((line) => line !== '').map(jsonOf);
  const events = values as { type: string; object: unknown }[];
  // Bookmarks come in the server's own time, except the one that ends the initial events.
  const kept = events.filter(({ type, object }) => type !== 'BOOKMARK' || isInitialEnd(object));
  const bookmark = { type: 'BOOKMARK', object: '<initial events end>' };
  return kept.map(({ type, object }) => (type === 'BOOKMARK' ? bookmark : { type, object: normaliser.value(object) }));
}

function isInitialEnd(object: unknown): boolean {
  const { metadata } = object as { metadata?: { annotations?: Record<string, string> } };
  return metadata?.annotations?.['k8s.io/initial-events-end'] === 'true';
}

/** Waits until no watch has brought anything for a while: a server does not signal that it has nothing more to send. */
async function quiet(watches: readonly OpenWatch[]): Promise<void> {
  if (watches.length === 0) return;
  let before = -1;
  for (let rounds = 0; rounds < 40; rounds++) {
    const now = watches.reduce((sum, { lines }) => sum + lines.length, 0);
    if (now === before) return;
    before = now;
    await pause(120);
  }
}

interface Memory {
  readonly name: string;
  saw(id: number, path: string, body: unknown): void;
  version(path: string, which: 'first' | 'last'): string;
  object(path: string): unknown;
  answer(id: number): NonNullable<Seen['metadata']>;
}

interface Seen {
  metadata?: { name?: string; uid?: string; resourceVersion?: string; continue?: string };
}

function createMemory(name: string): Memory {
  const last = new Map<string, Seen>();
  const first = new Map<string, Seen>();
  const byId = new Map<number, Seen>();
  return {
    name,
    saw(id, path, body) {
      if (typeof body !== 'object' || body === null) return;
      const object = body as Seen & { kind?: string };
      byId.set(id, object);
      if (object.kind === 'Status' || object.kind === 'Scale' || object.metadata?.uid === undefined) return;
      // A collection that answers with one object has made it.
      const [bare = ''] = path.split('?');
      const parts = bare.split('/');
      const own = object.metadata.name ?? '';
      const at = parts.includes(own) ? bare.slice(0, bare.indexOf(`/${own}`) + own.length + 1) : `${bare}/${own}`;
      last.set(at, object);
      if (!first.has(at)) first.set(at, object);
    },
    version: (path, which) => (which === 'first' ? first : last).get(path)?.metadata?.resourceVersion ?? '1',
    object: (path) => last.get(path),
    answer: (id) => byId.get(id)?.metadata ?? {},
  };
}

function rawOf(request: DiffRequest, memory: Memory): RawRequest {
  const query = Object.entries(request.query ?? {}).map(([key, value]): [string, string] => {
    const text = filled(value, memory);
    // A real server does not remember the first revision; of an object that was never seen any will do.
    return [key, key === 'resourceVersion' && text === '1' ? '0' : text];
  });
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query).toString()}`;
  const headers: Record<string, string> = {};
  const body = bodyOf(request, memory);
  if (body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
  if (request.accept !== undefined) headers['accept'] = request.accept;
  if (request.as !== undefined) headers['impersonate-user'] = request.as;
  const path = `${filled(request.path, memory)}${search}`;
  return { method: request.method, path, headers, ...(body !== undefined && { body }) };
}

function bodyOf({ text, body, edit }: DiffRequest, memory: Memory): string | undefined {
  if (text !== undefined) return filled(text, memory);
  if (edit !== undefined) {
    const before = memory.object(filled(edit.path, memory)) ?? {};
    return JSON.stringify(applyMergePatch(before, filledIn(edit.patch, memory)));
  }
  return body === undefined ? undefined : JSON.stringify(filledIn(body, memory));
}

function filledIn(value: unknown, memory: Memory): unknown {
  if (typeof value === 'string') return filled(value, memory);
  if (Array.isArray(value)) return value.map((one) => filledIn(one, memory));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filledIn(one, memory)]));
}

function filled(text: string, memory: Memory): string {
  const named = text
    .replaceAll('{ns}', memory.name)
    .replaceAll(/\{name:(\d+)\}/g, (_, id: string) => memory.answer(Number(id)).name ?? 'none');
  const [, word, argument = ''] = /^@(\w+):(.*)$/.exec(named) ?? [];
  if (word === undefined) return named;
  const answer = () => memory.answer(Number(argument));
  if (word === 'rv') return memory.version(argument, 'last');
  if (word === 'oldrv') return memory.version(argument, 'first');
  if (word === 'uid') return (memory.object(argument) as Seen | undefined)?.metadata?.uid ?? '';
  if (word === 'name') return answer().name ?? 'none';
  if (word === 'continue') return answer().continue ?? '';
  if (word === 'listrv') return answer().resourceVersion ?? '';
  return named;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
