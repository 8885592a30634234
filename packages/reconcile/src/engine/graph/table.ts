import { freezeDeep, interned } from '@capstan/kube/cluster';
import type { Demand, Table, TableOptions } from '../engine-types.ts';
import { EngineErrors } from './errors.ts';
import {
  CELL,
  type Cell,
  type Graph,
  type Incoming,
  MARK_ABSENT,
  MARK_UNKNOWN,
  NO_MARK,
  type TableState,
} from './model.ts';
import { requestWave } from './pending.ts';

interface TableHandle<V> extends Table<V> {
  readonly state: TableState;
}

/** Returns the state behind a table. */
export function tableState<V>(table: Table<V>): TableState {
  return (table as TableHandle<V>).state;
}

/** The cell of a key, made if need be; it must get a reader, a value or a mark then. */
export function cellFor(table: TableState, key: string): Cell {
  let cell = table.cells.get(key);
  if (cell === undefined) {
    cell = { kind: CELL, first: undefined, stamp: 0, table, key: interned(key), value: undefined, mark: NO_MARK };
    table.cells.set(cell.key, cell);
  }
  return cell;
}

/** A table: changes wait in `incoming` until a wave takes them in, so the first state before a batch is the cell's own. */
export function createTable<V>(graph: Graph, options: TableOptions<V>): Table<V> {
  const state: TableState = {
    id: graph.nextId++,
    name: options.name,
    labels: options.labels?.bind(options) as TableState['labels'],
    namespace: options.namespace?.bind(options) as TableState['namespace'],
    sensitive: options.sensitive ?? false,
    demand: options.demand as Demand | undefined,
    cells: new Map(),
    values: 0,
    synced: false,
    syncing: false,
    unknown: new Set(),
    indexes: new Map(),
    declared: new Map(),
    indexNames: new Set(),
    queries: new Map(),
    bucketQueries: 0,
    whereQueries: 0,
    warned: false,
    roots: new Set(),
    incoming: new Map(),
    incomingSynced: false,
    entering: undefined,
    enteringSynced: false,
    demandedKeys: undefined,
    demandedLists: undefined,
  };
  graph.tables.push(state);
  graph.recorder?.tableCreated(state);
  graph.replay?.tableCreated(state);
  return tableHandle<V>(graph, state);
}

function tableHandle<V>(graph: Graph, state: TableState): TableHandle<V> {
  const receive = (key: string, incoming: Incoming) => {
    if (graph.replay !== undefined) return;
    state.incoming.set(key, incoming);
    requestWave(graph);
  };
  const setSynced = (synced: boolean) => {
    if (state.incomingSynced === synced || graph.replay !== undefined) return;
    state.incomingSynced = synced;
    requestWave(graph);
  };
  return {
    state,
    name: state.name,
    get size() {
      return state.values;
    },
    put(key, value) {
      if (value === undefined) throw EngineErrors.undefinedValue(state.name, key);
      if (graph.freeze) freezeDeep(value);
      receive(key, { value, mark: NO_MARK });
    },
    delete: (key) => receive(key, state.incomingSynced ? PLAIN : KNOWN_ABSENT),
    forget: (key) => receive(key, state.incomingSynced ? KNOWN_UNKNOWN : PLAIN),
    synced() {
      if (state.incomingSynced) return;
      setSynced(true);
      // From here on the table itself implies absence; if it becomes unsynced again, these keys follow it.
      for (const key of markedAbsent(state)) receive(key, PLAIN);
    },
    unsynced: () => setSynced(false),
    peek: (key) => latest(state, key) as V | undefined,
    drop(into) {
      setSynced(into === 'absent');
      for (const key of state.entering?.keys() ?? []) receive(key, PLAIN);
      for (const key of state.incoming.keys()) receive(key, PLAIN);
      for (const cell of state.cells.values()) {
        if (cell.value !== undefined || cell.mark !== NO_MARK) receive(cell.key, PLAIN);
      }
    },
  };
}

/** No value, with the table's default for absent keys. */
const PLAIN: Incoming = { value: undefined, mark: NO_MARK };
const KNOWN_ABSENT: Incoming = { value: undefined, mark: MARK_ABSENT };
const KNOWN_UNKNOWN: Incoming = { value: undefined, mark: MARK_UNKNOWN };

function markedAbsent(state: TableState): Set<string> {
  const marked = new Set<string>();
  for (const cell of state.cells.values()) if (cell.mark === MARK_ABSENT) marked.add(cell.key);
  for (const changes of [state.entering, state.incoming]) {
    for (const [key, { mark }] of changes ?? []) {
      if (mark === MARK_ABSENT) marked.add(key);
      else marked.delete(key);
    }
  }
  return marked;
}

function latest(state: TableState, key: string): unknown {
  const incoming = state.incoming.get(key) ?? state.entering?.get(key);
  return incoming === undefined ? state.cells.get(key)?.value : incoming.value;
}
