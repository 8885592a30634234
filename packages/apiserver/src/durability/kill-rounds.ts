// The proof that an acknowledged write survives: a server under load is killed (SIGKILL) at random moments, again and again on the same
// file, and each successor must return everything that was acknowledged before. Moments, keys and values follow from the seed; the
// behaviour of the system does not, so a failure shows the seed and keeps the folder.
import { type ChildProcess, fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createHttpTransport,
  fixedCredentials,
  type Random,
  sleep,
  systemClock,
  type Transport,
  type UnknownObject,
} from '@capstan/kube';
import { isResponse } from '../transport.ts';
import { createLedger, type Ledger, textOf } from './ledger.ts';

export interface KillRoundsOptions {
  rounds: number;
  random: Random;
  /** An empty folder; it is emptied again when everything was right. */
  folder: string;
  /** Default 16. */
  writers?: number;
  onRound?: (round: number, writes: number) => void;
}

export interface KillRoundsResult {
  rounds: number;
  /** Acknowledged in all rounds together. */
  writes: number;
  /** Kills before the server was ready, while it was still opening its file. */
  early: number;
  problems: readonly string[];
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const TOKEN = 'for-the-child-alone';
/** The server is killed a moment after it has acknowledged the number of writes that belongs to the round. */
const MAX_WRITES = 120;
const MAX_MOMENT_MS = 4;
const EARLY_SHARE = 0.1;
const MAX_EARLY_MS = 40;

/** Runs the rounds, or as many as it takes to find something wrong. */
export async function killRounds(options: KillRoundsOptions): Promise<KillRoundsResult> {
  const { rounds, random, folder, writers = 16 } = options;
  const path = join(folder, 'state.db');
  const ledger = createLedger();
  const problems: string[] = [];
  let early = 0;
  let next = spawn();
  try {
    for (let round = 1; round <= rounds && problems.length === 0; round += 1) {
      const child = await next;
      next = spawn();
      if (random() < EARLY_SHARE) {
        early += 1;
        child.go(path);
        await sleep(systemClock, random() * MAX_EARLY_MS);
      } else {
        problems.push(...(await oneRound(child, path, ledger, random, writers)));
      }
      await child.kill();
      options.onRound?.(round, ledger.writes);
    }
    const last = await next;
    problems.push(...(await oneRound(last, path, ledger, random, 1)), ...ledger.problems);
    await last.kill();
  } finally {
    await (await next).kill();
  }
  if (problems.length === 0) await rm(folder, { recursive: true, force: true });
  return { rounds, writes: ledger.writes, early, problems };
}

/** Checks the state of the server, then loads it until the moment has come; the caller kills it. */
async function oneRound(
  child: Child,
  path: string,
  ledger: Ledger,
  random: Random,
  writers: number,
): Promise<string[]> {
  const port = await child.ready(path);
  const transport = createHttpTransport({
    server: `http://127.0.0.1:${port}`,
    credentials: fixedCredentials({ headers: { authorization: `Bearer ${TOKEN}` } }),
  });
  const stop = new AbortController();
  try {
    const problems = await audit(transport, ledger);
    if (problems.length > 0) return problems;
    const load = Array.from({ length: writers }, (_, index) =>
      write(transport, ledger, random, `w${index}`, stop.signal),
    );
    const watching = watchAll(transport, ledger, stop.signal);
    await ledger.reaches(ledger.writes + random() * MAX_WRITES);
    await sleep(systemClock, random() * MAX_MOMENT_MS);
    // Before anything is stopped here: requests are to be under way.
    await child.kill();
    stop.abort();
    await Promise.all([...load, watching]);
    return [];
  } finally {
    await transport.close();
  }
}

async function audit(transport: Transport, ledger: Ledger): Promise<string[]> {
  const { status, body } = await transport.request({ method: 'GET', path: CONFIG_MAPS });
  if (status !== 200) return [`the server does not answer after a restart: ${JSON.stringify(body)}`];
  const { metadata, items } = body as { metadata: { resourceVersion: string }; items: UnknownObject[] };
  const revision = Number(metadata.resourceVersion);
  const since = Math.max(1, revision - 200);
  const query = { watch: 'true', resourceVersion: String(since), timeoutSeconds: '1' };
  const problems = ledger.check(revision, items);
  const stream = await transport.watch({ method: 'GET', path: CONFIG_MAPS, query });
  if (isResponse(stream)) return [...problems, `a watch of the past is refused: ${JSON.stringify(stream.body)}`];
  const events: { type: string; object: UnknownObject }[] = [];
  // The events come in any number of pieces. If the last one is missing, the watch ends by itself.
  let seen = since;
  for await (const batch of seen < ledger.highest ? stream : []) {
    for (const { type, object } of batch) events.push({ type, object: object as UnknownObject });
    seen = Number(events.at(-1)?.object.metadata.resourceVersion);
    if (seen >= ledger.highest) break;
  }
  return [...problems, ...ledger.checkPast(since, events)];
}

/** One writer: creates, changes and deletes keys of its own, one after the other, until the server is gone. */
async function write(
  transport: Transport,
  ledger: Ledger,
  random: Random,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const keys: string[] = [];
  for (let count = 0; !signal.aborted; count += 1) {
    const value = Math.floor(random() * 1e9).toString(36);
    const choice = random();
    const at = Math.floor(random() * keys.length);
    const known = keys[at];
    const isDelete = known !== undefined && choice < 0.2;
    const isChange = known !== undefined && choice < 0.6;
    const key = isDelete || isChange ? known : `${name}-${count}-${value}`;
    const outcome = isDelete ? undefined : value;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: key }, data: { value } };
    ledger.sent(key, outcome);
    try {
      const { status, body } = isDelete
        ? await transport.request({ method: 'DELETE', path: `${CONFIG_MAPS}/${key}`, signal })
        : isChange
          ? await transport.request({ method: 'PUT', path: `${CONFIG_MAPS}/${key}`, body: object, signal })
          : await transport.request({ method: 'POST', path: CONFIG_MAPS, body: object, signal });
      if (status >= 300) {
        ledger.refused(key);
        continue;
      }
      const revision = isDelete ? undefined : Number((body as UnknownObject).metadata.resourceVersion);
      ledger.acknowledged(key, isDelete ? undefined : textOf(body as UnknownObject), revision);
      if (isDelete) keys.splice(at, 1);
      else if (!isChange) keys.push(key);
    } catch {
      // No answer came: both outcomes are right, and this writer is done.
      return;
    }
  }
}

