// The networks of other clusters whose packets must be encrypted, also while there is no cable: a derivation by the key of the
// other cluster. It is wider than the cables themselves: a pair whose driver is missing, whose options differ or whose gateway
// just changes is still one that encrypts. Only a policy opens it.
import { type DerivationDefinition, derivation, type Reader } from '@capstan/reconcile';
import { canonicalCidr, contains, isCidr, overlaps, rangeOf } from '../drivers/addresses.ts';
import type { LocalEnd } from '../drivers/driver.ts';
import { Broker, Cluster, Endpoint } from '../kinds/index.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import { disagreementOf } from '../resolution/agreement.ts';
import { clusterFacts } from '../resolution/cluster-labels.ts';
import type { Offer } from '../resolution/decision.ts';
import { endpointsByCluster, offerOfEndpoint } from '../resolution/endpoint-offer.ts';
import { policySet } from '../resolution/pair-fold.ts';
import { decideFor } from '../resolution/resolver.ts';
import { publishedFor, RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';

/** The gateway whose node is protected. */
export interface ProtectedGateway {
  readonly clusterID: string;
  readonly namespace: string;
  readonly local: LocalEnd;
}

export interface Protection {
  readonly cluster: string;
  /** `unknown` while a Cluster is missing: what was decided before stays. */
  readonly state: 'closed' | 'open' | 'unknown';
  readonly networks: readonly string[];
}

const endpointOf = ({ metadata, spec }: Endpoint) => ({
  spec,
  resolved: metadata.annotations?.[RESOLVED_ANNOTATION],
});
const factsOf = (cluster: Cluster) => clusterFacts(cluster);
const networksOf = ({ spec }: Cluster) => [...spec.service_cidr, ...spec.cluster_cidr];
const conflictOf = ({ spec }: Broker) => spec.onConflict;
const clusterOf = ({ spec }: Endpoint) => spec.cluster_id;

/** The key of the cluster that an Endpoint belongs to, by the key of the Endpoint. */
export const clusterOfEndpoint = derivation<readonly string[]>({
  name: 'cluster of an endpoint',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const cluster = read.get(Endpoint, { namespace, name }, clusterOf);
    return cluster === undefined ? [] : [`${namespace}/${cluster}`];
  },
});

export function createProtection({
  clusterID,
  namespace,
  local,
}: ProtectedGateway): DerivationDefinition<Protection | undefined> {
  const isForeign = (network: string) =>
    isCidr(network) &&
    !contains(network, local.privateIP) &&
    !local.subnets.some((own) => isCidr(own) && overlaps(own, network));
  return derivation<Protection | undefined>({
    name: 'protection of a cluster',
    compute({ key, read }) {
      const [inNamespace = '', cluster = ''] = key.split('/');
      if (inNamespace !== namespace || cluster === clusterID) return undefined;
      const endpoints = read.by(endpointsByCluster, key, endpointOf);
      const declared = read.get(Cluster, { namespace, name: cluster }, networksOf);
      if (declared === undefined && endpoints.length === 0) return undefined;
      const named = (declared ?? []).filter(isCidr);
      // A gateway that announces networks which its cluster does not declare closes none of them.
      const announced = endpoints
        .flatMap(({ spec }) => spec.subnets.filter(isCidr))
        .filter((subnet) => named.length === 0 || named.some((each) => overlaps(each, subnet)));
      const networks = [...new Set([...named, ...announced].map(canonicalCidr))].filter(isForeign).toSorted();
      return { cluster, networks, state: stateOf(read, namespace, clusterID, cluster) };
    },
  });
}

function stateOf(read: Reader, namespace: string, local: string, remote: string): Protection['state'] {
  const [own, other] = [local, remote].map((name) => read.get(Cluster, { namespace, name }, factsOf));
  if (own === undefined || other === undefined) return 'unknown';
  const offers = new Map<string, Offer>();
  for (const id of [local, remote])
    for (const { spec } of read.by(endpointsByCluster, `${namespace}/${id}`, endpointOf))
      offers.set(id, offerOfEndpoint(spec));
  const { ranking } = read.derived(policySet, namespace);
  const onConflict = read.list(Broker, { namespace }, conflictOf)[0] ?? 'pick';
  const decide = (offerOf: (id: string) => Offer | undefined) =>
    decideFor(own, [other], { ranking, offerOf, onConflict }).get(remote);
  const decision = decide((id) => offers.get(id));
  // A driver that cannot be used now still says whether the policy asks for encryption.
  const wanted =
    decision?.reason === 'NotEncrypted' ? undefined : (decision?.driver ?? decide(() => undefined)?.driver);
  if (decision === undefined || wanted === undefined || isEncrypted(wanted)) return 'closed';
  // The other end does not agree to packets in clear: then none are sent, with a cable or without.
  const published = read
    .by(endpointsByCluster, `${namespace}/${remote}`, endpointOf)
    .map(({ resolved }) => publishedFor(resolved, local))
    .filter((each) => disagreementOf(decision, { local, remote }, each)?.holds === true);
  if (published.length === 0) return 'open';
  return published.some(({ state }) => state === 'resolved') ? 'closed' : 'unknown';
}

/**
 * The networks to close for each cluster. Where two clusters claim a network, it is the one's with the smaller id, as for cables:
 * closing it for the other would cut off a pair that may be open.
 */
export function closedNetworks(protections: readonly Protection[]): Map<string, readonly string[]> {
  const claims = protections
    .flatMap(({ cluster, networks }) => networks.map((network) => ({ cluster, network, ...rangeOf(network) })))
    .toSorted((a, b) => a.family - b.family || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const refused = new Set<string>();
  for (const [index, claim] of claims.entries())
    for (let next = index + 1; next < claims.length; next++) {
      const other = claims[next];
      if (other === undefined || other.family !== claim.family || other.first > claim.last) break;
      if (other.cluster === claim.cluster) continue;
      const loser = other.cluster < claim.cluster ? claim : other;
      refused.add(`${loser.cluster} ${loser.network}`);
    }
  return new Map(
    protections.flatMap(({ cluster, state, networks }) =>
      state === 'closed'
        ? [[cluster, networks.filter((network) => !refused.has(`${cluster} ${network}`))] as const]
        : [],
    ),
  );
}
