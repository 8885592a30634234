// The workloads of a package, found by their owner references: also those that an earlier revision or another configuration has left, whose
// names are not rendered any more.
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
