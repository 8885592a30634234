// The kinds of the Gateway API as tracked reads. A kind that the cluster does not serve has no objects.
import { ConfigMap, type Kind, type KubeObject, Namespace, Secret } from '@capstan/kube';
import { index, type KindIndex, type ReadDeclaration, type Reader, reading } from '@capstan/reconcile';
import { readLookup, SERVICE_READ, type ServedClasses } from '../../routing/lookup.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import {
  type AnyRoute,
  type BackendTLSPolicy,
  type GatewayClass,
  type GatewayKinds,
  type ReferenceGrant,
  ROUTE_KINDS,
  type RouteKindName,
} from '../api/objects.ts';
import { isGatewayParent, parentKey } from '../api/references.ts';
import { byPrecedence } from './backend-tls.ts';

export interface GatewayReads {
  readonly kinds: GatewayKinds;
  /** Every kind that Gateways and their routes are computed from. */
  readonly declarations: readonly ReadDeclaration[];
  /** Routes by the Gateways that they name. */
  readonly routesByGateway: Readonly<Record<RouteKindName, KindIndex>>;
  /** Routes by the Services that they name. */
  readonly routesByService: Readonly<Record<RouteKindName, KindIndex>>;
  lookup(read: Reader): GatewayLookup;
  /** Whether the cluster serves the kind. */
  isServed(read: Reader, kind: Kind): boolean;
}

export function gatewayReads(kinds: GatewayKinds, classes: (read: Reader) => ServedClasses = () => ({})): GatewayReads {
  const grantsByNamespace = index(kinds.ReferenceGrant, 'grants-of-namespace', ({ metadata }) => [
    metadata.namespace ?? '',
  ]);
  const policiesByService = index(kinds.BackendTLSPolicy, 'policies-of-service', ({ metadata, spec }) =>
    spec.targetRefs
      .filter(({ group, kind }) => group === '' && kind === 'Service')
      .map(({ name }) => `${metadata.namespace ?? ''}/${name}`),
  );
  const isServed = (read: Reader, kind: Kind) => read.access(kind) === 'served';
  const each = (make: (kind: Kind<AnyRoute>) => KindIndex) =>
    Object.fromEntries(ROUTE_KINDS.map((name) => [name, make(kinds[name] as Kind<AnyRoute>)])) as Record<
      RouteKindName,
      KindIndex
    >;
  return {
    kinds,
    declarations: [
      ...Object.values(kinds).map((kind: Kind) => reading(kind, 'everywhere', { optional: true })),
      reading(Namespace, 'everywhere', { fields: ['metadata.name'] }),
      SERVICE_READ,
      reading(Secret, 'referenced'),
      reading(ConfigMap, 'referenced'),
    ],
    routesByGateway: each((kind) => index(kind, 'gateways', gatewaysOf)),
    routesByService: each((kind) => index(kind, 'services', servicesOf)),
    isServed,
    lookup: (read) => {
      const { service, secret } = readLookup(read, classes(read));
      return {
        service,
        secret,
        gatewayClass: (name) =>
          isServed(read, kinds.GatewayClass) ? read.get(kinds.GatewayClass, { name }, classSpec) : undefined,
        namespaceLabels: (name) => read.get(Namespace, { name }, labelsOf),
        grants: (namespace) =>
          isServed(read, kinds.ReferenceGrant) ? read.by(grantsByNamespace, namespace, grantSpec) : [],
        configMap: (namespace, name) => read.get(ConfigMap, { namespace, name }, dataOf),
        backendTlsPolicies: (namespace, name) =>
          isServed(read, kinds.BackendTLSPolicy)
            ? read.by(policiesByService, `${namespace}/${name}`, policyView).toSorted(byPrecedence)
            : [],
      };
    },
  };
}

export function gatewaysOf({ metadata, spec }: AnyRoute): string[] {
  const parents = (spec.parentRefs ?? []).filter(isGatewayParent);
  return [...new Set(parents.map((parent) => parentKey(parent, metadata.namespace ?? '')))];
}

interface RuleRefs {
  readonly backendRefs?:
    | readonly { readonly kind?: string | undefined; readonly namespace?: string | undefined; readonly name: string }[]
    | undefined;
}

function servicesOf({ metadata, spec }: AnyRoute): string[] {
  const rules = (spec.rules ?? []) as readonly RuleRefs[];
  const refs = rules.flatMap(({ backendRefs = [] }) =>
    backendRefs.filter(({ kind = 'Service' }) => kind === 'Service'),
  );
  return [...new Set(refs.map(({ namespace = metadata.namespace ?? '', name }) => `${namespace}/${name}`))];
}

const classSpec = ({ spec }: GatewayClass) => spec;
const labelsOf = ({ metadata }: KubeObject) => metadata.labels ?? {};
const grantSpec = ({ spec }: ReferenceGrant) => spec;
const dataOf = ({ data }: ConfigMap) => data ?? {};

function policyView({ metadata, spec }: BackendTLSPolicy): BackendTLSPolicy {
  const { name, namespace, creationTimestamp } = metadata;
  return { metadata: { name, namespace, creationTimestamp }, spec } as BackendTLSPolicy;
}
