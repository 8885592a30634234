// The rows of the explorer: one for each cached object, kept up to date by the feed of changes, so that a request costs a filter.
import { type Kind, type KubeObject, keyOfObject, kindId } from '@capstan/kube';
import { formatObjectId, type ObjectGraph, type ObjectId } from '@capstan/reconcile';
import type { FindAnswer } from '../api-types.ts';
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
  /** Words that must all be found; `is:unready`, `kind:NAME`, `ns:NAME`, `cluster:NAME`, `operator:NAME` and `reads:KIND/NS/NAME` filter. */
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
  readonly facets: Readonly<Record<'state' | 'kind' | 'operator' | 'namespace' | 'cluster', Record<string, number>>>;
}

export interface Rows {
  readonly all: ReadonlyMap<string, Row>;
  page(query: RowQuery, readersOf: (id: ObjectId) => ReadonlySet<string>): RowPage;
  /** Reads these objects again; returns the rows that differ now. */
  update(changed: readonly ObjectId[]): { readonly rows: readonly Row[]; readonly removed: readonly string[] };
  kindOf(id: Omit<ObjectId, 'key'>): Kind | undefined;
  /** Grows whenever a row changes. */
  readonly version: number;
  /** The problems for `causesFromReads`. */
  unready(): readonly Row[];
}

/** The name of the local world in filters and paths. */
const LOCAL_WORLD = '-';

/** Worst first. */
const ORDER: Readonly<Record<Row['state'], number>> = { broken: 0, paused: 1, progress: 2, ready: 3, none: 4 };

