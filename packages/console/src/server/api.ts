// The answers of the API. Every GET only reads; `POST /api/act` is the only path that can write.
import { randomBytes } from 'node:crypto';
import { type Clock, formatTime, type Kind, kindId } from '@capstan/kube';
import { type ChangeFeed, createChangeFeed, formatObjectId, type ObjectId, objectGraph } from '@capstan/reconcile';
import { writerOf, writtenObjects } from '../objects/written-objects.ts';
import { createEventStream, type EventStream } from './event-stream.ts';
import { roleToRead } from './missing-rights.ts';
import { type Direction, neighbourhood } from './neighbourhood.ts';
import { objectAnswer } from './object-answer.ts';
import { createKnownCauses, overviewOf } from './overview.ts';
import { createPlans } from './plans.ts';
import { createReports } from './reports.ts';
import { createRows, findObjects, type Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';
import { createTimeline } from './timeline.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Api {
  /** Undefined for a path that there is not. */
  answer(path: string, query: URLSearchParams, signal: AbortSignal): Promise<Answer | undefined>;
  /** The same for requests with a body. */
  post(path: string, body: unknown, signal: AbortSignal): Promise<Answer | undefined>;
  readonly stream: EventStream;
  close(): void;
}

const MAX_LIMIT = 2000;
const MAX_BUDGET = 500;
const MAX_DEPTH = 8;
/** Roots are sent that often at most; less often where their computation takes long. */
const ROOTS_MS = 200;
const MOST_SHARE = 0.1;
/** While lists are under way. */
const FILLING_MS = 500;

