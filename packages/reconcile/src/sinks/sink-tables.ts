// The reads of sinks by reconcilers: the rows that each reported, and the delivery state of a key. A sink is a world too.
import type { Engine, Table } from '../engine/index.ts';
import type { SinkDefinition, SinkState } from './sink.ts';

export interface SinkTables {
  readonly reports: Table<SinkReport>;
  /** Filled for keys that something reads. */
  readonly states: Table<SinkState>;
  /** How far the delivery of a key is: set by the sink while it is bound. */
  stateOf: (key: string) => SinkState;
  /** Shows the state of a key again, if something reads it. */
  refresh(key: string): void;
  /** The sink is gone, and so are its reports. */
  clear(): void;
}

export interface SinkReport {
  readonly key: string;
  readonly row: unknown;
}

export interface SinkRegistry {
  /** The tables of a sink in a world, created on first use. */
  of(world: string, sink: SinkDefinition): SinkTables;
}

export const PENDING: SinkState = { state: 'pending', error: undefined, failures: 0 };
export const DELIVERED: SinkState = { state: 'delivered', error: undefined, failures: 0 };

export function createSinkRegistry(engine: Engine): SinkRegistry {
  const registry = new Map<SinkDefinition, Map<string, SinkTables>>();
  return {
    of(world, sink) {
      const perWorld = registry.get(sink) ?? new Map<string, SinkTables>();
      registry.set(sink, perWorld);
      const found = perWorld.get(world) ?? createSinkTables(engine, world === '' ? sink.name : `${sink.name}@${world}`);
      perWorld.set(world, found);
      return found;
    },
  };
}

function createSinkTables(engine: Engine, name: string): SinkTables {
  const read = new Set<string>();
  const reports = engine.table<SinkReport>({ name: `reports of sink ${name}` });
  reports.synced();
  const states: Table<SinkState> = engine.table<SinkState>({
    name: `deliveries of sink ${name}`,
    demand: {
      key(key) {
        read.add(key);
        states.put(key, tables.stateOf(key));
      },
      idle(key) {
        read.delete(key);
        states.forget(key);
      },
    },
  });
  const tables: SinkTables = {
    reports,
    states,
    stateOf: () => PENDING,
    refresh(key) {
      if (read.has(key)) states.put(key, tables.stateOf(key));
    },
    clear() {
      reports.drop('absent');
      tables.stateOf = () => PENDING;
      for (const key of read) tables.refresh(key);
    },
  };
  return tables;
}
