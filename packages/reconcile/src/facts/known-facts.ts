import type { Engine, Table } from '../engine/index.ts';
import type { FactDefinition, FactState } from '../read/index.ts';
import type { Facts } from './facts.ts';

/** A fact as it is known. */
export interface KnownFact {
  readonly fact: FactDefinition<unknown>;
  readonly key: string;
  readonly state: FactState<unknown>;
}

/** Facts that are known beforehand. Nothing is fetched: whoever reads any other one waits. */
export function createKnownFacts(engine: Engine, known: readonly KnownFact[]): Facts {
  const tables = new Map<FactDefinition<unknown>, Table<FactState<unknown>>>();
  const facts: Facts = {
    table<V>(fact: FactDefinition<V>) {
      const table = tables.get(fact) ?? engine.table<FactState<unknown>>({ name: `fact ${fact.name}` });
      tables.set(fact, table);
      return table as Table<FactState<V>>;
    },
    refresh() {},
    stop: () => Promise.resolve(),
  };
  for (const { fact, key, state } of known) facts.table(fact).put(key, state);
  return facts;
}
