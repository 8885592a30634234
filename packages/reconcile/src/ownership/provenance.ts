import type { KubeObject } from '@capstan/kube/cluster';
import { isAnnotationSetBy, isLabelSetBy } from './set-by.ts';

/**
 * Evidence that an object which is no child of the plan was created by the same operator, or for the same resource by the
 * program that the operator replaces. Without evidence nothing is removed.
 */
export type Provenance = Marked | ControlledByOurs | Ruled;

/** Another program of the same operator created it and set this label or annotation. */
export interface Marked {
  readonly label?: string;
  readonly annotation?: string;
  /** The field managers of the programs that create such objects. */
  readonly managers: readonly string[];
}

/** One of these objects of ours controls it: the upstream operator created it for the same resource. */
export interface ControlledByOurs {
  readonly controllers: readonly string[];
  /** The record in docs/decisions that names the case. */
  readonly ruling: string;
}

/** A ruling names the case, and no evidence is needed: a copy that is synced follows its original. Another controller still counts. */
export interface Ruled {
  readonly ruling: string;
  /** Whether the ruling is about this object; it is about every one by default. */
  applies?(object: KubeObject): boolean;
}

/** Whether the object carries the mark and one of the managers set it: a copy that a user made does not count. */
export function isMarked(object: KubeObject, { label, annotation, managers }: Marked): boolean {
  return managers.some(
    (manager) =>
      (label !== undefined && isLabelSetBy(object, label, manager)) ||
      (annotation !== undefined && isAnnotationSetBy(object, annotation, manager)),
  );
}
