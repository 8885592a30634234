import type { Operator } from '../operator.ts';
import { requirementsOf, type World } from '../worlds/index.ts';

/**
 * The reason why an operator must not lead: kinds that it reads or writes whose caches have not followed the cluster for longer than the
 * limit. An instance with such caches renews its Lease and acts on an old state, and another one may have a better connection. Only the
 * connection counts: a kind that is forbidden, not served or answered with an error is so for every instance, and must not stop the work on
 * the other kinds. A kind that was never listed does no harm: its readers wait.
 */
export function staleCaches(world: World, operator: Operator, limitMs: number): string | undefined {
  const declared = requirementsOf([...operator.reconcilers, ...(operator.sinks ?? [])]);
  const stale: string[] = [];
  for (const [kind, ms] of world.staleness()) {
    if (!declared.has(kind) || ms <= limitMs || !Number.isFinite(ms)) continue;
    if (OF_CONNECTION.has(world.watchProblems.peek(kind)?.reason)) stale.push(kind);
  }
  return stale.length === 0 ? undefined : `the caches of ${stale.toSorted().join(', ')} are stale`;
}

/** A watch without a problem counts too: one that is open and brings nothing has none until it is given up. */
const OF_CONNECTION: ReadonlySet<string | undefined> = new Set([undefined, 'Unreachable', 'Silent']);

export const DEFAULT_STALE_LIMIT_MS = 120_000;
/** A watch that is only quiet proves its caches within 50 s. */
export const SHORTEST_STALE_LIMIT_MS = 60_000;
