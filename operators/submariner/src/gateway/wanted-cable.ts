// Derives the cable that should connect this gateway with another from the objects of the cluster, by the key of the other end's
// Endpoint. Both ends compute it from the same synced objects, so both arrive at the same driver.
import { type DerivationDefinition, derivation, type Reader, type SourceDefinition } from '@capstan/reconcile';
import { canonicalCidr, isCidr, overlaps } from '../drivers/addresses.ts';
import type { Cable, LocalEnd } from '../drivers/driver.ts';
import { Broker, Cluster, Endpoint, type EndpointSpec } from '../kinds/index.ts';
import { findLostClaims } from '../networks/overlaps.ts';
import { type DriverName, driverNameOf, isEncrypted } from '../policy/driver-names.ts';
import { ownOptionsOf, sharedOptionsOf } from '../policy/driver-options.ts';
import { disagreementOf, outcomeOf } from '../resolution/agreement.ts';
import { clusterFacts } from '../resolution/cluster-labels.ts';
import type { Decision, Offer } from '../resolution/decision.ts';
import { endpointsByCluster, offerOfEndpoint } from '../resolution/endpoint-offer.ts';
import { policySet } from '../resolution/pair-fold.ts';
import { decideFor } from '../resolution/resolver.ts';
import { formatOutcomes, publishedFor, RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import type { WantedCable } from './cable-engine.ts';
import { CELL } from './cell.ts';

/** The plan of this gateway for an Endpoint: a cable, or the reason why there is none. */
export interface EndpointPlan {
  readonly endpoint: EndpointSpec;
  readonly wanted: WantedCable | undefined;
  readonly decision: Decision | undefined;
  /** Why there is no cable, or not yet. */
  readonly problem:
    | {
        readonly status: 'connecting' | 'error' | 'conflict' | 'none';
        readonly message: string;
        /** The cable that is up goes on carrying traffic until the problem is solved; `encrypted` if it encrypts. */
        readonly keepsCable?: true | 'encrypted';
      }
    | undefined;
  /** The two results, if the two ends resolved differently and the cable is wanted all the same. */
  readonly disagreement?: string;
}

export interface LocalGateway {
  readonly clusterID: string;
  readonly namespace: string;
  readonly local: LocalEnd;
  readonly preferredServer: boolean;
  /** The options of its drivers, as they are now. */
  readonly options: SourceDefinition<Readonly<Record<string, string>>>;
}

export function cableNameOf({ clusterID, local }: Pick<LocalGateway, 'clusterID' | 'local'>): string {
  return `submariner-cable-${clusterID}-${local.privateIP.replaceAll('.', '-')}`;
}

const specOf = ({ spec }: Endpoint) => spec;
const factsOf = (cluster: Cluster) => clusterFacts(cluster);
const networksOf = ({ spec }: Cluster) => [...spec.service_cidr, ...spec.cluster_cidr, ...spec.global_cidr];
const conflictOf = ({ spec }: Broker) => spec.onConflict;

export function createEndpointPlan(gateway: LocalGateway): DerivationDefinition<EndpointPlan | undefined> {
  const { clusterID, namespace } = gateway;
  const publishedHere = ({ metadata }: Endpoint) =>
    publishedFor(metadata.annotations?.[RESOLVED_ANNOTATION], clusterID);
  const lostClaimOf = createLostClaims(gateway);
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
      const refused =
        [endpoint.cluster_id, clusterID].map((id) => read.derived(lostClaimOf, id)).find((message) => message !== '') ??
        undeclaredSubnet(read, namespace, endpoint);
      if (refused !== undefined) return without('error', refused);
      const offers = new Map(
        [clusterID, endpoint.cluster_id].flatMap((id) =>
          read.by(endpointsByCluster, `${namespace}/${id}`, specOf).map((spec) => [id, offerOfEndpoint(spec)] as const),
        ),
      );
      const { ranking } = read.derived(policySet, namespace);
      const onConflict = read.list(Broker, { namespace }, conflictOf)[0] ?? 'pick';
      const decide = (offerOf: (id: string) => Offer | undefined) =>
        decideFor(own, [other], { ranking, offerOf, onConflict }).get(other.id);
      const decision = decide((id) => offers.get(id));
      if (decision === undefined) return undefined;
      if (decision.reason === 'OptionsDiffer') {
        // Both ends still have the cable that they agreed on before, unless the policy asks for encryption since then.
        const asked = decide(() => undefined)?.driver;
        const keepsCable = asked === undefined || isEncrypted(asked) ? ('encrypted' as const) : (true as const);
        return {
          ...without('error', decision.message, decision),
          problem: { status: 'error' as const, message: decision.message, keepsCable },
        };
      }
      if (decision.driver === undefined)
        return without(decision.reason === 'Ambiguous' ? 'conflict' : 'error', decision.message, decision);
      if (decision.driver === 'none') return without('none', decision.message, decision);
      const published = read.get(Endpoint, { namespace, name }, publishedHere) ?? { state: 'unpublished' as const };
      const ends = { local: clusterID, remote: endpoint.cluster_id };
      const disagreement = disagreementOf(decision, ends, published);
      if (disagreement?.holds === true) {
        const status = published.state === 'resolved' ? 'error' : 'connecting';
        return {
          ...without(status, disagreement.message, decision),
          problem: { status, message: disagreement.message, keepsCable: disagreement.isRefused ? 'encrypted' : true },
        };
      }
      const config = offers.get(endpoint.cluster_id)?.drivers.get(decision.driver) ?? {};
      const options = { ...localOptions(read, gateway, decision.driver), ...decision.options };
      const cable = cableOf(endpoint, gateway, config, options);
      return {
        endpoint,
        wanted: { driver: decision.driver, cable, policy: decision.policy },
        decision,
        problem: undefined,
        ...(disagreement !== undefined && { disagreement: disagreement.message }),
      };
    },
  });
}

