// The answers of the API. Every path only reads: nothing here can write.
import { randomBytes } from 'node:crypto';
import { type Clock, kindId } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type ChangeFeed,
  createChangeFeed,
  formatObjectId,
  type ObjectId,
  objectGraph,
  parseCause,
} from '@capstan/reconcile';
import { createEventStream, type EventStream } from './event-stream.ts';
import { type Direction, neighbourhood } from './neighbourhood.ts';
import { overviewOf } from './overview.ts';
import { createRows, type Rows } from './rows.ts';
import { ownersOf, shownObject } from './shown-object.ts';
import type { ConsoleSource } from './source.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Api {
  /** Undefined for a path that there is not. */
  answer(path: string, query: URLSearchParams, signal: AbortSignal): Promise<Answer | undefined>;
  readonly stream: EventStream;
  close(): void;
}

const MAX_LIMIT = 500;
const MAX_BUDGET = 500;
const MAX_DEPTH = 8;
const ROOTS_MS = 1000;

/** To be created when the first page is open: from then on it follows every wave. */
export function createApi(source: ConsoleSource, clock: Clock): Api {
  const { runtime } = source;
  const epoch = randomBytes(6).toString('hex');
  const feed: ChangeFeed = createChangeFeed({ runtime, now: () => clock.now(), epoch });
  const rows: Rows = createRows(source);
  let rootsSentAt = Number.NEGATIVE_INFINITY;
  const stream = createEventStream({
    clock,
    epoch,
    onSent() {
      if (clock.now() - rootsSentAt < ROOTS_MS) return;
      rootsSentAt = clock.now();
      const { roots, rootCount, progressCount } = overviewOf(source, rows);
      stream.send('roots', { roots, rootCount, progressCount });
    },
  });
  feed.onChanges((changes) => stream.changed({ ...rows.update(changes), changes }));

  const readersOf = (id: ObjectId) => new Set(objectGraph(runtime).readersOf(id).map(formatObjectId));

  async function objectAnswer(id: ObjectId, signal: AbortSignal): Promise<Answer> {
    const kind = rows.kindOf(id);
    if (kind === undefined) return notFound(`${id.kind} is no kind that the console reads`);
    const object = await source.fetch(id, kind, signal);
    if (object === undefined) return notFound(`${formatObjectId(id)} does not exist`);
    const name = `${id.kind} ${id.key}`;
    return {
      status: 200,
      body: {
        id: formatObjectId(id),
        object: shownObject(object, kind),
        owners: ownersOf(object),
        health: rows.all.get(formatObjectId(id)) ?? null,
        cause: parseCause(object.metadata.annotations?.[CAUSE_ANNOTATION]) ?? null,
        history: runtime.history.of(name),
        changes: feed.list({ limit: 50, object: id }),
      },
    };
  }

  return {
    stream,
    async answer(path, query, signal) {
      const [, , resource = '', ...parts] = path.split('/');
      if (parts.length === 0) {
        if (resource === 'session') return { status: 200, body: sessionOf(source, epoch) };
        if (resource === 'overview') return { status: 200, body: overviewOf(source, rows) };
        if (resource === 'objects') {
          const after = query.get('after') ?? undefined;
          const limit = numberIn(query, 'limit', 200, MAX_LIMIT);
          const asked = { q: query.get('q') ?? '', limit, ...(after !== undefined && { after }) };
          return { status: 200, body: rows.page(asked, readersOf) };
        }
        if (resource === 'changes') {
          const object = idOf((query.get('object') ?? '').split('/'));
          const before = numberIn(query, 'before', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
          const limit = numberIn(query, 'limit', 200, MAX_LIMIT);
          const changes = feed.list({ limit, before, ...(object !== undefined && { object }) });
          return { status: 200, body: { epoch, changes } };
        }
        return undefined;
      }
      const id = idOf(parts);
      if (id === undefined) return undefined;
      if (resource === 'object') return objectAnswer(id, signal);
      if (resource !== 'graph') return undefined;
      const wanted = query.get('dir') ?? 'both';
      const directions: readonly Direction[] =
        wanted === 'reads' || wanted === 'readers' ? [wanted] : ['reads', 'readers'];
      const depth = numberIn(query, 'depth', 3, MAX_DEPTH);
      const budget = numberIn(query, 'budget', 200, MAX_BUDGET);
      return { status: 200, body: neighbourhood(objectGraph(runtime), id, rows.all, { directions, depth, budget }) };
    },
    close() {
      feed.stop();
      stream.close();
    },
  };
}

function sessionOf({ runtime, operators, writes, session }: ConsoleSource, epoch: string): unknown {
  return {
    ...session,
    epoch,
    writes,
    worlds: runtime.status().worlds,
    operators: operators.map(({ name }) => name),
    kinds: [...runtime.worlds.values()].flatMap((world) =>
      world.kinds.map((kind) => ({
        world: world.name,
        kind: kindId(kind),
        access: world.access.peek(kindId(kind)) ?? 'unknown',
      })),
    ),
  };
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
