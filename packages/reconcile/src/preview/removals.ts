// Objects that a plan removes later, and the bodies of its writes.
import { describe, type WriteSet } from '../diff/index.ts';
import type { Change } from '../engine/index.ts';
import { placeOf } from '../plan/index.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import type { PreviewBody, PreviewWrite } from './preview.ts';
import { isPrunable, type VirtualStep } from './virtual-steps.ts';

export interface PreviewRemoval extends Pick<PreviewWrite, 'by' | 'for' | 'object'> {
  /** As in `the new one is ready`. */
  readonly until: string;
}

/** Returns the objects that the last evaluation of a key would keep for now. */
export function removalsOf(change: Change, binding: Binding): PreviewRemoval[] {
  if (change.after?.state !== 'value') return [];
  const { later = [] } = change.after.value as WriteSet;
  return later.map(({ kind, ref, until }) => ({
    by: `${binding.operator.name}.${binding.reconciler.name}`,
    for: `${binding.reconciler.resource.kind} ${change.key}`,
    object: describe(kind, ref),
    until,
  }));
}

/** Returns deletions that the API writer postpones: an object that a stale cache does not show may still need the removed one. */
export function stalePrunes(change: Change, binding: Binding): PreviewRemoval[] {
  if (change.after?.state !== 'value') return [];
  const { prune } = change.after.value as WriteSet;
  return prune
    .filter((write) => !isPrunable(write, binding))
    .map(({ kind, ref }) => ({
      by: `${binding.operator.name}.${binding.reconciler.name}`,
      for: `${binding.reconciler.resource.kind} ${change.key}`,
      object: describe(kind, ref),
      until: `the caches of ${binding.reconciler.resource.kind} and ${kind.kind} are current`,
    }));
}

/** Returns the bodies that the API writer would send, except those for another cluster or without content yet. */
export function bodiesOf(step: VirtualStep, binding: Binding): PreviewBody[] {
  if (!('write' in step) || (step.write.verb !== 'apply' && step.write.verb !== 'create')) return [];
  const { kind, verb, body } = step.write;
  if (kind.sensitive || (placeOf(kind) ?? binding.world.name) !== binding.world.name) return [];
  const by = `${binding.operator.name}.${binding.reconciler.name}`;
  return [{ by, kind, verb, body, manager: binding.manager }];
}
