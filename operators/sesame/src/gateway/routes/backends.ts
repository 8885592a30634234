// Backend references to clusters. One that cannot be used keeps its weight: its share of the requests is answered with 500.
import type { Certificate } from '../../model/certificate.ts';
import type { BalancingStrategy, Cluster, UpstreamProtocol } from '../../model/cluster.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { clusterViolations } from '../../routing/envoy/cluster-message.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import { externalNameProblem, findPort, protocolOf, serviceCluster } from '../../routing/upstream/upstream.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { RouteKindName } from '../api/objects.ts';
import { type BackendReference, GATEWAY_GROUP, isPermitted } from '../api/references.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { backendTls, policyFor } from './backend-tls.ts';

export interface BackendContext {
  readonly kind: RouteKindName;
  readonly namespace: string;
  readonly name: string;
  readonly lookup: GatewayLookup;
  readonly settings: RoutingSettings;
  /** The client certificate that Envoy sends to backends. */
  readonly clientCertificate: Certificate | undefined;
  readonly strategy?: BalancingStrategy | undefined;
}

/** `at` is the field that has the reference. */
export function resolveBackend(
  ref: BackendReference,
  context: BackendContext,
  at: string,
): Result<Cluster, RefProblem> {
  const { group = '', kind = 'Service', namespace = context.namespace, name } = ref;
  const { lookup, settings } = context;
  const where = `${kind} ${namespace}/${name}`;
  if (group !== '' || kind !== 'Service')
    return refuse({
      reason: 'InvalidKind',
      message: `${where} of group ${JSON.stringify(group)} is not supported; name a Service`,
    });
  const from = { group: GATEWAY_GROUP, kind: context.kind, namespace: context.namespace };
  if (!isPermitted(from, { group, kind, namespace, name }, lookup.grants))
    return refuse({
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${namespace} allows a ${context.kind} of ${context.namespace} to use it; add one there`,
    });
  const service = lookup.service(namespace, name);
  if (!service)
    return refuse({ reason: 'BackendNotFound', message: `${where} does not exist; create it or correct the name` });
  const port = ref.port === undefined ? undefined : findPort(service, ref.port);
  if (!port)
    return refuse({
      reason: 'BackendNotFound',
      message:
        ref.port === undefined
          ? `${where}: no port is given; add it`
          : `${where} has no TCP port ${ref.port}; use one that it has`,
    });
  const external = externalNameProblem(service, settings.enableExternalNameService);
  if (external !== undefined) return refuse({ reason: 'UnsupportedValue', message: external });
  const policy = policyFor(lookup.backendTlsPolicies(namespace, name), name, port.name);
  const tls = policy && backendTls(policy, lookup);
  if (policy && !tls)
    return refuse({
      reason: 'BackendNotFound',
      message: `${where}: its BackendTLSPolicy ${policy.metadata.name ?? ''} names no certificate authority that can be used; correct the policy`,
    });
  const plain: UpstreamProtocol =
    context.kind === 'GRPCRoute' && protocolOf(service, port) === '' ? 'h2c' : protocolOf(service, port);
  const protocol = tls ? (plain === 'h2c' || plain === 'h2' ? 'h2' : 'tls') : plain;
  const isTls = protocol === 'tls' || protocol === 'h2';
  const cluster = serviceCluster(
    service,
    port,
    {
      protocol,
      ...(context.strategy !== undefined && { strategy: context.strategy }),
      ...(tls && { validation: tls.validation, sni: tls.sni }),
      ...(isTls &&
        context.clientCertificate && {
          clientCertificate: context.clientCertificate.name,
          variant: context.clientCertificate.name,
        }),
      origin: { kind: context.kind, namespace: context.namespace, name: context.name, path: at },
    },
    settings,
  );
  const [refused] = clusterViolations(cluster);
  if (!refused) return accept(cluster);
  return refuse({
    reason: 'BackendNotFound',
    message: `${where}: Envoy would refuse its cluster (${refused.path} ${refused.problem}); correct the value that it comes from`,
  });
}
