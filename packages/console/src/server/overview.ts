import type { RuntimeCauses } from '@capstan/reconcile';
import type { OverviewAnswer, OverviewRoot } from '../api-types.ts';
import type { Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

const MAX_ROOTS = 50;
const MAX_AFFECTED = 20;
const MAX_CHAIN = 5;

export function overviewOf(
  source: ConsoleSource,
  rows: Rows,
  { roots, absent, causesOf }: RuntimeCauses,
): OverviewAnswer {
  const progress = rows.unready().filter(({ state }) => state === 'progress');
  const shown = roots.slice(0, MAX_ROOTS).flatMap(({ id, affects }): OverviewRoot[] => {
    const common = {
      id,
      affects: affects.slice(0, MAX_AFFECTED),
      affectsCount: affects.length,
      ...chainTo(id, affects, causesOf),
    };
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

/** From the root to the farthest of the affected objects; the middle is left out where it is long. */
function chainTo(
  root: string,
  affects: readonly string[],
  causesOf: (id: string) => readonly string[],
): Pick<OverviewRoot, 'chain' | 'chainLeft'> {
  // Affected objects come in the order of their distance, so each step goes to one that comes earlier.
  const place = new Map([[root, -1], ...affects.map((id, at) => [id, at] as const)]);
  const path: string[] = [];
  for (let next = affects.at(-1); next !== undefined; ) {
    path.unshift(next);
    const at = place.get(next) ?? -1;
    next = causesOf(next).find((id) => (place.get(id) ?? at) < at && id !== root);
  }
  const chain = [root, ...path];
  if (chain.length <= MAX_CHAIN) return { chain, chainLeft: 0 };
  return { chain: [...chain.slice(0, 2), ...chain.slice(2 - MAX_CHAIN)], chainLeft: chain.length - MAX_CHAIN };
}

function operatorCounts({ operators }: ConsoleSource, rows: Rows): OverviewAnswer['operators'] {
  const counts = new Map(operators.map(({ name }) => [name, { name, objects: 0, ready: 0 }]));
  for (const { operator, state } of rows.all.values()) {
    const count = operator === undefined ? undefined : counts.get(operator);
    if (count === undefined) continue;
    count.objects++;
    if (state === 'ready') count.ready++;
  }
  return [...counts.values()];
}
