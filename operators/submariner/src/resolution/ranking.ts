// Orders the rules: by priority, then by specificity, then by age, then by name. Both ends order the same policies, so the order uses
// only content that the sync preserves: never creationTimestamp, which differs between copies.
import { CLUSTER_ID_LABEL } from '../kinds/index.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import { type CableRule, DEFAULT_POLICY, type Policy, ruleLabel } from '../policy/read-policy.ts';
import type { ClusterSelector } from '../policy/selector.ts';

export interface RankedRule {
  readonly rule: CableRule;
  readonly specificity: number;
  readonly createdAt: string | undefined;
  /** `policy`, or `policy[index]`. */
  readonly label: string;
  /** The effect of the rule; two rules with the same outcome never contradict each other. */
  readonly outcome: string;
  /** The index after the last rule of the same priority and specificity. */
  readonly tieEnd: number;
}

export interface Ranking {
  /** The first that matches a pair decides. */
  readonly rules: readonly RankedRule[];
  readonly fallback: CableRule | undefined;
  /** The broker asks for encryption (minimumSecurity): rules without it are not among these. */
  readonly requiresEncryption: boolean;
}

export function rankRules(given: readonly Policy[], requiresEncryption = false): Ranking {
  const policies = requiresEncryption ? given.map(encryptedPart) : given;
  const ranked = policies
    .filter(({ name }) => name !== DEFAULT_POLICY)
    .flatMap(({ rules, createdAt }) =>
      rules.map((rule) => ({
        rule,
        createdAt,
        specificity: specificityOf(rule.left) + specificityOf(rule.right),
        label: ruleLabel(rule, rules.length),
        outcome: JSON.stringify([
          rule.driver,
          Object.entries(rule.options.data).toSorted(([a], [b]) => compareText(a, b)),
        ]),
      })),
    )
    .toSorted(
      (a, b) =>
        b.rule.priority - a.rule.priority ||
        b.specificity - a.specificity ||
        compareAge(a.createdAt, b.createdAt) ||
        compareText(a.rule.policy, b.rule.policy) ||
        a.rule.index - b.rule.index,
    );
  const rules: RankedRule[] = [];
  for (const [index, each] of ranked.entries()) {
    const previous = rules[index - 1];
    const isTied = previous !== undefined && isSameRank(ranked[index - 1], each);
    const tieEnd = isTied ? previous.tieEnd : endOfTie(ranked, index);
    rules.push({ ...each, tieEnd });
  }
  return { rules, fallback: policies.find(({ name }) => name === DEFAULT_POLICY)?.rules[0], requiresEncryption };
}

function encryptedPart(policy: Policy): Policy {
  return { ...policy, rules: policy.rules.filter(({ driver }) => isEncrypted(driver)) };
}

interface Rank {
  readonly rule: CableRule;
  readonly specificity: number;
}

function endOfTie(ranked: readonly Rank[], from: number): number {
  const end = ranked.findIndex((each, index) => index > from && !isSameRank(ranked[from], each));
  return end < 0 ? ranked.length : end;
}

function isSameRank(a: Rank | undefined, b: Rank): boolean {
  return a !== undefined && a.rule.priority === b.rule.priority && a.specificity === b.specificity;
}

/** A selector counts 100, an equality 10, any other requirement 1, and the id of a cluster 1000: a pair beats every group. */
function specificityOf({ compiled: { terms } }: ClusterSelector): number {
  if (terms.length === 0) return 0;
  const named = terms.some(({ key, operator }) => key === CLUSTER_ID_LABEL && operator === 'In') ? 1000 : 0;
  return terms.reduce((sum, { operator }) => sum + (operator === 'In' ? 10 : 1), 100 + named);
}

/** Older first; without a date last. */
function compareAge(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return compareText(a, b);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