export function createRows(source: ConsoleSource, now: () => string): Rows {
  const { runtime, operators } = source;
  const operatorOf = new Map(
    operators.flatMap(({ name, kinds }) => kinds.map((kind) => [kindId(kind), name] as const)),
  );
  const all = new Map<string, Row>();
  const texts = new Map<string, string>();
  const order = createOrder();
  let version = 0;

  const kindOf = ({ world, kind }: Omit<ObjectId, 'key'>) =>
    runtime.worlds.get(world)?.kinds.find((one) => kindId(one) === kind);
  const put = (world: string, kind: Kind, object: KubeObject): Row => {
    const key = keyOfObject(object);
    const place = { world, kind: kindId(kind), key };
    const operator = operatorOf.get(kindId(kind));
    const { state, reason, message, since }: Pick<Row, 'state' | 'reason' | 'message' | 'since'> =
      operator === undefined ? { state: 'none' as const, reason: '', message: '' } : source.healthOf(object, kind);
    const id = formatObjectId(place);
    const seenSince = sinceOf(all.get(id), { state, reason, since }, now);
    const row: Row = {
      id,
      ...place,
      state,
      reason,
      message,
      ...(operator !== undefined && { operator }),
      ...(seenSince !== undefined && { since: seenSince }),
    };
    order.replace(all.get(row.id), row);
    all.set(row.id, row);
    texts.set(row.id, `${row.id} ${reason} ${message}`.toLowerCase());
    version++;
    return row;
  };
  const resourceOf = ({ group, plural }: Kind) => `${plural}.${group}`;
  const owned = new Set(operators.flatMap(({ kinds }) => kinds.map(resourceOf)));
  /** An operator may read its own resource under a second name too, for another form of the objects. */
  const isShown = (kind: Kind) => operatorOf.has(kindId(kind)) || !owned.has(resourceOf(kind));
  for (const world of runtime.worlds.values())
    for (const kind of world.kinds)
      if (isShown(kind)) for (const object of world.peek(kind)) put(world.name, kind, object);

  return {
    all,
    get version() {
      return version;
    },
    kindOf,
    unready() {
      const rows = order.of(all);
      const end = rows.findIndex(({ state }) => ORDER[state] >= ORDER.ready);
      return end < 0 ? rows : rows.slice(0, end);
    },
    update(changed) {
      const rows = new Map<string, Row>();
      const removed = new Set<string>();
      for (const change of changed) {
        const id = formatObjectId(change);
        const kind = kindOf(change);
        const object = kind && runtime.worlds.get(change.world)?.readTable(kind)?.peek(change.key);
        if (kind === undefined || object === undefined || !isShown(kind)) {
          order.replace(all.get(id), undefined);
          if (all.delete(id)) removed.add(id);
          texts.delete(id);
          rows.delete(id);
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
      const found = sortedBy(sort, order.of(all).filter(isWanted));
      const facets: RowPage['facets'] = { state: {}, kind: {}, operator: {}, namespace: {}, cluster: {} };
      const add = (counts: Record<string, number>, value: string) => (counts[value] = (counts[value] ?? 0) + 1);
      for (const { state, kind, operator, key, world } of found) {
        add(facets.state, state);
        add(facets.kind, kind);
        add(facets.cluster, world === '' ? LOCAL_WORLD : world);
        if (operator !== undefined) add(facets.operator, operator);
        const slash = key.indexOf('/');
        if (slash > 0) add(facets.namespace, key.slice(0, slash));
      }
      const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
      return { rows: found.slice(start, start + limit), total: found.length, facets };
    },
  };
}

/** The rows in the order of their states, worst first. A change moves its row: to sort ten thousand takes longer than to answer. */
function createOrder() {
  let sorted: Row[] | undefined;
  const compare = (a: Row, b: Row) => ORDER[a.state] - ORDER[b.state] || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  /** The place of the first row that does not come before this one. */
  const placeOf = (rows: readonly Row[], row: Row) => {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = rows[middle];
      if (at !== undefined && compare(at, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    of: (all: ReadonlyMap<string, Row>): readonly Row[] => (sorted ??= [...all.values()].sort(compare)),
    replace(before: Row | undefined, after: Row | undefined) {
      if (sorted === undefined) return;
      if (before !== undefined && after !== undefined && before.state === after.state) {
        sorted[placeOf(sorted, before)] = after;
        return;
      }
      if (before !== undefined) sorted.splice(placeOf(sorted, before), 1);
      if (after !== undefined) sorted.splice(placeOf(sorted, after), 0, after);
    },
  };
}

/**
 * The time since when an object has its state and reason. A condition keeps its time while only its reason changes; a change that was seen
 * here counts then.
 */
function sinceOf(
  before: Row | undefined,
  { state, reason, since }: Pick<Row, 'state' | 'reason'> & { readonly since?: string | undefined },
  now: () => string,
): string | undefined {
  if (before === undefined || since === undefined) return since;
  const known = before.since ?? since;
  const isSame = before.state === state && before.reason === reason;
  // RFC 3339 in UTC: texts are in the order of the times.
  if (isSame) return known > since ? known : since;
  return since > known ? since : now();
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
      const [, field, value = ''] = /^(is|kind|ns|cluster|operator|reads):(.*)$/.exec(word) ?? [];
      if (field === undefined) {
        const text = word.toLowerCase();
        return ({ id }) => texts.get(id)?.includes(text) ?? false;
      }
      if (field === 'is' && value === 'unready') return ({ state }) => state !== 'ready' && state !== 'none';
      if (field === 'is') return ({ state }) => state === value;
      if (field === 'kind') return ({ kind }) => kind.toLowerCase().startsWith(value.toLowerCase());
      if (field === 'ns') return ({ key }) => key.startsWith(`${value}/`);
      if (field === 'cluster') return ({ world }) => (world === '' ? LOCAL_WORLD : world) === value;
      if (field === 'operator') return ({ operator }) => operator === value;
      const slash = value.indexOf('/');
      const readers = readersOf({ world: '', kind: value.slice(0, slash), key: value.slice(slash + 1) });
      return ({ id }) => readers.has(id);
    });
  return (row) => tests.every((test) => test(row));
}

/** Absent objects are looked for in the reads of so many objects. */
const MAX_READERS = 200;
const MAX_ABSENT = 50;

/** The palette: objects by words, and objects that do not exist but are read by one that is not healthy. */
export function findObjects(q: string, limit: number, rows: Rows, graph: ObjectGraph): FindAnswer {
  const { rows: objects, total } = rows.page({ q, limit }, () => new Set());
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const absent = new Map<string, ObjectId>();
  if (words.length > 0) {
    for (const row of rows.unready().slice(0, MAX_READERS)) {
      for (const { world, kind, key, presence } of graph.readsOf(row)) {
        const id = formatObjectId({ world, kind, key });
        const text = id.toLowerCase();
        if (presence === 'absent' && words.every((word) => text.includes(word))) absent.set(id, { world, kind, key });
        if (absent.size >= MAX_ABSENT) return { objects, absent: [...absent.values()], total };
      }
    }
  }
  return { objects, absent: [...absent.values()], total };
}