/** Derives the outcomes that this gateway resolved for the other clusters, as its Endpoint publishes them. */
export function createOutcomes(
  { clusterID, namespace }: LocalGateway,
  endpointPlan: DerivationDefinition<EndpointPlan | undefined>,
): DerivationDefinition<string> {
  return derivation<string>({
    name: 'resolved cables',
    compute({ read }) {
      const outcomes = new Map<string, string>();
      for (const { name, cluster } of read.list(Endpoint, { namespace }, ownerOf)) {
        if (cluster === clusterID) continue;
        const decision = read.derived(endpointPlan, `${namespace}/${name}`)?.decision;
        if (decision !== undefined) outcomes.set(cluster, outcomeOf(decision));
      }
      return formatOutcomes(outcomes);
    },
  });
}

const ownerOf = ({ metadata: { name = '' }, spec }: Endpoint) => ({ name, cluster: spec.cluster_id });

function clusterNamed(read: Reader, namespace: string, id: string) {
  return read.get(Cluster, { namespace, name: id }, factsOf);
}

/** Options that only this end needs; those that both share are decided for both. */
function localOptions(read: Reader, { options }: LocalGateway, driver: DriverName): Record<string, string> {
  const own = ownOptionsOf(driver, read.source(options).get(CELL) ?? {});
  for (const name of sharedOptionsOf(driver)) delete own[name];
  return own;
}

/**
 * By the id of a cluster: why it gets no packets, or an empty text. All members refuse the same networks, so both ends of a pair
 * report the same.
 */
function createLostClaims({ clusterID, namespace, local }: LocalGateway): DerivationDefinition<string> {
  const all = derivation<Readonly<Record<string, string>>>({
    name: 'networks that several clusters claim',
    compute({ read }) {
      const others = read.list(Endpoint, { namespace }, claimOf).filter(({ id }) => id !== clusterID);
      return Object.fromEntries(findLostClaims([{ id: clusterID, subnets: local.subnets }, ...others]));
    },
  });
  // A pair is looked at again only when the answer for one of its clusters changes.
  return derivation<string>({
    name: 'networks of another cluster',
    compute: ({ key, read }) => read.derived(all, '')[key] ?? '',
  });
}

