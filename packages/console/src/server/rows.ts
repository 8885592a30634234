// The rows of the explorer: one for each cached object, kept up to date by the feed of changes, so that a request costs a filter.
import { type Kind, type KubeObject, keyOfObject, kindId } from '@capstan/kube';
import type { ObjectChange, ObjectId } from '@capstan/reconcile';
import { formatObjectId } from '@capstan/reconcile';
import type { ConsoleHealth, ConsoleSource } from './source.ts';

export interface Row extends ObjectId {
  readonly id: string;
  /** `none`: the kind belongs to no operator, so that its health is not known. */
  readonly state: ConsoleHealth['state'] | 'none';
  readonly operator?: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

export interface RowQuery {
  /** Words that must all be found; `is:unready`, `kind:NAME`, `ns:NAME`, `operator:NAME` and `reads:KIND/NS/NAME` filter. */
  readonly q: string;
  /** `state` (default: worst first), `name`, `kind` or `since`, with `-` before it for descending. */
  readonly sort?: string;
  readonly limit: number;
  /** The id of the last row of the page before. */
  readonly after?: string;
}

export interface RowPage {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly facets: { readonly state: Record<string, number>; readonly kind: Record<string, number> };
}

export interface Rows {
  readonly all: ReadonlyMap<string, Row>;
  page(query: RowQuery, readersOf: (id: ObjectId) => ReadonlySet<string>): RowPage;
  /** Takes changes in; returns the rows that differ now. */
  update(changes: readonly ObjectChange[]): { readonly rows: readonly Row[]; readonly removed: readonly string[] };
  kindOf(id: Omit<ObjectId, 'key'>): Kind | undefined;
  /** Grows whenever a row changes. */
  readonly version: number;
  /** The problems for `causesFromReads`. */
  unready(): readonly Row[];
}

/** Worst first. */
const ORDER: Readonly<Record<Row['state'], number>> = { broken: 0, paused: 1, progress: 2, ready: 3, none: 4 };

export function createRows(source: ConsoleSource): Rows {
  const { runtime, operators } = source;
  const operatorOf = new Map(
    operators.flatMap(({ name, kinds }) => kinds.map((kind) => [kindId(kind), name] as const)),
  );
  const all = new Map<string, Row>();
  const texts = new Map<string, string>();
  let sorted: readonly Row[] | undefined;
  let version = 0;

  const kindOf = ({ world, kind }: Omit<ObjectId, 'key'>) =>
    runtime.worlds.get(world)?.kinds.find((one) => kindId(one) === kind);
  const put = (world: string, kind: Kind, object: KubeObject): Row => {
    const key = keyOfObject(object);
    const place = { world, kind: kindId(kind), key };
    const operator = operatorOf.get(kindId(kind));
    const { state, reason, message, since }: Pick<Row, 'state' | 'reason' | 'message' | 'since'> =
      operator === undefined ? { state: 'none' as const, reason: '', message: '' } : source.healthOf(object, kind);
    const row: Row = {
      id: formatObjectId(place),
      ...place,
      state,
      reason,
      message,
      ...(operator !== undefined && { operator }),
      ...(since !== undefined && { since }),
    };
    all.set(row.id, row);
    texts.set(row.id, `${row.id} ${reason} ${message}`.toLowerCase());
    sorted = undefined;
    version++;
    return row;
  };
  for (const world of runtime.worlds.values())
    for (const kind of world.kinds) for (const object of world.peek(kind)) put(world.name, kind, object);

  const inOrder = () =>
    (sorted ??= [...all.values()].sort((a, b) => ORDER[a.state] - ORDER[b.state] || (a.id < b.id ? -1 : 1)));

  return {
    all,
    get version() {
      return version;
    },
    kindOf,
    unready: () =>
      [...all.values()].filter(({ state }) => state === 'broken' || state === 'progress' || state === 'paused'),
    update(changes) {
      const rows = new Map<string, Row>();
      const removed = new Set<string>();
      for (const change of changes) {
        const id = formatObjectId(change);
        const kind = kindOf(change);
        const object = kind && runtime.worlds.get(change.world)?.readTable(kind)?.peek(change.key);
        if (kind === undefined || object === undefined) {
          if (all.delete(id)) removed.add(id);
          texts.delete(id);
          rows.delete(id);
          sorted = undefined;
          version++;
          continue;
        }
        removed.delete(id);
        rows.set(id, put(change.world, kind, object));
      }
      return { rows: [...rows.values()], removed: [...removed] };
    },
    page({ q, sort = '', limit, after }, readersOf) {
      const isWanted = filterOf(q, texts, readersOf);
      const found = sortedBy(sort, inOrder().filter(isWanted));
      const facets: RowPage['facets'] = { state: {}, kind: {} };
      for (const { state, kind } of found) {
        facets.state[state] = (facets.state[state] ?? 0) + 1;
        facets.kind[kind] = (facets.kind[kind] ?? 0) + 1;
      }
      const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
      return { rows: found.slice(start, start + limit), total: found.length, facets };
    },
  };
}

const SORT_KEYS: Readonly<Record<string, (row: Row) => string>> = {
  name: ({ key, kind }) => `${key.slice(key.indexOf('/') + 1)} ${kind} ${key}`,
  kind: ({ kind, key }) => `${kind} ${key}`,
  since: ({ since, id }) => `${since ?? '9999'} ${id}`,
};

/** The rows are given in the order of their states. */
function sortedBy(sort: string, rows: readonly Row[]): readonly Row[] {
  const isDescending = sort.startsWith('-');
  const keyOf = SORT_KEYS[isDescending ? sort.slice(1) : sort];
  const ordered =
    keyOf === undefined
      ? rows
      : rows
          .map((row) => ({ row, key: keyOf(row) }))
          .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
          .map(({ row }) => row);
  return isDescending ? ordered.toReversed() : ordered;
}

function filterOf(
  q: string,
  texts: ReadonlyMap<string, string>,
  readersOf: (id: ObjectId) => ReadonlySet<string>,
): (row: Row) => boolean {
  const tests = q
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word): ((row: Row) => boolean) => {
      const [, field, value = ''] = /^(is|kind|ns|operator|reads):(.*)$/.exec(word) ?? [];
      if (field === undefined) {
        const text = word.toLowerCase();
        return ({ id }) => texts.get(id)?.includes(text) ?? false;
      }
      if (field === 'is' && value === 'unready') return ({ state }) => state !== 'ready' && state !== 'none';
      if (field === 'is') return ({ state }) => state === value;
      if (field === 'kind') return ({ kind }) => kind.toLowerCase().startsWith(value.toLowerCase());
      if (field === 'ns') return ({ key }) => key.startsWith(`${value}/`);
      if (field === 'operator') return ({ operator }) => operator === value;
      const slash = value.indexOf('/');
      const readers = readersOf({ world: '', kind: value.slice(0, slash), key: value.slice(slash + 1) });
      return ({ id }) => readers.has(id);
    });
  return (row) => tests.every((test) => test(row));
}
