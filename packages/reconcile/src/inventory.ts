// Whose child an object is. The inventory id names world, reconciler and owner; it is a label, so that children in other
// namespaces and cluster-scoped ones, which owner references cannot reach, are found and pruned like the rest.
import { hash } from 'node:crypto';
import { type Kind, type KubeObject, kindId, type ObjectKey } from '@capstan/kube/cluster';
import { INVENTORY_LABEL } from './marks.ts';

export type InventoryId = string;

export interface InventoryOwner {
  /** The world that the owner lives in. */
  world: string;
  /** `operator.reconciler` */
  reconciler: string;
  /** As the owner was written. */
  kind: Kind;
  key: ObjectKey;
}

/** A label value: at most 63 characters, the same for the same owner in every process. */
export function inventoryId(owner: InventoryOwner): InventoryId {
  const identity = JSON.stringify([owner.world, owner.reconciler, kindId(owner.kind), owner.key]);
  return `${readableOf(owner.reconciler)}-${hash('sha256', identity, 'hex').slice(0, HASH_DIGITS)}`;
}

/** Returns a regular expression for the ids of all owners of these reconcilers, each `operator.reconciler`. */
export function inventoryPattern(reconcilers: readonly string[]): string {
  const readable = [...new Set(reconcilers.map(readableOf))].toSorted();
  return `^(${readable.join('|')})-[0-9a-f]{${HASH_DIGITS}}$`;
}

function readableOf(reconciler: string): string {
  return reconciler.replaceAll('.', '-').slice(0, 30);
}

const HASH_DIGITS = 20;

/** The owner, as people read it in the annotation. */
export function describeOwner(owner: InventoryOwner): string {
  return `${owner.reconciler} ${kindId(owner.kind)} ${owner.key}`;
}

export function inventoryOf(object: KubeObject): InventoryId | undefined {
  return object.metadata.labels?.[INVENTORY_LABEL];
}

/** The field manager of a reconciler, by which server-side apply knows its fields. */
export function fieldManager(operator: string, reconciler: string): string {
  return `${FIELD_MANAGER_PREFIX}${operator}.${reconciler}`;
}

/**
 * The field manager of the fields that one owner shares in an object: one each, because an apply removes the former fields of the same
 * manager, and two owners of one reconciler would undo each other for ever.
 */
export function sharingManager(manager: string, inventory: InventoryId): string {
  return `${manager}.${inventory.slice(-HASH_DIGITS)}`;
}

/** Caches keep managedFields entries of managers with this prefix, and no others. */
export const FIELD_MANAGER_PREFIX = 'capstan.';
