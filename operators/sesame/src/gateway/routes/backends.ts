// Backend references to clusters. One that cannot be used keeps its weight: its share of the requests is answered with 500.
import { type Envoy, hasFields } from '../../envoy/index.ts';
import type { ClusterAction, ServiceOptions } from '../../routing/route-entry.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import {
  externalNameProblem,
  findPort,
  protocolOf,
  type UpstreamProtocol,
  upstreamResource,
} from '../../routing/upstream/upstream.ts';
import type { Resource } from '../../xds/index.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { RouteKindName } from '../api/objects.ts';
import { type BackendReference, GATEWAY_GROUP, isPermitted } from '../api/references.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { backendTls, policyFor } from './backend-tls.ts';

/** No cluster has this name, so Envoy answers with what the route says for it. */
export const NO_BACKEND = 'no-backend';

export interface BackendContext {
  readonly kind: RouteKindName;
  readonly namespace: string;
  readonly name: string;
  readonly lookup: GatewayLookup;
  readonly settings: RoutingSettings;
  /** What Envoy shows to backends. */
  readonly clientCertificate: Resource | undefined;
  readonly lbPolicy?: Envoy.ClusterLbPolicy | undefined;
}

export function resolveBackend(ref: BackendReference, context: BackendContext): Resource | RefProblem {
  const { group = '', kind = 'Service', namespace = context.namespace, name } = ref;
  const { lookup, settings } = context;
  const where = `${kind} ${namespace}/${name}`;
  if (group !== '' || kind !== 'Service')
    return {
      reason: 'InvalidKind',
      message: `${where} of group ${JSON.stringify(group)} is not supported; name a Service`,
    };
  const from = { group: GATEWAY_GROUP, kind: context.kind, namespace: context.namespace };
  if (!isPermitted(from, { group, kind, namespace, name }, lookup.grants))
    return {
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${namespace} allows a ${context.kind} of ${context.namespace} to use it; add one there`,
    };
  const service = lookup.service(namespace, name);
  if (!service) return { reason: 'BackendNotFound', message: `${where} does not exist; create it or correct the name` };
  const port = ref.port === undefined ? undefined : findPort(service, ref.port);
  if (!port)
    return {
      reason: 'BackendNotFound',
      message:
        ref.port === undefined
          ? `${where}: no port is given; add it`
          : `${where} has no TCP port ${ref.port}; use one that it has`,
    };
  const external = externalNameProblem(service, settings.enableExternalNameService);
  if (external !== undefined) return { reason: 'UnsupportedValue', message: external };
  const policy = policyFor(lookup.backendTlsPolicies(namespace, name), name, port.name);
  const tls = policy && backendTls(policy, lookup);
  if (policy && !tls)
    return {
      reason: 'BackendNotFound',
      message: `${where}: its BackendTLSPolicy ${policy.metadata.name ?? ''} names no certificate authority that can be used; correct the policy`,
    };
  const plain: UpstreamProtocol =
    context.kind === 'GRPCRoute' && protocolOf(service, port) === '' ? 'h2c' : protocolOf(service, port);
  const protocol = tls ? (plain === 'h2c' || plain === 'h2' ? 'h2' : 'tls') : plain;
  const isTls = protocol === 'tls' || protocol === 'h2';
  const cluster = upstreamResource(
    service,
    port,
    {
      protocol,
      ...(context.lbPolicy !== undefined && { lbPolicy: context.lbPolicy }),
      ...(tls && { validation: tls.validation, sni: tls.sni }),
      ...(isTls &&
        context.clientCertificate && {
          clientCertificate: context.clientCertificate.name,
          variant: context.clientCertificate.name,
        }),
      origins: [`${context.kind} ${context.namespace}/${context.name}`],
    },
    settings,
  );
  const [refused] = cluster.violations();
  if (!refused) return cluster;
  return {
    reason: 'BackendNotFound',
    message: `${where}: Envoy would refuse its cluster (${refused.path} ${refused.problem}); correct the value that it comes from`,
  };
}

export interface WeightedBackend {
  readonly name: string;
  readonly weight: number;
  readonly more: ServiceOptions;
}

/** Where requests go; undefined when nothing has a weight. */
export function weightedTarget(backends: readonly WeightedBackend[]): ClusterAction | undefined {
  const used = backends.filter(({ weight }) => weight > 0);
  const [only] = used;
  if (!only) return undefined;
  const common: Pick<ClusterAction, 'cluster_not_found_response_code'> = {
    cluster_not_found_response_code: 'INTERNAL_SERVER_ERROR',
  };
  if (used.length === 1 && !hasFields(only.more)) return { cluster: only.name, ...common };
  const clusters = used.map(({ name, weight, more }) => ({ name, weight, ...more }));
  return { weighted_clusters: { clusters }, ...common };
}
