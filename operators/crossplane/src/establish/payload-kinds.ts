// The kinds of objects that packages bring.
import {
  CustomResourceDefinition,
  externalKind,
  type Kind,
  type KubeObject,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { index, type KindIndex } from '@capstan/reconcile';
import type { PackageKind } from '../packages/package-kind.ts';

const extension = (kind: string, plural: string, version = 'v1'): Kind =>
  externalKind({ group: 'apiextensions.crossplane.io', version, kind, plural, scope: 'Cluster' });
const operation = (kind: string, plural: string): Kind =>
  externalKind({ group: 'ops.crossplane.io', version: 'v1alpha1', kind, plural, scope: 'Cluster' });

export const CompositeResourceDefinition = extension('CompositeResourceDefinition', 'compositeresourcedefinitions');
export const Composition = extension('Composition', 'compositions');
const ManagedResourceDefinition = extension('ManagedResourceDefinition', 'managedresourcedefinitions', 'v1alpha1');

const PROVIDER_KINDS: readonly Kind[] = [
  CustomResourceDefinition,
  ValidatingWebhookConfiguration,
  MutatingWebhookConfiguration,
  ManagedResourceDefinition,
];
const CONFIGURATION_KINDS: readonly Kind[] = [
  CompositeResourceDefinition,
  Composition,
  extension('ManagedResourceActivationPolicy', 'managedresourceactivationpolicies', 'v1alpha1'),
  operation('Operation', 'operations'),
  operation('CronOperation', 'cronoperations'),
  operation('WatchOperation', 'watchoperations'),
];

const ownerUids = ({ metadata }: KubeObject) => (metadata.ownerReferences ?? []).map(({ uid }) => uid);

/** The objects of a package, by its uid: also those that a revision brought which no longer exists. */
export const payloadByOwner: ReadonlyMap<Kind, KindIndex> = new Map(
  [...PROVIDER_KINDS, ...CONFIGURATION_KINDS].map((kind) => [kind, index(kind, 'crossplane package', ownerUids)]),
);

/** Returns the kinds that a package of this kind may bring. A Function's types describe its input and are not installed. */
export function payloadKinds({ kind }: PackageKind): readonly Kind[] {
  if (kind === 'Provider') return PROVIDER_KINDS;
  return kind === 'Configuration' ? CONFIGURATION_KINDS : [];
}

/** Kinds of Kubernetes' own are always there; those of Crossplane's other parts may not be. */
export function isOptionalKind({ group }: Kind): boolean {
  return group.endsWith('crossplane.io');
}

/** The kind of an object, in the version in which it was written. */
export function kindOfObject(kinds: readonly Kind[], { apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>) {
  const [group = '', version = ''] = apiVersion.split('/');
  const known = kinds.find((one) => one.kind === kind && one.group === group);
  return known === undefined || known.version === version ? known : { ...known, version, apiVersion };
}

export function isWebhookConfiguration({ kind }: Pick<Kind, 'kind'>): boolean {
  return kind.endsWith('WebhookConfiguration');
}

/** Caches keep the fields that show the owner of an object, and whether a type is served. */
export const PAYLOAD_FIELDS = ['status.conditions'];
