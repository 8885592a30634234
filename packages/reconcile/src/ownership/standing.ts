// How an existing object stands to an owner: from its uid, its controller, its inventory label and who set that label.
import type { KubeObject, OwnerReference } from '@capstan/kube/cluster';
import { describeOwner, type InventoryId, type InventoryOwner, inventoryOf } from '../inventory.ts';
import { ADOPTED_ANNOTATION, INVENTORY_LABEL, OWNER_ANNOTATION } from '../marks.ts';
import { appliedEntry, isLabelSetBy, isReferenceSetBy } from './set-by.ts';

/** The owner of a plan, as its children know it. */
export interface Ownership {
  readonly inventory: InventoryId;
  readonly owner: InventoryOwner;
  /** The owner itself. */
  readonly object: KubeObject;
}

/** The same as plain data, for a write that is checked once more when it is sent. */
export interface Claimant {
  readonly inventory: InventoryId;
  /** As the annotation on children describes the owner. */
  readonly described: string;
  /** The uid of the owner; undefined where no owner reference reaches. */
  readonly uid: string | undefined;
  /** The field manager of the reconciler. */
  readonly manager: string;
}

export function claimantOf(ownership: Ownership, manager: string): Claimant {
  const known = claimants.get(ownership);
  if (known?.manager === manager) return known;
  const { inventory, owner, object } = ownership;
  const claimant = { inventory, described: describeOwner(owner), uid: object.metadata.uid, manager };
  claimants.set(ownership, claimant);
  return claimant;
}

/** Every child of an owner is judged for the same claimant. */
const claimants = new WeakMap<Ownership, Claimant>();

/**
 * - `own`: we created it for this owner; our field manager set the inventory label.
 * - `adopted`: it was there before us and we keep it as planned. It is given back, never deleted.
 * - `named`: it names this owner (label, annotation or controller) and we are not known to have created it: a restored backup.
 * - `referring`: it refers to this owner without being controlled, as an upstream operator leaves it.
 * - `free`: nothing controls it.
 * - `others`: another owner of ours has it in its inventory, or another object controls it.
 */
export type Standing = { readonly is: 'absent' | 'own' | 'adopted' | 'named' | 'referring' | 'free' } | Others;

export interface Others {
  readonly is: 'others';
  readonly by: 'owner' | 'controller';
  /** Whether an object that is not ours controls it. */
  readonly isControlled: boolean;
  readonly claim: string;
}

/** `controllers` are uids that the plan itself names as controller of the object. */
export function standingOf(
  object: KubeObject | undefined,
  claimant: Claimant,
  controllers: readonly string[] = [],
): Standing {
  if (object === undefined) return { is: 'absent' };
  const { ownerReferences = [], annotations = {} } = object.metadata;
  const { manager, uid: owner } = claimant;
  const inventory = inventoryOf(object);
  const controller = ownerReferences.find((reference) => reference.controller);
  const isForeign =
    controller !== undefined &&
    controller.uid !== owner &&
    !controllers.includes(controller.uid) &&
    !isReferenceSetBy(object, controller.uid, manager);
  if (inventory !== undefined && inventory !== claimant.inventory)
    return isForeign ? { ...OTHER_OWNER, isControlled: true } : OTHER_OWNER;
  if (isForeign) return controlled(controller);
  if (inventory !== undefined) {
    if (annotations[ADOPTED_ANNOTATION] !== undefined) return { is: 'adopted' };
    return { is: isLabelSetBy(object, INVENTORY_LABEL, manager) ? 'own' : 'named' };
  }
  if (controller !== undefined && controller.uid === owner) return { is: 'named' };
  if (appliedEntry(object, manager) !== undefined) {
    // Our label was removed. The field manager is that of all owners of the reconciler: the annotation shows which one.
    const described = annotations[OWNER_ANNOTATION];
    if (described !== undefined && described !== claimant.described) return OTHER_OWNER;
    return annotations[ADOPTED_ANNOTATION] === undefined ? { is: 'named' } : { is: 'adopted' };
  }
  // A controller that is left by now is one that the plan names.
  const isReferring =
    controller !== undefined || (owner !== undefined && ownerReferences.some(({ uid }) => uid === owner));
  return { is: isReferring ? 'referring' : 'free' };
}

const OTHER_OWNER = {
  is: 'others',
  by: 'owner',
  isControlled: false,
  claim: 'belongs to another owner of this control plane: give one of the two another name',
} as const;

function controlled({ kind, name }: OwnerReference): Standing {
  const claim = `is controlled by ${kind} ${name}: rename one of the two`;
  return { is: 'others', by: 'controller', isControlled: true, claim };
}