async function watchAll(transport: Transport, ledger: Ledger, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await transport.request({ method: 'GET', path: CONFIG_MAPS, query: { limit: '1' }, signal });
    const { resourceVersion } = (body as UnknownObject).metadata;
    const query = { watch: 'true', ...(resourceVersion !== undefined && { resourceVersion }) };
    const stream = await transport.watch({ method: 'GET', path: CONFIG_MAPS, query, signal });
    if (isResponse(stream)) return;
    for await (const batch of stream) for (const { type, object } of batch) ledger.seen(type, object as UnknownObject);
  } catch {
    // The connection broke, as intended.
  }
}

interface Child {
  /** Makes it open the file, and does not wait. */
  go(path: string): void;
  /** The same, and the port on which it serves. Throws its output when it ends instead. */
  ready(path: string): Promise<number>;
  kill(): Promise<void>;
}

/** Resolves when the process has loaded everything and waits for the word. */
async function spawn(): Promise<Child> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'child.ts'), [], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Half of a second less for each: nothing has to be read as TypeScript again.
    env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'capstan-compile-cache') },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const message = () =>
    new Promise<unknown>((resolve, reject) => {
      child.once('message', resolve);
      void ended.then(() => reject(new Error(`the server ended instead of serving: ${said.slice(0, 2000)}`)));
    });
  await message();
  const go = (path: string) => {
    child.send({ path, token: TOKEN });
  };
  return {
    go,
    async ready(path) {
      const answer = message();
      go(path);
      return ((await answer) as { port: number }).port;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
