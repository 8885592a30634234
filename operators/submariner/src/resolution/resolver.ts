// Decisions for pairs of clusters, from policies, clusters and offers, kept as they change.
import type { Policy } from '../policy/read-policy.ts';
import type { ClusterFacts } from './cluster-labels.ts';
import { type DecideOptions, type Decision, decide, type Pair } from './decision.ts';
import { matchSet, nextMatch } from './match-set.ts';
import { type RankedRule, type Ranking, rankRules } from './ranking.ts';

export interface Explanation extends Decision {
  /** All rules that match, the deciding one first. */
  readonly candidates: readonly {
    readonly policy: string;
    readonly driver: string;
    readonly priority: number;
    readonly specificity: number;
    readonly createdAt: string | undefined;
    readonly left: string;
    readonly right: string;
  }[];
}

/** Everything about one pair, for people. */
export function explainPair(
  one: ClusterFacts,
  other: ClusterFacts,
  policies: readonly Policy[],
  options: Omit<DecideOptions, 'ranking'> & { readonly requiresEncryption?: boolean },
): Explanation {
  const ranking = rankRules(policies, options.requiresEncryption);
  const pair = pairOf(one, other, ranking);
  return {
    ...decide(pair, { ...options, ranking }),
    candidates: pair.candidates.map(({ rule, label, specificity, createdAt }) => ({
      policy: label,
      driver: rule.driver,
      priority: rule.priority,
      specificity,
      createdAt,
      left: rule.left.compiled.canonical || '*',
      right: rule.right.compiled.canonical || '*',
    })),
  };
}

/** The decisions of one cluster's own pairs: all that its gateway needs. */
export function decideFor(
  local: ClusterFacts,
  remotes: Iterable<ClusterFacts>,
  { ranking, ...options }: DecideOptions,
): Map<string, Decision> {
  const decisions = new Map<string, Decision>();
  for (const remote of remotes) {
    if (remote.id === local.id) continue;
    decisions.set(remote.id, decide(pairOf(local, remote, ranking), { ...options, ranking }));
  }
  return decisions;
}

function pairOf(one: ClusterFacts, other: ClusterFacts, ranking: Ranking): Pair {
  const [a, b] = [matchSet(one.labels, ranking), matchSet(other.labels, ranking)];
  const candidates: RankedRule[] = [];
  for (let index = nextMatch(a, b); index >= 0; index = nextMatch(a, b, index + 1)) {
    const rule = ranking.rules[index];
    if (rule !== undefined) candidates.push(rule);
  }
  const [winner] = candidates;
  const ambiguous = candidates.some((each) => each.tieEnd === winner?.tieEnd && each.outcome !== winner.outcome);
  return { left: one.id, right: other.id, candidates, ambiguous };
}
