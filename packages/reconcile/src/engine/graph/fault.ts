// Faults: errors of functions that authors give (indexes, predicates, projections, parts of folds), by the cell on whose value they failed.
// A function that fails on one value fails for that value only: lists, indexes and folds leave it out, and results without it are marked as
// incomplete, so that nothing is removed because of it. The next event of the cell tries again.
import { AuthorErrors, asError, secretly, settledResult } from '../../guard.ts';
import { EngineError } from './errors.ts';
import type { Cell, CellFault, Graph, Query } from './model.ts';

/** Records that a function failed on the value of a cell: until the next event of the cell, or with `lasting` until it is pardoned. */
export function blame(graph: Graph, cell: Cell, what: string, thrown: unknown, lasting = false): void {
  let faults = graph.faults.get(cell);
  if (faults === undefined) graph.faults.set(cell, (faults = new Map<string, CellFault>()));
  faults.set(what, { error: faultOf(cell, what, thrown), lasting });
  graph.accused.add(cell);
}

/** A function that had failed on a cell no longer does. */
export function pardon(graph: Graph, cell: Cell, what: string): void {
  const faults = graph.faults.get(cell);
  if (faults?.delete(what) !== true) return;
  if (faults.size === 0) graph.faults.delete(cell);
  graph.accused.add(cell);
}

/**
 * Returns the error of a function that failed on a cell. The content of a secret object is not shown: messages of errors quote their input.
 */
export function faultOf(
  { table, key }: { table: { name: string; sensitive: boolean }; key: string },
  what: string,
  thrown: unknown,
): Error {
  if (!table.sensitive) return AuthorErrors.Threw(`${what} on ${table.name} ${key}`, thrown);
  return AuthorErrors.Threw(`${what} on ${table.name} ${key}`, secretly(thrown));
}

/** The value of a cell has changed: each function that runs on the new value shows whether it still fails. */
export function acquit(graph: Graph, cell: Cell): void {
  const faults = graph.faults.get(cell);
  if (faults === undefined) return;
  for (const [what, { lasting }] of faults) if (!lasting || cell.value === undefined) faults.delete(what);
  if (faults.size === 0) graph.faults.delete(cell);
  graph.accused.add(cell);
}

/** Hands over the faults of every cell that has others than at the end of the last wave. */
export function announceFaults(graph: Graph): void {
  if (graph.accused.size === 0) return;
  const accused = [...graph.accused];
  graph.accused.clear();
  for (const cell of accused) {
    const faults = graph.faults.get(cell);
    const text = faults === undefined ? '' : [...faults.values()].map(({ error }) => error.message).join('\n');
    if ((graph.announced.get(cell) ?? '') === text) continue;
    if (text === '') graph.announced.delete(cell);
    else graph.announced.set(cell, text);
    graph.onFault?.({
      table: cell.table.name,
      key: cell.key,
      errors: new Map([...(faults ?? [])].map(([what, { error }]) => [what, error])),
    });
  }
}

/** Errors that concern the function and not the value: the reader of the projection gets them. */
export function isMisuse(thrown: unknown): boolean {
  const error = asError(thrown) as Error & { readonly code?: unknown };
  if (error instanceof EngineError) return true;
  return typeof error.code === 'string' && error.code.startsWith('read/');
}

/** Whether a list may lack an object, because a function failed on it. */
export function isIncomplete(query: Query): boolean {
  if (query.bucket !== undefined) return query.bucket.index.failed.size > 0;
  return (query.failed?.size ?? 0) > 0 || (query.anchor?.[0]?.index.failed.size ?? 0) > 0;
}

/** Returns the result of an index function, as the list of texts that it must be. */
export function checkedKeys(what: string, keys: readonly string[]): readonly string[] {
  if (!Array.isArray(settledResult(what, keys))) throw AuthorErrors.NotOfType(what, 'a list of texts', typeof keys);
  for (const key of keys)
    if (typeof key !== 'string') throw AuthorErrors.NotOfType(what, 'a list of texts', typeof key);
  return keys;
}

export function checkedAnswer(what: string, answer: boolean): boolean {
  if (typeof answer === 'boolean') return answer;
  return Boolean(settledResult(what, answer));
}
