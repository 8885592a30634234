import type { Clock, Lease, Timer } from '@capstan/kube/cluster';
import { holderOf, recordOf } from './lease-record.ts';

/** The lease as a contender last saw it, and since when it is unchanged. */
export interface Patience {
  readonly lease: Lease | undefined;
  readonly holder: string | undefined;
  see(lease: Lease): void;
  /** Whether `identity` may write the lease: it is free, its own, or was not renewed for its duration. */
  isOver(identity: string): boolean;
  /** Resolves when the lease, as it was last seen, runs out; never when nothing is waited for. */
  ranOut(): Promise<void>;
  end(): void;
}

/** Counts from when a record was first seen. A lease that was deleted is still waited for: its holder may not know yet. */
export function createPatience(clock: Clock, leaseMs: number): Patience {
  let lease: Lease | undefined;
  let record: string | undefined;
  // The timer alone decides: a clock that is set forward must not end anybody's lease.
  let timer: Timer | undefined;
  let hasRunOut = true;
  let over = Promise.withResolvers<void>();
  return {
    get lease() {
      return lease;
    },
    get holder() {
      return holderOf(lease);
    },
    see(next) {
      lease = next;
      const seen = recordOf(next);
      if (seen === record) return;
      record = seen;
      hasRunOut = false;
      over = Promise.withResolvers();
      timer?.cancel();
      const seconds = next.spec?.leaseDurationSeconds;
      timer = clock.after(seconds === undefined ? leaseMs : seconds * 1000, () => {
        hasRunOut = true;
        over.resolve();
      });
    },
    isOver(identity) {
      const holder = holderOf(lease);
      return holder === undefined || holder === identity || hasRunOut;
    },
    ranOut: () => over.promise,
    end() {
      timer?.cancel();
    },
  };
}
