// The two sides of a history: the parts of each wave that a recorder sees, and the decisions that a replay makes instead of the process.
// Reads reach nothing but tables, so the changes that waves take in, with their order and their time, are all of the inputs.
import type { DerivationState, Graph, Node, TableState } from './graph/model.ts';

/** Is shown the inputs of every wave, in the order in which they take effect. It must change nothing. */
export interface EngineRecorder {
  attach(graph: Graph): void;
  tableCreated(table: TableState): void;
  /** `now`: the one time that the whole wave sees. */
  waveBegins(wave: number, now: number): void;
  waveEnded(): void;
  /** A key enters a table with another value or mark than before. `given` is the object that was put, `after` shares its equal parts. */
  entered(table: TableState, key: string, given: unknown, before: unknown, after: unknown, mark: number): void;
  /** A table became, or ceased to be, synced. */
  listed(table: TableState, isSynced: boolean): void;
  /** So many nodes of new objects had their turn before the rest of them waited for the next wave. */
  newcomers(count: number): void;
  /** A node has run, to whatever result. */
  ran(node: Node): void;
  disposed(node: Node): void;
  /** The next wave runs a node although none of its reads changed. */
  invalidated(derivation: DerivationState, key: string): void;
}

/** Stands for everything outside: tables take in only its values. */
export interface EngineReplay {
  attach(graph: Graph): void;
  /** Fills a table that did not exist when the history begins. */
  tableCreated(table: TableState): void;
  /** How many nodes of new objects have their turn now; undefined: as many as there is time for. */
  newcomers(): number | undefined;
  /** A result that was recorded instead of its inputs; undefined: it is computed. */
  outcome(node: Node): { readonly outcome: RecordedOutcome; readonly reads: readonly RecordedRead[] } | undefined;
  /** The result before the first run of a node, where the history begins with a snapshot. */
  previous(node: Node): unknown;
}

/** A read of a function whose result was recorded. */
export type RecordedRead =
  | { readonly sort: 'object'; readonly name: string; readonly key: string }
  | { readonly sort: 'derived'; readonly name: string; readonly owner: string | undefined; readonly key: string };

export type RecordedOutcome =
  | { readonly state: 'value'; readonly value: unknown }
  | { readonly state: 'error'; readonly message: string }
  | { readonly state: 'suspended'; readonly waitingFor: readonly string[] };
