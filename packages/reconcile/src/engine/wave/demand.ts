import type { Graph, TableState } from '../graph/model.ts';
import { knownQuery } from '../graph/query.ts';
import { isRead } from './dispose.ts';

/** Notifies tables of the keys and lists that got their first reader or lost their last one in the wave that has just ended. */
export function announceDemand(graph: Graph): void {
  const { demandKeys, demandLists } = graph;
  if (demandKeys.size === 0 && demandLists.size === 0) return;
  graph.demandKeys = new Map();
  graph.demandLists = new Map();
  for (const [table, keys] of demandKeys) for (const key of keys) announceKey(graph, table, key);
  for (const [table, queries] of demandLists) {
    for (const [canonical, query] of queries) {
      const current = knownQuery(table, query.where, canonical);
      const wanted = current !== undefined && isRead(current);
      const demanded = (table.demandedLists ??= new Map());
      if (wanted === demanded.has(canonical)) continue;
      if (wanted) demanded.set(canonical, query.where);
      else demanded.delete(canonical);
      notify(graph, table, () => (wanted ? table.demand?.list?.(query.where) : table.demand?.listIdle?.(query.where)));
    }
  }
}

function announceKey(graph: Graph, table: TableState, key: string): void {
  const wanted = table.cells.get(key)?.first !== undefined;
  const demanded = (table.demandedKeys ??= new Set());
  if (wanted === demanded.has(key)) return;
  if (wanted) demanded.add(key);
  else demanded.delete(key);
  notify(graph, table, () => (wanted ? table.demand?.key?.(key) : table.demand?.idle?.(key)));
}

function notify(graph: Graph, table: TableState, call: () => void): void {
  try {
    call();
  } catch (error) {
    graph.warn(`a demand callback of ${table.name} threw: ${error instanceof Error ? error.message : String(error)}`);
  }
}
