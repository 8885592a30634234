// Units that wait for something here: a namespace that is missing, or a name that is another's. Each is tried again when that is over.
import type { Kind, ObjectRef } from '@capstan/kube/cluster';
import type { LocalCopy } from './local-copy.ts';

export interface WaitingUnits {
  forNamespace(namespace: string, unit: string): void;
  /** The namespace appeared, or is gone. */
  namespaceChanged(namespace: string): void;
  forName(unit: string, kind: Kind, ref: ObjectRef): void;
  /** Nothing is waited for any more. */
  settled(unit: string): void;
  stop(): void;
}

/** Names that are watched one by one; more of them are tried again after a while. */
const MOST_WATCHED = 50;

export function createWaitingUnits(
  whenFree: LocalCopy<unknown>['whenFree'],
  tryAgain: (unit: string) => void,
): WaitingUnits {
  const homeless = new Map<string, Set<string>>();
  /** Functions that end the watch on a name. */
  const taken = new Map<string, () => void>();
  return {
    forNamespace(namespace, unit) {
      homeless.set(namespace, (homeless.get(namespace) ?? new Set()).add(unit));
    },
    namespaceChanged(namespace) {
      const units = homeless.get(namespace);
      homeless.delete(namespace);
      for (const unit of units ?? []) tryAgain(unit);
    },
    forName(unit, kind, ref) {
      if (taken.has(unit) || taken.size >= MOST_WATCHED) return;
      taken.set(
        unit,
        whenFree(kind, ref, () => tryAgain(unit)),
      );
    },
    settled(unit) {
      taken.get(unit)?.();
      taken.delete(unit);
      for (const [namespace, units] of homeless) {
        if (units.delete(unit) && units.size === 0) homeless.delete(namespace);
      }
    },
    stop() {
      for (const end of taken.values()) end();
    },
  };
}
