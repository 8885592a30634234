// The writes that are due without any change: the state of a runtime that has never led. A new version, and a program that takes over
// from another one, begin with them.
import type { Change, Derivation, Fork } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime-types.ts';
import { removalsOf } from './removals.ts';
import { pendingWrites } from './virtual-steps.ts';

export interface Standing {
  /** The changes of the fork, and before them the results of the graph that are not carried out and that the fork leaves as they are. */
  changesIn(fork: Fork): Change[];
  /** The unknowns for which results wait that the fork leaves as they are. */
  unknownsIn(fork: Fork): string[];
}

/** Shows the changes of the fork alone. */
export const NO_STANDING: Standing = { changesIn: (fork) => fork.evaluate(), unknownsIn: () => [] };

export function createStanding({ engine, bindings }: Runtime): Standing {
  const due = bindings.flatMap((binding) =>
    engine.keysOf(binding.writes).flatMap((key): Change[] => {
      const after = engine.valueOf(binding.writes, key);
      // Nothing was known before, so no Event counts as new.
      const change: Change = { derivation: binding.writes, key, before: after, after, causes: [] };
      const isDue =
        after?.state === 'suspended' || pendingWrites(change) !== undefined || removalsOf(change, binding).length > 0;
      return isDue ? [change] : [];
    }),
  );
  const leftIn = (changes: readonly Change[]) => {
    const moved = new Map<Derivation<unknown>, Set<string>>();
    for (const { derivation, key } of changes) moved.set(derivation, (moved.get(derivation) ?? new Set()).add(key));
    return due.filter(({ derivation, key }) => !moved.get(derivation)?.has(key));
  };
  return {
    changesIn(fork) {
      const changes = fork.evaluate();
      return [...leftIn(changes), ...changes];
    },
    unknownsIn: (fork) =>
      leftIn(fork.evaluate()).flatMap(({ after }) => (after?.state === 'suspended' ? after.waitingFor : [])),
  };
}
