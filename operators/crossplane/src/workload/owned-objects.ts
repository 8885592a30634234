// What runs for a package, found by the owner references that it carries: also what an earlier revision or another
// configuration has left, whose names nobody renders any more.
import { type KubeObject, Service, ServiceAccount } from '@capstan/kube';
import { index } from '@capstan/reconcile';
import type { PackageKind } from '../packages/package-kind.ts';
import { ownersOf } from '../runtime/index.ts';

export function ownerKey({ kind }: Pick<PackageKind, 'kind'>, uid: string): string {
  return `${kind} ${uid}`;
}

export const servicesByOwner = index(Service, 'crossplane owners', ownersOf);
export const accountsByOwner = index(ServiceAccount, 'crossplane owners', ownersOf);

export const refOf = ({ metadata }: KubeObject) => ({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });

// Caches keep of these only what somebody here looks at.
export function trimService(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec } = object as Service;
  const trimmed: Service = {
    apiVersion,
    kind,
    metadata,
    spec: spec?.selector === undefined ? {} : { selector: spec.selector },
  };
  return trimmed;
}

export function trimPod(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, status } = object as KubeObject & { status?: unknown };
  return { apiVersion, kind, metadata: { ...metadata, managedFields: [] }, status } as KubeObject;
}
