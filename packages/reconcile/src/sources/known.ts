import type { Engine, Table } from '../engine/index.ts';
import type { FactDefinition, FactState } from '../read/fact.ts';
import type { SourceDefinition, SourceRow, SourceState } from '../read/source.ts';
import type { AnyFact, Facts } from './facts.ts';
import { NOT_OPEN, type Sources, type SourceTables } from './open-sources.ts';

/** A fact as it is known. */
export interface KnownFact {
  readonly fact: AnyFact;
  /** The text, or the key that the fact's label and digest make of its input; see `read.fact`. */
  readonly key: string;
  readonly state: FactState<unknown, unknown>;
}

/** Facts that are known beforehand. Nothing is fetched: a read of any other one waits. */
export function createKnownFacts(engine: Engine, known: readonly KnownFact[]): Facts {
  const tables = new Map<AnyFact, Table<FactState<unknown, unknown>>>();
  const tableOf = (fact: AnyFact) => {
    const table = tables.get(fact) ?? engine.table<FactState<unknown, unknown>>({ name: `fact ${fact.name}` });
    tables.set(fact, table);
    return table;
  };
  for (const { fact, key, state } of known) tableOf(fact).put(key, state);
  return {
    table<V, I, E>(fact: FactDefinition<V, I, E>) {
      return tableOf(fact) as Table<FactState<V, E>>;
    },
    afterWave() {},
    refresh() {},
    opened: () => [...tables].map(([fact, table]) => ({ fact, table })),
    stop: () => Promise.resolve(),
  };
}

/** A source as it is known: all its rows. */
export interface KnownSource {
  readonly source: SourceDefinition<unknown>;
  readonly rows: Readonly<Record<string, unknown>>;
  /** Complete and open by default. */
  readonly state?: SourceState;
}

/** Sources that are known beforehand. Nothing is opened: a read of any other one waits. */
export function createKnownSources(engine: Engine, known: readonly KnownSource[]): Sources {
  const open = new Map<SourceDefinition<unknown>, SourceTables<unknown>>();
  const tablesOf = (source: SourceDefinition<unknown>) => {
    const found = open.get(source);
    if (found !== undefined) return found;
    const rows = engine.table<SourceRow<unknown>>({ name: `source ${source.name}` });
    const state = engine.table<SourceState>({ name: `state of source ${source.name}` });
    state.put('', NOT_OPEN);
    const completions = engine.table<number>({ name: `completions of source ${source.name}` });
    const tables = { rows, state, completions };
    open.set(source, tables);
    return tables;
  };
  for (const { source, rows, state = { isStale: false, error: undefined } } of known) {
    const tables = tablesOf(source);
    for (const [key, row] of Object.entries(rows)) tables.rows.put(key, { key, row });
    tables.rows.synced();
    tables.state.put('', state);
    tables.completions.put('', 0);
  }
  return {
    of: <V>(source: SourceDefinition<V>) => tablesOf(source) as unknown as SourceTables<V>,
    stop: () => Promise.resolve(),
  };
}
