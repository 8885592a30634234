import type { UnknownObject } from '@capstan/kube';
import type { Target } from '../rest/target.ts';

/** Keeps metadata.managedFields true: who set which field last. */
export interface FieldTracker {
  /** After a write that is not an apply: the manager owns what the write changed. */
  update(write: TrackedWrite): UnknownObject;
  /** Server-side apply: what the object becomes, with managedFields; throws Conflict unless forced. */
  apply(write: TrackedApply): UnknownObject;
}

export interface TrackedWrite {
  target: Target;
  /** As it is stored; undefined when the object is new. */
  live: UnknownObject | undefined;
  object: UnknownObject;
  manager: string;
}

export interface TrackedApply {
  target: Target;
  live: UnknownObject | undefined;
  /** What the client sent. */
  applied: UnknownObject;
  manager: string;
  force: boolean;
}

export function untracked(): FieldTracker {
  return { update: ({ object }) => object, apply: ({ live, applied }) => ({ ...live, ...applied }) };
}