/** To be created when the first page is open: from then on it follows every wave. */
export function createApi(source: ConsoleSource, clock: Clock): Api {
  const { runtime } = source;
  const epoch = randomBytes(6).toString('hex');
  const now = () => source.now?.() ?? clock.now();
  const feed: ChangeFeed = createChangeFeed({ runtime, now, epoch });
  const rows: Rows = createRows(source, () => formatTime(now()));
  const causes = createKnownCauses(source, rows);
  const timeline = createTimeline({ feed, rows: rows.all, now: () => formatTime(now()) });
  const reports = createReports(source, clock);
  const plans = createPlans(source, clock);
  let rootsSentAt = Number.NEGATIVE_INFINITY;
  let rootsMs = ROOTS_MS;
  const sent = { roots: '', sinks: '', sync: '' };
  const sendIfChanged = (type: keyof typeof sent, data: unknown) => {
    const text = JSON.stringify(data);
    if (sent[type] === text) return;
    sent[type] = text;
    stream.send(type, data);
  };
  const stream: EventStream = createEventStream({
    clock,
    epoch,
    onSent() {
      const waitMs = rootsSentAt + rootsMs - clock.now();
      // The last change of a burst must not be forgotten.
      if (waitMs > 0) return stream.soon(waitMs);
      rootsSentAt = clock.now();
      const { sinks, filling, ...found } = overviewOf(source, rows, causes());
      rootsMs = Math.max(ROOTS_MS, (clock.now() - rootsSentAt) / MOST_SHARE);
      sendIfChanged('roots', found);
      sendIfChanged('sinks', { sinks });
      sendIfChanged('sync', { filling });
      // Lists that are under way change no object until they are complete.
      if (filling.length > 0) stream.soon(FILLING_MS);
    },
  });
  feed.onChanges((changes) => {
    const update = rows.update(changes);
    timeline.record(update.rows, update.removed);
    stream.changed({ ...update, changes });
    reports.changed();
  });
  feed.onSeen((seen) => {
    const update = rows.update(seen);
    timeline.found(update.rows);
    stream.changed({ ...update, changes: [] });
    reports.changed();
  });
  // The first step of each page is the present.
  reports.changed();

  const readersOf = (id: ObjectId) => new Set(objectGraph(runtime).readersOf(id).map(formatObjectId));

  async function answerObject(id: ObjectId, signal: AbortSignal): Promise<Answer> {
    const kind = rows.kindOf(id);
    if (kind === undefined) return notFound(`${id.kind} is no kind that the console reads`);
    const body = await objectAnswer(id, kind, { source, rows, feed, causes }, signal);
    return body === undefined ? notFound(`${formatObjectId(id)} does not exist`) : { status: 200, body };
  }

  return {
    stream,
    async answer(path, query, signal) {
      const [, , resource = '', ...parts] = path.split('/');
      if (parts.length === 0) {
        if (resource === 'session') return { status: 200, body: sessionOf(source, epoch) };
        if (resource === 'overview') {
          const namespace = query.get('ns') ?? '';
          const asked = namespace === '' ? undefined : namespace;
          return { status: 200, body: overviewOf(source, rows, causes(), asked) };
        }
        if (resource === 'objects') {
          const after = query.get('after') ?? undefined;
          const limit = numberIn(query, 'limit', 200, MAX_LIMIT);
          const sort = query.get('sort') ?? '';
          const asked = { q: query.get('q') ?? '', sort, limit, ...(after !== undefined && { after }) };
          return { status: 200, body: rows.page(asked, readersOf) };
        }
        if (resource === 'changes') {
          const object = idOf((query.get('object') ?? '').split('/'));
          const before = numberIn(query, 'before', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
          const limit = numberIn(query, 'limit', 200, MAX_LIMIT);
          const changes = feed.list({ limit, before, ...(object !== undefined && { object }) });
          return { status: 200, body: { epoch, changes } };
        }
        if (resource === 'find') {
          const limit = numberIn(query, 'limit', 20, MAX_LIMIT);
          return { status: 200, body: findObjects(query.get('q') ?? '', limit, rows, objectGraph(runtime)) };
        }
        if (resource === 'timeline') {
          const object = idOf((query.get('object') ?? '').split('/'));
          const since = query.get('since') ?? '';
          const asked = { ...(since !== '' && { since }), ...(object !== undefined && { object }) };
          return { status: 200, body: timeline.answer(asked, feed.waves) };
        }
        if (resource === 'reports') return { status: 200, body: reports.list() };
      }
      const [name = ''] = parts;
      if (resource === 'wave' && parts.length === 1) {
        const wave = feed.waves.find((one) => String(one.wave) === name);
        return wave && { status: 200, body: { ...wave, list: feed.ofWave(wave.wave) } };
      }
      if (resource === 'schema' && parts.length === 1) {
        const schema = await source.schema?.(name, signal);
        return schema === undefined ? notFound(`there is no schema of ${name}`) : { status: 200, body: schema };
      }
      const report = await reports.answer([resource, ...parts].join('/'), query, signal);
      if (report !== undefined) return report;
      const id = idOf(parts);
      if (id === undefined) return undefined;
      if (resource === 'object') return answerObject(id, signal);
      if (resource !== 'graph') return undefined;
      const wanted = query.get('dir') ?? 'both';
      const directions: readonly Direction[] =
        wanted === 'reads' || wanted === 'readers' ? [wanted] : ['reads', 'readers'];
      const depth = numberIn(query, 'depth', 3, MAX_DEPTH);
      const budget = numberIn(query, 'budget', 200, MAX_BUDGET);
      // The writes of an object are on the side of its readers, its writer is on the side of its reads.
      const { objects, last } = writtenObjects(runtime, id);
      const written = directions.includes('readers') ? objects : [];
      const writer = directions.includes('reads') ? writerOf(runtime, id) : undefined;
      const asked = { directions, depth, budget, written, writer };
      const graph = neighbourhood(objectGraph(runtime), id, rows.all, asked);
      return { status: 200, body: { ...graph, writes: written.map(formatObjectId), ...(last && { last }) } };
    },
    async post(path, body, signal) {
      if (path === '/api/plan') return plans.plan(body, signal);
      if (path === '/api/act') return plans.act(body, signal);
      if (path === '/api/explain') return reports.explain(body, signal);
      const [, page] = /^\/api\/(.+)\/what-if$/.exec(path) ?? [];
      if (page !== undefined) return reports.whatIf(page, body, signal);
      return undefined;
    },
    close() {
      feed.stop();
      reports.close();
      stream.close();
    },
  };
}

function sessionOf({ runtime, operators, writes, session }: ConsoleSource, epoch: string): unknown {
  return {
    ...session,
    epoch,
    writes,
    worlds: [...runtime.worlds.keys()].map((name) => ({ name })),
    operators: operators.map(({ name }) => name),
    kinds: [...runtime.worlds.values()].flatMap((world) =>
      world.kinds.map((kind) => ({
        world: world.name,
        kind: kindId(kind),
        ...accessTo(kind, world.access.peek(kindId(kind))),
      })),
    ),
  };
}

function accessTo(kind: Kind, access: string | undefined): { access: string; role?: string } {
  return { access: access ?? 'unknown', ...(access === 'forbidden' && { role: roleToRead(kind) }) };
}

/** `WORLD/KIND.GROUP/NAMESPACE/NAME`, with `-` for the local world, and without a namespace for kinds of the cluster. */
export function idOf(parts: readonly string[]): ObjectId | undefined {
  const [world = '', kind = '', ...key] = parts;
  if (kind === '' || key.length === 0 || key.length > 2 || key.includes('')) return undefined;
  return { world: world === '-' ? '' : world, kind, key: key.join('/') };
}

function numberIn(query: URLSearchParams, name: string, otherwise: number, most: number): number {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Math.min(Math.max(1, Number(text)), most) : otherwise;
}

function notFound(message: string): Answer {
  return { status: 404, body: { message } };
}
