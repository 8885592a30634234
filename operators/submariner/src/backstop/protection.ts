// Derives the networks of other clusters whose packets must be encrypted, also while there is no cable. The key is that of the other
// cluster. It covers more than the cables: a pair with a missing driver, different options or a changing gateway still counts as encrypted.
// Only a policy opens it.
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
  /** `unknown` while a Cluster is missing: the earlier decision stays. */
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
      // Do not close networks that a gateway announces and its cluster does not declare.
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
  // A driver that is unavailable now still shows whether the policy requires encryption.
  const wanted =
    decision?.reason === 'NotEncrypted' ? undefined : (decision?.driver ?? decide(() => undefined)?.driver);
  if (decision === undefined || wanted === undefined || isEncrypted(wanted)) return 'closed';
  // The other end does not agree to clear text. Then send none, with or without a cable.
  const published = read
    .by(endpointsByCluster, `${namespace}/${remote}`, endpointOf)
    .map(({ resolved }) => publishedFor(resolved, local))
    .filter((each) => disagreementOf(decision, { local, remote }, each)?.holds === true);
  if (published.length === 0) return 'open';
  return published.some(({ state }) => state === 'resolved') ? 'closed' : 'unknown';
}

/**
 * Returns the networks to close for each cluster. If two clusters claim a network, the one with the smaller id has it, as for cables.
 * Closing it for the other one could cut off an open pair.
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
