// Objects that are read only where something refers to them, and facts that only read: those that a change would refer to are fetched
// before it is previewed.
import { type Clock, sleep } from '@capstan/kube/cluster';
import type { Derivation, Root, Table } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime-types.ts';

export interface FetchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long one object may take; 5,000 by default. */
  readonly timeoutMs?: number;
  /** The time limit of facts; 30,000 by default. A fact without a result by then is not known. */
  readonly factTimeoutMs?: number;
  /** Called before facts are fetched, as in `package-content of registry.example/a:v1`: it may take a while. */
  onFact?(what: string): void;
}

const TIMEOUT_MS = 5000;
const FACT_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

export interface Fetcher {
  /** Fetches the unknowns, as previews name them; false when no new one could be fetched. */
  fetch(unknowns: readonly string[]): Promise<boolean>;
  stop(): void;
}

interface Wanted {
  readonly table: Table<unknown>;
  readonly key: string;
  readonly isFact: boolean;
}

export function createFetcher(runtime: Runtime, options: FetchOptions): Fetcher {
  const { clock, signal, timeoutMs = TIMEOUT_MS, factTimeoutMs = FACT_TIMEOUT_MS } = options;
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

  const wantedBy = (unknown: string): Wanted[] => {
    if (asked.has(unknown)) return [];
    const isNamed = ({ name }: Table<unknown>) => unknown.startsWith(`${name}/`);
    const fact = runtime.facts.find(({ table }) => isNamed(table as Table<unknown>));
    const isRead = fact?.fact.readOnly === true && runtime.performedFacts !== 'none';
    const table = isRead ? (fact?.table as Table<unknown>) : referencedTables(runtime).find(isNamed);
    if (table === undefined) return [];
    asked.add(unknown);
    return [{ table, key: unknown.slice(table.name.length + 1), isFact: isRead }];
  };

  return {
    async fetch(unknowns) {
      const wanted = unknowns.flatMap(wantedBy);
      if (wanted.length === 0) return false;
      // The inputs of facts are known from the preview until the next wave, which begins when its roots are held.
      for (const { table, key, isFact } of wanted) {
        if (isFact) options.onFact?.(factName(`${table.name}/${key}`));
        roots.push(runtime.engine.hold(readerOf(table), key));
      }
      const limit = wanted.some(({ isFact }) => isFact) ? factTimeoutMs : timeoutMs;
      const deadline = clock.now() + limit;
      const isKnown = () =>
        wanted.every(({ table, key }) => runtime.engine.valueOf(readerOf(table), key)?.state === 'value');
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

/** Names each fact among the unknowns as people know it, with the reason that it is not known. */
export function describeUnknown(runtime: Runtime, unknown: string): string {
  const found = runtime.facts.find(({ table }) => unknown.startsWith(`${table.name}/`));
  if (found === undefined) return unknown;
  return `${factName(unknown)}: ${reasonOf(found.fact.readOnly === true, runtime)}; what follows from it is not known`;
}

function reasonOf(isReadOnly: boolean, { performedFacts }: Runtime): string {
  if (performedFacts === 'none') return 'facts are not fetched (--offline)';
  return isReadOnly
    ? 'there is no result yet'
    : 'finding it out may change something outside, so that a preview does not';
}

/** `package-digest of registry.example/a:v1`, without the digest of the input. */
function factName(unknown: string): string {
  const [, name = '', key = ''] = /^fact ([^/]+)\/(.*)$/s.exec(unknown) ?? [];
  const label = key.replace(/ ?\bv\d+\.[0-9a-f]+(?:\.[\w-]+\.[0-9a-f]+)?$/, '');
  return label === '' ? name : `${name} of ${label}`;
}

function referencedTables({ bindings, sinks, worlds }: Runtime): Table<unknown>[] {
  const declared = [
    ...bindings.flatMap(({ reconciler }) => reconciler.reads),
    ...sinks.flatMap(({ sink }) => sink.reads),
  ].filter(({ reach }) => reach === 'referenced');
  const tables = [...worlds.values()].flatMap((world) => declared.flatMap(({ kind }) => world.readTable(kind) ?? []));
  return [...new Set(tables as Table<unknown>[])];
}
