// Ownership by owner references. An owner keeps the objects that it controls and its selector matches, releases those that its selector no
// longer matches, and adopts matching objects without a controller.
import {
  type CompiledLabelSelector,
  externalKind,
  type InformerView,
  isInvalid,
  isNotFound,
  type Kind,
  type KubeObject,
  type OwnerReference,
  refOf,
} from '@capstan/kube';
import { type IndexedBy, indexBy } from './index-by.ts';
import type { Toolkit } from './toolkit.ts';

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

export function controllerReference(owner: KubeObject): OwnerReference {
  const { name = '', uid = '' } = owner.metadata;
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Objects by the uid of their controller, and those without a controller by their namespace. */
export interface Ownership<T> {
  of(owner: KubeObject): readonly T[];
  orphansIn(namespace: string): readonly T[];
}

export function createOwnership<T extends KubeObject>(informer: InformerView<T>): Ownership<T> {
  const index: IndexedBy<T> = indexBy(
    informer,
    (object) => controllerOf(object)?.uid ?? `orphans/${object.metadata.namespace}`,
  );
  return {
    of: (owner) => index.get(owner.metadata.uid ?? ''),
    orphansIn: (namespace) => index.get(`orphans/${namespace}`),
  };
}

/** Returns the objects that the owner controls, after adopting and releasing. */
export async function claim<T extends KubeObject>(
  tools: Toolkit,
  kind: Kind<T>,
  ownership: Ownership<T>,
  owner: KubeObject,
  selector: CompiledLabelSelector,
): Promise<T[]> {
  const isLeaving = owner.metadata.deletionTimestamp !== undefined;
  const claimed: T[] = [];
  for (const object of ownership.of(owner)) {
    if (selector.matches(object.metadata.labels)) claimed.push(object);
    else if (!isLeaving) await release(tools, kind, object, owner);
  }
  if (isLeaving) return claimed;
  const orphans = ownership
    .orphansIn(owner.metadata.namespace ?? '')
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined && selector.matches(metadata.labels));
  if (orphans.length === 0 || !(await isStillThere(tools, owner))) return claimed;
  for (const object of orphans) claimed.push(await adopt(tools, kind, object, owner));
  return claimed;
}

/** Asks the server before an adoption: objects that a deleted owner adopts would be collected. */
async function isStillThere({ client }: Toolkit, owner: KubeObject): Promise<boolean> {
  const live = await client.find(kindOf(owner), refOf(owner));
  return live?.metadata.uid === owner.metadata.uid && live?.metadata.deletionTimestamp === undefined;
}

/** Owners here are all named regularly. */
function kindOf({ apiVersion, kind }: KubeObject): Kind {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return externalKind({ group, version, kind, plural: `${kind.toLowerCase()}s`, scope: 'Namespaced' });
}

function adopt<T extends KubeObject>(tools: Toolkit, kind: Kind<T>, object: T, owner: KubeObject): Promise<T> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const metadata = { uid, resourceVersion, ownerReferences: [...ownerReferences, controllerReference(owner)] };
  return tools.write.patch(kind, refOf(object), 'merge', { metadata });
}

async function release<T extends KubeObject>(
  tools: Toolkit,
  kind: Kind<T>,
  object: T,
  owner: KubeObject,
): Promise<void> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const kept = ownerReferences.filter((reference) => reference.uid !== owner.metadata.uid);
  const metadata = { uid, resourceVersion, ownerReferences: kept.length > 0 ? kept : null };
  try {
    await tools.write.patch(kind, refOf(object), 'merge', { metadata });
  } catch (error) {
    // It is gone, or another object has its name: nothing to release.
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}
