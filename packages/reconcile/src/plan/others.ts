// The changes of a plan to objects that are not its children: set fields, guarded by the seen version, and remove by uid. Both need the
// object to be in the cache; neither ever creates one.
import type { Kind, KubeObject, ObjectRef } from '@capstan/kube/cluster';
import { DefinitionErrors } from '../errors.ts';
import type { Provenance } from '../ownership/index.ts';
import { inWorld } from './place.ts';

/** Fields of a foreign object that have these values while the plan contains the patch. */
export interface Patch {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly set: readonly FieldValue[];
  /** Remembered as an annotation on the patched object, written in the same request. */
  readonly memory: unknown;
  /**
   * True (the default): the values before our first patch are kept in an annotation on the object and put back, where the
   * field still has our value, once the plan no longer mentions the patch. False: the reconciler takes care of that.
   */
  readonly restore: boolean;
  /** True (the default): why it was patched is written on the object. False: that is taken off it, with the last patch of all. */
  readonly explained: boolean;
}

export interface FieldValue {
  /** JSON pointer: `/spec/routes/0/services/1/weight`. It may go through items of lists, and ends at a field. */
  readonly path: string;
  /** undefined removes the field. */
  readonly value: unknown;
}

/** Removes exactly this object: another one that has taken its name since stays, and so does one that we did not create. */
export interface Removal {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly uid: string;
  /** Evidence that the operator created it, where it is not a child of the same owner. */
  readonly provenance?: Provenance;
}

export function patch(
  kind: Kind,
  ref: ObjectRef,
  set: readonly FieldValue[],
  options: { memory?: unknown; restore?: boolean; explained?: boolean; in?: string } = {},
): Patch {
  const { memory, restore = true, explained = true } = options;
  return { kind: inWorld(kind, options.in), ref, set, memory, restore, explained };
}

export function remove(
  kind: Kind,
  object: KubeObject,
  options: { in?: string; provenance?: Provenance } = {},
): Removal {
  const { namespace, name, uid } = object.metadata;
  const { provenance } = options;
  if (!name || !uid) throw DefinitionErrors.NoUid(kind.kind);
  const ref = namespace ? { namespace, name } : { name };
  return { kind: inWorld(kind, options.in), ref, uid, ...(provenance && { provenance }) };
}
