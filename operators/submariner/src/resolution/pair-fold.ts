// The pair matrix as the runtime keeps it: one fold over the clusters of a namespace. A changed label moves one cluster.
import { ConfigMap } from '@capstan/kube';
import { derivation, fold } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster, ORIGIN_LABEL } from '../kinds/index.ts';
import { withInlineOptions } from '../policy/inline-options.ts';
import { DEFAULT_POLICY, type Policy, readPolicy } from '../policy/read-policy.ts';
import { isOriginal } from '../sync/content.ts';
import { IN_FORCE, isSuperseded, lastDefaultOf, policyInForce } from '../sync/in-force.ts';
import { type ClusterFacts, clusterFacts } from './cluster-labels.ts';
import { createPairMatrix, type PairMatrix } from './pair-matrix.ts';
import { type Ranking, rankRules } from './ranking.ts';

export interface PolicySet {
  /** Equal for equal policies. */
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly ranking: Ranking;
}

const contentOf = ({ metadata: { name = '', annotations, labels }, spec, status }: CablePolicies) => ({
  metadata: { name, ...(annotations !== undefined && { annotations }), ...(labels !== undefined && { labels }) },
  spec,
  // Only a copy of an earlier version lacks the annotation.
  ...(status?.effective !== undefined &&
    annotations?.[IN_FORCE] === undefined && { status: { effective: status.effective } }),
  // The winner's copy is in force instead.
  isLoser: isSuperseded({ status }),
});
const dataOf = ({ data }: ConfigMap) => data ?? {};
const settingsOf = ({ metadata, spec, status }: Broker) => ({
  requiresEncryption: spec.minimumSecurity === 'encrypted',
  isCopy: metadata.labels?.[ORIGIN_LABEL] !== undefined,
  lastDefault: lastDefaultOf({ metadata, status }),
});

/** The policies that are in force in a namespace, with the options of their ConfigMaps. */
export const policySet = derivation<PolicySet>({
  name: 'cable policies',
  compute({ key: namespace, read }) {
    const objects = read.list(CablePolicies, { namespace }, contentOf).filter(({ isLoser }) => !isLoser);
    const complete = objects.map(({ metadata, spec, status }) => {
      const lookup = (name: string, given: string | undefined) =>
        read.get(ConfigMap, { namespace: given ?? namespace, name }, dataOf);
      const inlined = isOriginal(metadata) ? withInlineOptions(spec, lookup).spec : spec;
      return { metadata, spec: inlined, ...(status !== undefined && { status }) };
    });
    const brokers = read.list(Broker, { namespace }, settingsOf);
    const isMember = brokers.some(({ isCopy }) => isCopy);
    const policies = complete.map((object) => policyInForce(object, { isMember }));
    // A deleted default policy counts as it last was valid until the broker has restored it.
    const lastDefault = brokers.find((broker) => broker.lastDefault !== undefined)?.lastDefault;
    if (lastDefault !== undefined && !policies.some(({ name }) => name === DEFAULT_POLICY))
      policies.push(readPolicy({ metadata: { name: DEFAULT_POLICY }, spec: lastDefault }));
    const requiresEncryption = brokers.some((broker) => broker.requiresEncryption);
    const key = JSON.stringify([complete, requiresEncryption, isMember, lastDefault]);
    return { key, policies, ranking: rankRules(policies, requiresEncryption) };
  },
  equals: (left, right) => left.key === right.key,
});

interface Part {
  readonly facts: ClusterFacts;
  readonly policies: PolicySet;
}

const factsOf = (cluster: Cluster) => clusterFacts(cluster);

const clusterPart = derivation<Part | undefined>({
  name: 'cluster in the pair matrix',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const facts = read.get(Cluster, { namespace, name }, factsOf);
    return facts === undefined ? undefined : { facts, policies: read.derived(policySet, namespace) };
  },
  equals: (left, right) =>
    left?.policies.key === right?.policies.key && JSON.stringify(left?.facts) === JSON.stringify(right?.facts),
});

interface State {
  /** The key of the policies that the matrix was created with. */
  key: string;
  matrix: PairMatrix | undefined;
  readonly members: Map<string, ClusterFacts>;
}

export interface PairCounts {
  readonly clusters: number;
  /** Pairs by the name of the policy that decides them; `default` for the rest. */
  readonly pairs: Readonly<Record<string, number>>;
  /** Policies that contradict another of the same rank, with one pair each. */
  readonly conflicting: Readonly<Record<string, string>>;
}

/** By namespace. */
export const pairCounts = fold<Cluster, Part | undefined, State, PairCounts>({
  name: 'pairs of clusters',
  kind: Cluster,
  where: (namespace) => ({ namespace }),
  part: clusterPart,
  empty: () => ({ key: '', matrix: undefined, members: new Map() }),
  put(state, member, part) {
    take(state, member);
    if (part === undefined) return;
    const { facts, policies } = part;
    state.members.set(member, facts);
    if (state.matrix !== undefined && state.key === policies.key) {
      state.matrix.put(facts);
      return;
    }
    state.key = policies.key;
    state.matrix = createPairMatrix(policies.ranking, state.members.values());
  },
  remove: (state, member) => take(state, member),
  result({ matrix }) {
    if (matrix === undefined) return { clusters: 0, pairs: {}, conflicting: {} };
    const pairs: Record<string, number> = {};
    const counts = matrix.counts();
    for (const [index, { rule }] of matrix.ranking.rules.entries())
      pairs[rule.policy] = (pairs[rule.policy] ?? 0) + (counts[index] ?? 0);
    pairs['default'] = counts.at(-1) ?? 0;
    const conflicting: Record<string, string> = {};
    for (const pair of matrix.ambiguousPairs()) {
      const { index = -1 } = matrix.ruleOf(...pair) ?? {};
      const winner = matrix.ranking.rules[index];
      if (winner === undefined) continue;
      const tied = matrix.ranking.rules
        .slice(index, winner.tieEnd)
        .filter((each) => each === winner || each.outcome !== winner.outcome);
      // The first by name: pairs come in the order in which clusters arrived.
      const named = pair.toSorted().join(' and ');
      for (const { rule } of tied) {
        const known = conflicting[rule.policy];
        if (known === undefined || named < known) conflicting[rule.policy] = named;
      }
    }
    return { clusters: matrix.clusters, pairs, conflicting };
  },
});

function take({ members, matrix }: State, member: string): void {
  const facts = members.get(member);
  if (facts === undefined) return;
  members.delete(member);
  // Two objects may claim one id for a while.
  if (!members.values().some(({ id }) => id === facts.id)) matrix?.remove(facts.id);
}
