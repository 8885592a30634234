import { causesFromReads, type ObjectId } from '@capstan/reconcile';
import type { Row, Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

export interface OverviewReport {
  /** At most 50, the one that affects most first. */
  readonly roots: readonly OverviewRoot[];
  readonly rootCount: number;
  /** What changes by itself, at most 50. */
  readonly progress: readonly Row[];
  readonly progressCount: number;
  readonly operators: readonly { readonly name: string; readonly objects: number; readonly ready: number }[];
  readonly sinks: readonly { readonly id: string; readonly keys: number }[];
  /** Kinds that are not listed yet: roots may still be missing. */
  readonly filling: readonly { readonly world: string; readonly waitingFor: readonly string[] }[];
}

export interface OverviewRoot extends ObjectId {
  readonly id: string;
  readonly state: 'broken' | 'absent' | 'paused';
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  /** Ids of at most 20 affected objects, nearest first, and how many there are. */
  readonly affects: readonly string[];
  readonly affectsCount: number;
}

const MAX_ROOTS = 50;
const MAX_AFFECTED = 20;

export function overviewOf(source: ConsoleSource, rows: Rows): OverviewReport {
  const unready = rows.unready();
  const problems = unready.map(({ world, kind, key, message, state }) => ({
    world,
    kind,
    key,
    message,
    state: state === 'progress' ? ('progress' as const) : ('broken' as const),
  }));
  const { roots, absent } = causesFromReads(source.runtime, problems);
  const progress = unready.filter(({ state }) => state === 'progress');
  const shown = roots.slice(0, MAX_ROOTS).flatMap(({ id, affects }): OverviewRoot[] => {
    const common = { id, affects: affects.slice(0, MAX_AFFECTED), affectsCount: affects.length };
    const missing = absent.get(id);
    const row = rows.all.get(id);
    if (missing !== undefined) {
      const since = affects.flatMap((one) => rows.all.get(one)?.since ?? []).toSorted()[0];
      const text = { reason: 'NotFound', message: 'it does not exist; create it' };
      return [{ ...missing, ...common, ...text, state: 'absent', ...(since !== undefined && { since }) }];
    }
    if (row === undefined) return [];
    const { world, kind, key, reason, message, since } = row;
    const state = row.state === 'paused' ? 'paused' : 'broken';
    return [{ world, kind, key, reason, message, state, ...common, ...(since !== undefined && { since }) }];
  });
  return {
    roots: shown,
    rootCount: roots.length,
    progress: progress.slice(0, MAX_ROOTS),
    progressCount: progress.length,
    operators: operatorCounts(source, rows),
    sinks: source.runtime.sinks.map(({ id, current }) => ({ id, keys: [...current()].length })),
    filling: source.runtime
      .status()
      .worlds.flatMap(({ name, waitingFor }) => (waitingFor.length === 0 ? [] : [{ world: name, waitingFor }])),
  };
}

function operatorCounts({ operators }: ConsoleSource, rows: Rows): OverviewReport['operators'] {
  const counts = new Map(operators.map(({ name }) => [name, { name, objects: 0, ready: 0 }]));
  for (const { operator, state } of rows.all.values()) {
    const count = operator === undefined ? undefined : counts.get(operator);
    if (count === undefined) continue;
    count.objects++;
    if (state === 'ready') count.ready++;
  }
  return [...counts.values()];
}
