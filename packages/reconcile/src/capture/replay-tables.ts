// The tables of a replay: the changes of a history become changes of the engine's tables. A table that does not exist yet is filled when it is
// created.
import { freezeDeep } from '@capstan/kube/cluster';
import { type Graph, MARK_UNKNOWN, type TableState } from '../engine/graph/model.ts';
import { cellFor } from '../engine/graph/table.ts';
import { applyDelta, type Delta } from './delta.ts';
import type { HistoryInput, SnapshotCell, WrittenAs } from './history.ts';
import { unpack } from './text.ts';

export interface ReplayTables {
  define(id: number, name: string, nth: number): void;
  created(table: TableState): void;
  enter(input: HistoryInput, wave: number): void;
  /** Takes a part of a snapshot. Within a history that has begun it only sets the values to which deltas apply. */
  cell(cell: SnapshotCell, hasBegun: boolean): void;
  synced(id: number): void;
  /** A snapshot follows. */
  forget(): void;
  /** From a snapshot on, the count of tables restarts. */
  reorder(graph: Graph | undefined): void;
  /** Fills the tables that are there already. */
  fill(): void;
  originOf(table: string, key: string): WrittenAs | undefined;
  /** The last wave of each input, as `table/key`, and of each table. */
  readonly enteredAt: ReadonlyMap<string, number>;
  unknown(): readonly string[];
}

interface Fill {
  readonly name: string;
  readonly cells: Map<string, { value: unknown; mark: number }>;
  isSynced: boolean;
}

export function createReplayTables(): ReplayTables {
  const names = new Map<number, { name: string; nth: number }>();
  /** Live tables by name, in the order in which they were created. */
  const order = new Map<string, TableState[]>();
  /** The first content of tables that do not exist yet. */
  const fills = new Map<string, Fill>();
  /** The values to which deltas apply. A delta shares the parts that it leaves as they are, so that a change costs its size. */
  const baseline = new Map<number, Map<string, unknown>>();
  const origins = new Map<string, Map<string, WrittenAs>>();
  const enteredAt = new Map<string, number>();

  function known(id: number, key: string, value: unknown): unknown {
    const values = baseline.get(id) ?? new Map<string, unknown>();
    baseline.set(id, values.set(key, freezeDeep(value)));
    return value;
  }

  function setOrigin(table: string, key: string, as: WrittenAs | undefined): void {
    const ofTable = origins.get(table);
    if (as === undefined) ofTable?.delete(key);
    else if (ofTable === undefined) origins.set(table, new Map([[key, as]]));
    else ofTable.set(key, as);
  }

  function namedBy(id: number): { name: string; nth: number } {
    return names.get(id) ?? { name: `table ${id}`, nth: 0 };
  }

  function fillOf({ name, nth }: { name: string; nth: number }): Fill {
    const id = fillId(name, nth);
    const fill = fills.get(id) ?? { name, cells: new Map(), isSynced: false };
    fills.set(id, fill);
    return fill;
  }

  return {
    define: (id, name, nth) => void names.set(id, { name, nth }),
    created(table) {
      const same = order.get(table.name) ?? [];
      const id = fillId(table.name, same.length);
      order.set(table.name, [...same, table]);
      const fill = fills.get(id);
      if (fill === undefined) return;
      fills.delete(id);
      fillTable(table, fill);
    },
    enter(input, wave) {
      const named = namedBy(input[0]);
      const { name } = named;
      const table = order.get(name)?.[named.nth];
      if (input.length === 2) {
        if (table === undefined) fillOf(named).isSynced = input[1] === 1;
        else table.incomingSynced = input[1] === 1;
        return;
      }
      const [id, key, how, given, as] = input;
      let value: unknown;
      if (how === 0) baseline.get(id)?.delete(key);
      else if (how === 1) value = known(id, key, unpack(given));
      else value = known(id, key, applyDelta(baseline.get(id)?.get(key), unpack(given) as Delta));
      setOrigin(name, key, as);
      enteredAt.set(`${name}/${key}`, wave).set(name, wave);
      const incoming = { value, mark: how === 0 ? given : 0 };
      if (table === undefined) fillOf(named).cells.set(key, incoming);
      else table.incoming.set(key, incoming);
    },
    cell({ table: id, key, mark, value, as }, hasBegun) {
      const named = namedBy(id);
      const restored = value === undefined ? undefined : known(id, key, unpack(value));
      setOrigin(named.name, key, as);
      if (!hasBegun) fillOf(named).cells.set(key, { value: restored, mark });
    },
    synced(id) {
      fillOf(namedBy(id)).isSynced = true;
    },
    forget: () => baseline.clear(),
    reorder(graph) {
      order.clear();
      for (const table of graph?.tables ?? []) order.set(table.name, [...(order.get(table.name) ?? []), table]);
    },
    fill() {
      for (const [name, tables] of order)
        for (const [nth, table] of tables.entries()) {
          const fill = fills.get(fillId(name, nth));
          if (fill !== undefined) fillTable(table, fill);
          fills.delete(fillId(name, nth));
        }
    },
    originOf: (table, key) => origins.get(table)?.get(key),
    enteredAt,
    unknown: () => [...new Set([...fills.values()].map(({ name }) => name))].toSorted(),
  };
}

/** Before anything has read it. */
function fillTable(table: TableState, fill: Fill): void {
  for (const [key, { value, mark }] of fill.cells) {
    const cell = cellFor(table, key);
    cell.value = freezeDeep(value);
    cell.mark = mark;
    if (value !== undefined) table.values++;
    if (mark === MARK_UNKNOWN) table.unknown.add(key);
  }
  table.synced = fill.isSynced;
  table.incomingSynced = fill.isSynced;
}

function fillId(name: string, nth: number): string {
  return `${nth} ${name}`;
}
