import type { DeleteWrite, PendingGroup, WriteSet } from '../diff/index.ts';

/** The next step for a key, besides its status. The API writer carries it out, and a preview shows it. */
export type Step =
  | { readonly what: 'finalizer'; readonly change: 'add' | 'remove' }
  | { readonly what: 'group'; readonly group: PendingGroup }
  | { readonly what: 'prune'; readonly writes: readonly DeleteWrite[] };

/** The order of all writes: our finalizer first, the groups one after the other, pruning, and the finalizer last. */
export function nextStep({ finalizer, groups, prune }: WriteSet): Step | undefined {
  if (finalizer === 'add') return { what: 'finalizer', change: 'add' };
  const [group] = groups;
  if (group !== undefined) return { what: 'group', group };
  if (prune.length > 0) return { what: 'prune', writes: prune };
  return finalizer === 'remove' ? { what: 'finalizer', change: 'remove' } : undefined;
}
