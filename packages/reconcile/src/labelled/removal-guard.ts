// A source that answers "nothing" is more often broken than empty. When removals would take more than half of all children at once, they
// are held until the source has confirmed them in two further cycles. All removals within one window of time count together, so that a
// flood of single deletions is noticed as well.
import type { Clock } from '@capstan/kube/cluster';

export interface RemovalGuardOptions {
  clock: Clock;
  /** How many objects there are now. */
  owned(): number;
  /** Removals beyond this share are held; default 0.5. */
  share?: number;
  /** Fewer removals than this are never held; default 10. */
  least?: number;
  /** So many further cycles must say the same; default 2. */
  cycles?: number;
  /** Removals within this time count as one; default 30,000. */
  windowMs?: number;
}

export interface RemovalGuard {
  /** So many objects of this key are to go; 0 withdraws. */
  propose(key: string, objects: number): void;
  /** True if the removals of this key may happen now. */
  allows(key: string): boolean;
  /** So many objects of this key are gone. */
  removed(key: string, objects: number): void;
  /** The source was seen as a whole once more. Gives the keys whose removals are free now. */
  cycle(): string[];
  /** How many objects are held. */
  readonly held: number;
}

export function createRemovalGuard(options: RemovalGuardOptions): RemovalGuard {
  const { clock, owned, share = 0.5, least = 10, cycles = 2, windowMs = 30_000 } = options;
  const proposed = new Map<string, number>();
  /** Looked at often enough: these go, and count for nothing any more. */
  const approved = new Set<string>();
  const recent: { at: number; objects: number }[] = [];
  /** Sums of recent and of waiting removals, so that a proposal costs the same whatever else is proposed. */
  let gone = 0;
  let waiting = 0;
  let confirmations: number | undefined;

  function recently(): number {
    const since = clock.now() - windowMs;
    while ((recent[0]?.at ?? Number.POSITIVE_INFINITY) < since) gone -= recent.shift()?.objects ?? 0;
    return gone;
  }

  function change(key: string, objects: number): void {
    if (!approved.has(key)) waiting += objects - (proposed.get(key) ?? 0);
    if (objects > 0) proposed.set(key, objects);
    else {
      proposed.delete(key);
      approved.delete(key);
    }
  }

  function isMass(): boolean {
    const going = waiting + recently();
    return going >= least && going > share * (owned() + gone);
  }

  return {
    propose(key, objects) {
      if (objects > 0 || proposed.has(key)) change(key, objects);
      // Enough has come back, so that it is no mass any more.
      if (objects === 0 && confirmations !== undefined && !isMass()) confirmations = undefined;
    },
    allows(key) {
      if (approved.has(key)) return true;
      if (confirmations === undefined && !isMass()) return true;
      confirmations ??= 0;
      return false;
    },
    removed(key, objects) {
      if (!approved.has(key)) {
        recent.push({ at: clock.now(), objects });
        gone += objects;
      }
      change(key, Math.max(0, (proposed.get(key) ?? 0) - objects));
    },
    cycle() {
      if (confirmations === undefined) return [];
      confirmations++;
      if (confirmations < cycles && isMass()) return [];
      confirmations = undefined;
      const free = [...proposed.keys()].filter((key) => !approved.has(key));
      for (const key of free) approved.add(key);
      waiting = 0;
      return free;
    },
    get held() {
      return confirmations === undefined ? 0 : waiting;
    },
  };
}
