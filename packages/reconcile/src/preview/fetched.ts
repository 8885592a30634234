// Objects that are read only where something refers to them: what a change would refer to is fetched before it is previewed.
import { type Clock, sleep } from '@capstan/kube/cluster';
import type { Derivation, Root, Table } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime.ts';

export interface FetchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long one object may take; 5,000 by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5000;
const POLL_MS = 10;

export interface Fetcher {
  /** Fetches what is waited for, as previews name it; false when there is nothing new that could be fetched. */
  fetch(unknowns: readonly string[]): Promise<boolean>;
  stop(): void;
}

export function createFetcher(runtime: Runtime, { clock, signal, timeoutMs = TIMEOUT_MS }: FetchOptions): Fetcher {
  const asked = new Set<string>();
  const roots: Root[] = [];
  const readers = new Map<Table<unknown>, Derivation<boolean>>();

  const readerOf = (table: Table<unknown>): Derivation<boolean> => {
    const known = readers.get(table);
    if (known !== undefined) return known;
    const reader = runtime.engine.derive<boolean>({
      name: `${table.name} for a preview`,
      compute: (key, tracker) => tracker.get(table, key) !== undefined,
    });
    readers.set(table, reader);
    return reader;
  };

  return {
    async fetch(unknowns) {
      const tables = referencedTables(runtime);
      const wanted = unknowns.flatMap((unknown) => {
        if (asked.has(unknown)) return [];
        const table = tables.find(({ name }) => unknown.startsWith(`${name}/`));
        if (table === undefined) return [];
        asked.add(unknown);
        return [{ reader: readerOf(table), key: unknown.slice(table.name.length + 1) }];
      });
      if (wanted.length === 0) return false;
      for (const { reader, key } of wanted) roots.push(runtime.engine.hold(reader, key));
      const deadline = clock.now() + timeoutMs;
      const isKnown = () => wanted.every(({ reader, key }) => runtime.engine.valueOf(reader, key)?.state === 'value');
      for (await runtime.settle(); !isKnown() && clock.now() < deadline; await runtime.settle())
        await sleep(clock, POLL_MS, signal);
      return true;
    },
    stop() {
      for (const root of roots) root.stop();
      runtime.engine.retire(...readers.values());
    },
  };
}

function referencedTables({ bindings, sinks, worlds }: Runtime): Table<unknown>[] {
  const declared = [
    ...bindings.flatMap(({ reconciler }) => reconciler.reads),
    ...sinks.flatMap(({ sink }) => sink.reads),
  ].filter(({ reach }) => reach === 'referenced');
  const tables = [...worlds.values()].flatMap((world) => declared.flatMap(({ kind }) => world.readTable(kind) ?? []));
  return [...new Set(tables as Table<unknown>[])];
}
