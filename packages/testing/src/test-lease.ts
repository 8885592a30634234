import type { Leadership } from '@capstan/reconcile';

/** A lease that a test gives and takes. */
export interface TestLease {
  readonly leadership: Leadership;
  readonly holds: boolean;
  set(holds: boolean): void;
  /** As on a machine that stood still: over by the clock, and no timer has fired yet. */
  loseSilently(): void;
}

export function createTestLease(): TestLease {
  const listeners = new Set<(holds: boolean) => void>();
  let holds = true;
  const leadership: Leadership = {
    get holds() {
      return holds;
    },
    run: (signal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    leadership,
    get holds() {
      return holds;
    },
    set(next) {
      if (next === holds) return;
      holds = next;
      for (const listener of listeners) listener(next);
    },
    loseSilently() {
      holds = false;
    },
  };
}
