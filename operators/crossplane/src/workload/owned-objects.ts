// What runs for a package, found by the owner references that it carries: also what an earlier revision or another
// configuration has left, whose names nobody renders any more.
import { Deployment, type KubeObject, Service, ServiceAccount } from '@capstan/kube';
import { index } from '@capstan/reconcile';
import { GROUP } from '../kinds/index.ts';
import type { PackageKind } from '../packages/package-kind.ts';

export function ownerKey({ kind }: Pick<PackageKind, 'kind'>, uid: string): string {
  return `${kind} ${uid}`;
}

const owners = ({ metadata }: KubeObject): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap(({ apiVersion, kind, uid }) =>
    apiVersion.startsWith(`${GROUP}/`) ? [`${kind} ${uid}`] : [],
  );

export const deploymentsByOwner = index(Deployment, 'crossplane owners', owners);
export const servicesByOwner = index(Service, 'crossplane owners', owners);
export const accountsByOwner = index(ServiceAccount, 'crossplane owners', owners);

/** Of a Deployment: its name, and the revision that it runs. */
export const runningOf = ({ metadata, spec }: Deployment) => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  revision: metadata.ownerReferences?.find(({ controller }) => controller)?.name,
  account: spec?.template.spec?.serviceAccountName,
});

export const refOf = ({ metadata }: KubeObject) => ({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });

// Caches keep of these only what somebody here looks at.
export function trimDeployment(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = object as Deployment;
  const pod = spec?.template.spec;
  const template = {
    metadata: { annotations: spec?.template.metadata?.annotations ?? {} },
    spec: { serviceAccountName: pod?.serviceAccountName },
  };
  return { apiVersion, kind, metadata, spec: { replicas: spec?.replicas, template }, status } as unknown as KubeObject;
}

export function trimService(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, metadata };
}

export function trimPod(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, status } = object as KubeObject & { status?: unknown };
  return { apiVersion, kind, metadata: { ...metadata, managedFields: [] }, status } as KubeObject;
}