const claimOf = ({ spec }: Endpoint) => ({ id: spec.cluster_id, subnets: spec.subnets });

/** A gateway may announce networks of its own cluster only. A Cluster that declares none leaves it open. */
function undeclaredSubnet(
  read: Reader,
  namespace: string,
  { cluster_id: id, subnets }: EndpointSpec,
): string | undefined {
  const declared = (read.get(Cluster, { namespace, name: id }, networksOf) ?? []).filter(isCidr);
  const foreign = subnets.find((subnet) => isCidr(subnet) && !declared.some((each) => overlaps(each, subnet)));
  return declared.length === 0 || foreign === undefined
    ? undefined
    : `cluster "${id}": its Endpoint has the subnet ${foreign}, which its Cluster does not declare; correct clusterCIDR or serviceCIDR there`;
}

function cableOf(
  endpoint: EndpointSpec,
  { clusterID, local, preferredServer }: LocalGateway,
  remoteConfig: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
): Cable {
  const { 'preferred-server': preferred, 'natt-discovery-port': discoveryPort } = endpoint.backend_config ?? {};
  const usingNAT = endpoint.nat_enabled && endpoint.public_ip !== '';
  const isLater = cableNameOf({ clusterID, local }) > endpoint.cable_name;
  return {
    name: endpoint.cable_name,
    cluster: endpoint.cluster_id,
    remoteIP: usingNAT ? endpoint.public_ip : endpoint.private_ip,
    remotePrivateIP: endpoint.private_ip,
    ...(endpoint.public_ip !== '' && { remotePublicIP: endpoint.public_ip }),
    ...(Number(discoveryPort) > 0 && { remoteDiscoveryPort: Number(discoveryPort) }),
    remoteSubnets: endpoint.subnets.filter(isCidr).map(canonicalCidr),
    remoteConfig,
    options,
    usingNAT,
    role: roleOf(preferredServer, preferred === 'true', isLater),
  };
}

/** Who opens the connection; of two preferred servers the one with the greater cable name waits. */
export function roleOf(isPreferred: boolean, isOtherPreferred: boolean, isLater: boolean): Cable['role'] {
  if (!isPreferred && !isOtherPreferred) return 'either';
  const isServer = isPreferred && (!isOtherPreferred || isLater);
  return isServer ? 'server' : 'client';
}

/** The Endpoint of this gateway, as others see it. */
export function localEndpoint(
  { clusterID, local, preferredServer }: Pick<LocalGateway, 'clusterID' | 'local' | 'preferredServer'>,
  started: ReadonlyMap<string, Readonly<Record<string, string>>>,
  more: {
    readonly hostname: string;
    readonly publicIP: string;
    readonly natEnabled: boolean;
    readonly defaultDriver: string;
    readonly discoveryPort: number;
  },
): EndpointSpec {
  const { privateIP, subnets, sourceIP, sourceIP6 } = local;
  const healthCheckIPs = [sourceIP, sourceIP6].filter((each) => each !== undefined);
  const own = driverNameOf(more.defaultDriver) ?? 'ipsec';
  return {
    cluster_id: clusterID,
    cable_name: cableNameOf({ clusterID, local }),
    hostname: more.hostname,
    subnets: [...subnets],
    private_ip: privateIP,
    public_ip: more.publicIP,
    nat_enabled: more.natEnabled,
    private_ips: [privateIP],
    ...(more.publicIP !== '' && { public_ips: [more.publicIP] }),
    ...(sourceIP !== undefined && { healthCheckIP: sourceIP }),
    ...(healthCheckIPs.length > 0 && { healthCheckIPs }),
    backend: own,
    backend_config: {
      ...started.get(own),
      'preferred-server': String(preferredServer),
      ...(more.discoveryPort > 0 && { 'natt-discovery-port': String(more.discoveryPort) }),
    },
    drivers: [...started.keys()].join(','),
    backends: [...started].map(([name, config]) => ({ cable_driver: { name, config: { ...config } } })),
  };
}
