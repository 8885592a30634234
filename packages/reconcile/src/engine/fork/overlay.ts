// The tables as a fork sees them: the main graph's cells, with the overlay's in front. Nothing here touches the graph.
import { share } from '@capstan/kube/cluster';
import { namespaceOfKey } from '../graph/cell-order.ts';
import {
  ABSENT,
  type Cell,
  type Graph,
  KNOWN,
  NO_MARK,
  presenceOf,
  type Query,
  type TableState,
  UNKNOWN,
} from '../graph/model.ts';
import { isUnknown, knownQuery, matches, matchesSafely } from '../graph/query.ts';
import { sizeOf } from '../graph/small-set.ts';
import type { Where } from '../graph/where.ts';

export interface Seen {
  key: string;
  value: unknown;
}

/** Values by key; undefined stands for deleted. */
export type Overlay = Map<TableState, Map<string, unknown>>;

export interface View {
  overlay: Overlay;
  /** Lists answered so far, by table and canonical `where`. */
  lists: Map<TableState, Map<string, readonly Seen[]>>;
}

export function mainValue(table: TableState, key: string): unknown {
  return table.cells.get(key)?.value;
}

export function mainPresence(table: TableState, key: string): number {
  const cell = table.cells.get(key);
  return cell === undefined ? (table.synced ? ABSENT : UNKNOWN) : presenceOf(cell);
}

export function setOverlay(overlay: Overlay, table: TableState, key: string, value: unknown): void {
  let values = overlay.get(table);
  if (values === undefined) overlay.set(table, (values = new Map<string, unknown>()));
  values.set(key, value === undefined ? undefined : share(mainValue(table, key), value));
}

export function viewValue(view: View, table: TableState, key: string): unknown {
  const values = view.overlay.get(table);
  return values?.has(key) ? values.get(key) : mainValue(table, key);
}

export function viewPresence(view: View, table: TableState, key: string): number {
  const values = view.overlay.get(table);
  if (!values?.has(key)) return mainPresence(table, key);
  return values.get(key) === undefined ? ABSENT : KNOWN;
}

/** Whether a list cannot be answered; keys that the overlay sets are no longer unknown. */
export function isListUnknown(view: View, table: TableState, where: Where): boolean {
  const values = view.overlay.get(table);
  if (!isUnknown(table, where) || !table.synced || values === undefined) return isUnknown(table, where);
  for (const key of table.unknown) {
    const concerns =
      where.namespace === undefined || table.namespace !== undefined || namespaceOfKey(key) === where.namespace;
    if (concerns && !values.has(key)) return true;
  }
  return false;
}

/** The members of a list in the order of their keys. */
export function viewList(view: View, table: TableState, where: Where, canonical: string): readonly Seen[] {
  let lists = view.lists.get(table);
  if (lists === undefined) view.lists.set(table, (lists = new Map<string, readonly Seen[]>()));
  let list = lists.get(canonical);
  if (list === undefined)
    lists.set(canonical, (list = makeList(view, table, where, knownQuery(table, where, canonical))));
  return list;
}

function makeList(view: View, table: TableState, where: Where, query: Query | undefined): readonly Seen[] {
  const base = query?.bucket === undefined && query?.cells !== undefined ? query.cells : scan(table, where);
  const values = view.overlay.get(table);
  if (values === undefined || values.size === 0) return base;
  const list: Seen[] = base.filter(({ key }) => !values.has(key));
  for (const [key, value] of values) {
    if (value !== undefined && matchesSafely(table, where, value, key)) list.push({ key, value });
  }
  return list.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Whether a list lacks values on which its index or predicate fails, in the main graph or in the overlay. */
export function lacksMembers(
  { graph, view }: { readonly graph: Graph; readonly view: View },
  table: TableState,
  where: Where,
): boolean {
  if (where.index === undefined && where.where === undefined) return false;
  const values = view.overlay.get(table);
  for (const { table: of, key, value } of graph.faults.keys())
    if (of === table && value !== undefined && !values?.has(key) && fails(table, where, value, key)) return true;
  for (const [key, value] of values ?? []) if (value !== undefined && fails(table, where, value, key)) return true;
  return false;
}

function fails(table: TableState, where: Where, value: unknown, key: string): boolean {
  try {
    matches(table, where, value, key);
    return false;
  } catch {
    return true;
  }
}

/** A list that the main graph does not have: by an index that is there, without making one. */
function scan(table: TableState, where: Where): Cell[] {
  const cells: Cell[] = [];
  for (const cell of candidates(table, where)) {
    if (cell.value !== undefined && cell.mark === NO_MARK && matchesSafely(table, where, cell.value, cell.key))
      cells.push(cell);
  }
  return cells.sort((a, b) => (a.key < b.key ? -1 : 1));
}

function candidates(table: TableState, where: Where): Iterable<Cell> {
  let best: Iterable<Cell> = table.cells.values();
  let size = table.cells.size;
  const offer = (index: string, key: string) => {
    const found = table.indexes.get(index);
    if (found === undefined) return;
    const cells = found.buckets.get(key)?.cells ?? [];
    if (sizeOf(cells) < size) {
      best = cells;
      size = sizeOf(cells);
    }
  };
  if (where.namespace !== undefined) offer('namespace', where.namespace);
  if (where.index !== undefined) offer(`index ${where.index[0].name}`, where.index[1]);
  for (const { key, operator, values } of where.selector?.terms ?? []) {
    if (operator === 'In' && values.length === 1) offer(`label ${key}`, values[0] as string);
  }
  return best;
}
