// From what the cluster knows to the cable that should connect this gateway with another: one derivation, by the key of the
// other end's Endpoint. Both ends compute it from the same synced objects, so both arrive at the same driver.
import { type DerivationDefinition, derivation, type Reader } from '@capstan/reconcile';
import { isIPv4Cidr, overlaps } from '../drivers/addresses.ts';
import type { Cable, LocalEnd } from '../drivers/driver.ts';
import { Broker, Cluster, Endpoint, type EndpointSpec } from '../kinds/index.ts';
import { driverNameOf } from '../policy/driver-names.ts';
import { clusterFacts } from '../resolution/cluster-labels.ts';
import { type Decision } from '../resolution/decision.ts';
import { offerOfEndpoint } from '../resolution/endpoint-offer.ts';
import { policySet } from '../resolution/pair-fold.ts';
import { decideFor } from '../resolution/resolver.ts';
import type { WantedCable } from './cable-engine.ts';

/** What an Endpoint asks of this gateway: a cable, or the reason why there is none. */
export interface EndpointPlan {
  readonly endpoint: EndpointSpec;
  readonly wanted: WantedCable | undefined;
  readonly decision: Decision | undefined;
  /** Why there is no cable, or not yet. */
  readonly problem:
    | { readonly status: 'connecting' | 'error' | 'conflict' | 'none'; readonly message: string }
    | undefined;
}

export interface LocalGateway {
  readonly clusterID: string;
  readonly namespace: string;
  readonly local: LocalEnd;
  readonly preferredServer: boolean;
}

const specOf = ({ spec }: Endpoint) => spec;
const factsOf = (cluster: Cluster) => clusterFacts(cluster);
const conflictOf = ({ spec }: Broker) => spec.onConflict;

export function createEndpointPlan(gateway: LocalGateway): DerivationDefinition<EndpointPlan | undefined> {
  const { clusterID, namespace, local } = gateway;
  return derivation<EndpointPlan | undefined>({
    name: 'cable of an endpoint',
    compute({ key, read }) {
      const [inNamespace = '', name = ''] = key.split('/');
      const endpoint = inNamespace === namespace ? read.get(Endpoint, { namespace, name }, specOf) : undefined;
      // There is no cable to oneself.
      if (endpoint === undefined || endpoint.cluster_id === clusterID) return undefined;
      const without = (status: 'connecting' | 'error' | 'conflict' | 'none', message: string, decision?: Decision) => ({
        endpoint,
        wanted: undefined,
        decision,
        problem: { status, message },
      });
      const [own, other] = [
        clusterNamed(read, namespace, clusterID),
        clusterNamed(read, namespace, endpoint.cluster_id),
      ];
      // Without its labels the default policy would be used, which may not encrypt.
      if (other === undefined) return without('connecting', `waiting for Cluster "${endpoint.cluster_id}"`);
      if (own === undefined) return without('connecting', `waiting for Cluster "${clusterID}"`);
      const overlap = endpoint.subnets
        .filter(isIPv4Cidr)
        .find((subnet) => local.subnets.some((mine) => overlaps(mine, subnet)));
      if (overlap !== undefined)
        return without(
          'error',
          `cluster "${endpoint.cluster_id}": its subnet ${overlap} overlaps one of this cluster; use networks that do not overlap`,
        );
      const offers = new Map(
        read.list(Endpoint, { namespace }, specOf).map((spec) => [spec.cluster_id, offerOfEndpoint(spec)]),
      );
      const { ranking } = read.derived(policySet, namespace);
      const onConflict = read.list(Broker, { namespace }, conflictOf)[0] ?? 'pick';
      const decision = decideFor(own, [other], { ranking, offerOf: (id) => offers.get(id), onConflict }).get(other.id);
      if (decision === undefined) return undefined;
      if (decision.driver === undefined)
        return without(decision.reason === 'Ambiguous' ? 'conflict' : 'error', decision.message, decision);
      if (decision.driver === 'none') return without('none', decision.message, decision);
      const config = offers.get(endpoint.cluster_id)?.drivers.get(decision.driver) ?? {};
      const cable = cableOf(endpoint, gateway, config, decision.options);
      return {
        endpoint,
        wanted: { driver: decision.driver, cable, policy: decision.policy },
        decision,
        problem: undefined,
      };
    },
  });
}

function clusterNamed(read: Reader, namespace: string, id: string) {
  return read.get(Cluster, { namespace, name: id }, factsOf);
}

function cableOf(
  endpoint: EndpointSpec,
  { preferredServer }: LocalGateway,
  remoteConfig: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
): Cable {
  const isThere = endpoint.backend_config?.['preferred-server'] === 'true';
  const usingNAT = endpoint.nat_enabled && endpoint.public_ip !== '';
  return {
    name: endpoint.cable_name,
    cluster: endpoint.cluster_id,
    remoteIP: usingNAT ? endpoint.public_ip : endpoint.private_ip,
    remotePrivateIP: endpoint.private_ip,
    remoteSubnets: endpoint.subnets.filter(isIPv4Cidr),
    remoteConfig,
    options,
    usingNAT,
    role: preferredServer === isThere ? 'either' : preferredServer ? 'server' : 'client',
  };
}

/** The Endpoint of this gateway, as others see it. */
export function localEndpoint(
  { clusterID, local, preferredServer }: LocalGateway,
  started: ReadonlyMap<string, Readonly<Record<string, string>>>,
  more: {
    readonly hostname: string;
    readonly publicIP: string;
    readonly natEnabled: boolean;
    readonly defaultDriver: string;
  },
): EndpointSpec {
  const { privateIP, subnets, sourceIP } = local;
  const own = driverNameOf(more.defaultDriver) ?? 'ipsec';
  return {
    cluster_id: clusterID,
    cable_name: `submariner-cable-${clusterID}-${privateIP.replaceAll('.', '-')}`,
    hostname: more.hostname,
    subnets: [...subnets],
    private_ip: privateIP,
    public_ip: more.publicIP,
    nat_enabled: more.natEnabled,
    ...(sourceIP !== undefined && { healthCheckIP: sourceIP }),
    backend: own,
    backend_config: { ...started.get(own), 'preferred-server': String(preferredServer) },
    backends: [...started].map(([name, config]) => ({ cable_driver: { name, config: { ...config } } })),
  };
}
