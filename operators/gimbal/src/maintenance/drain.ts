// The pure core of maintenance: computes the desired entries of one rule from the user's entries and the set of leaving ones. It does not
// know earlier writes; its caller passes the originals. So draining and restoring, in any order and for any number of backends, are the
// same function of the originals.
import type { Fields, RouteEntry, RouteRule } from './model.ts';
import { weightOf } from './model.ts';

export type OnNoCapacity = 'Zero' | 'Keep' | 'Reject';

/** How traffic leaves an entry. */
export interface Leaving {
  /** How much of its weight it keeps: 0 drained, 1 as before. */
  readonly keep: number;
  readonly onNoCapacity: OnNoCapacity;
  readonly promoteZero: boolean;
}

/** An entry with the fields that its user gave it. */
export interface OriginalEntry {
  readonly entry: RouteEntry;
  readonly original: Fields;
  /** undefined: traffic does not leave it. */
  readonly leaving: Leaving | undefined;
}

/** Why a rule cannot be drained, or not well. */
export type Blocked = 'NoCapacity' | 'NoWeights';

export interface DrainedRule {
  /** The desired content of each entry, in the order of the entries. */
  readonly desired: readonly Fields[];
  readonly blocked: Blocked | undefined;
  /**
   * The policy that was applied to a rule without capacity. It is Keep also if the rule cannot be refused, if not all of it should leave,
   * or if zeros would send requests to a service that its user had set to 0.
   */
  readonly policy: OnNoCapacity | undefined;
}

export function drainRule(
  rule: Pick<RouteRule, 'semantics' | 'refusal' | 'total' | 'isChosen'>,
  entries: readonly OriginalEntry[],
): DrainedRule {
  const originals = entries.map(({ original }) => original);
  const leaving = entries.flatMap((each) => each.leaving ?? []);
  if (leaving.length === 0) return { desired: originals, blocked: undefined, policy: undefined };
  if (rule.semantics === 'none') return { desired: originals, blocked: withoutWeights(entries), policy: undefined };
  if (rule.semantics === 'canary') return drainCanary(rule, entries);

  const shares = sharesOf(rule, entries);
  const isLeft = ({ entry, leaving: left }: OriginalEntry) => entry.role === 'service' && left === undefined;
  const rest = entries.filter(isLeft);
  const isLive = rest.some((each) => share(shares, each) > 0);
  const promoted = new Set(isLive ? [] : promotable(rule, rest, leaving));
  const hasLeavingService = entries.some(({ entry, leaving: left }) => entry.role === 'service' && left !== undefined);
  if (!isLive && promoted.size === 0 && hasLeavingService) return withoutCapacity(rule, entries, leaving);
  // Mirrors alone are sent nothing; as services at weight 0 they would be sent everything.
  const isMirrored = rest.length === 0 && !hasLeavingService && entries.some(({ entry }) => entry.role === 'mirror');
  if (isMirrored) return { desired: originals, blocked: undefined, policy: undefined };

  const isWhole = leaving.every(({ keep }) => keep === 0);
  const desired = isWhole ? drained(entries, shares, promoted) : scaled(entries, shares, promoted);
  return { desired, blocked: undefined, policy: undefined };
}

/** Nothing can be done here; where a canary that stays takes over, nothing need be. */
function withoutWeights(entries: readonly OriginalEntry[]): Blocked | undefined {
  const isLeft = entries.some(({ entry, leaving }) => entry.role === 'service' && leaving !== undefined);
  const hasCanary = entries.some(({ entry, leaving }) => entry.role === 'peer' && leaving === undefined);
  return isLeft && !hasCanary ? 'NoWeights' : undefined;
}

/** The canary gives up its share, or takes all; where both leave, no service is left to take over. */
function drainCanary(
  { total = 100, isChosen }: Pick<RouteRule, 'total' | 'isChosen'>,
  entries: readonly OriginalEntry[],
): DrainedRule {
  const originals = entries.map(({ original }) => original);
  const keepOf = (role: RouteEntry['role']) =>
    Math.min(1, ...entries.flatMap(({ entry, leaving }) => (entry.role === role ? (leaving?.keep ?? []) : [])));
  const [own, beside] = [keepOf('canary'), keepOf('peer')];
  const hasPeer = entries.some(({ entry }) => entry.role === 'peer');
  if (own < 1 && (beside < 1 || !hasPeer)) return { desired: originals, blocked: 'NoCapacity', policy: 'Keep' };
  const [name = ''] = Object.keys(originals[0] ?? {});
  const before = Number(originals[0]?.[name] ?? 0);
  const weight = own < 1 ? before * own : total - (total - before) * beside;
  const desired = originals.map((original, at) =>
    at === 0 ? { ...original, [name]: String(Math.round(weight)) } : original,
  );
  return { desired, blocked: own < 1 && isChosen ? 'NoWeights' : undefined, policy: undefined };
}

interface Shares {
  /** The share of each service entry by its weight. */
  readonly of: ReadonlyMap<OriginalEntry, number>;
  /** Nothing wrote a weight that counts: all have the same. */
  readonly isEven: boolean;
}

function share({ of }: Shares, entry: OriginalEntry): number {
  return of.get(entry) ?? 0;
}

/** Computes the share of each weight, as the proxy reads it. */
function sharesOf({ semantics }: Pick<RouteRule, 'semantics'>, entries: readonly OriginalEntry[]): Shares {
  const services = entries.filter(({ entry }) => entry.role === 'service');
  if (semantics === 'gateway')
    return { of: new Map(services.map((each) => [each, weightOf(each.original) ?? 1])), isEven: false };
  const isEven = services.every(({ original }) => {
    const weight = weightOf(original);
    return weight === undefined || (semantics === 'contour' && weight === 0);
  });
  return { of: new Map(services.map((each) => [each, isEven ? 1 : (weightOf(each.original) ?? 0)])), isEven };
}

/**
 * Returns the entries that may take over where no other service has a share: those without a written weight, and explicit zeros if allowed.
 */
function promotable(
  { semantics }: Pick<RouteRule, 'semantics'>,
  rest: readonly OriginalEntry[],
  leaving: readonly Leaving[],
): readonly OriginalEntry[] {
  const isImplicit = semantics === 'contour' || semantics === 'sesame';
  const standby = isImplicit ? rest.filter(({ original }) => weightOf(original) === undefined) : [];
  if (standby.length > 0) return standby;
  return leaving.some(({ promoteZero }) => promoteZero) ? rest : [];
}

/** Everything that leaves gets nothing; the rest stays as it is, but for weights that must be written to count. */
function drained(
  entries: readonly OriginalEntry[],
  shares: Shares,
  promoted: ReadonlySet<OriginalEntry>,
): readonly Fields[] {
  return entries.map((each) => {
    const { entry, original, leaving } = each;
    if (leaving !== undefined) return emptied(entry, original);
    if (promoted.has(each) || (entry.role === 'service' && shares.isEven)) return { ...original, weight: 1 };
    return original;
  });
}

function emptied({ role }: RouteEntry, original: Fields): Fields {
  if (role === 'service') return { ...original, weight: 0 };
  // Weight 0 of a mirror means all: only as a service that is no mirror does it get nothing.
  if (role === 'mirror') return { ...original, mirror: false, weight: 0 };
  if (role === 'mirrorFilter') return mirrored(original, 0);
  return original;
}

/** Small weights are multiplied, so that a fifth of them can be expressed. */
const SCALE = 100;

/** A partial drain: leaving entries keep a part, and all other shares keep their proportions. */
function scaled(
  entries: readonly OriginalEntry[],
  shares: Shares,
  promoted: ReadonlySet<OriginalEntry>,
): readonly Fields[] {
  const scale = Math.max(...shares.of.values(), 0) < SCALE ? SCALE : 1;
  const lost = entries.reduce((sum, each) => sum + share(shares, each) * scale * (1 - (each.leaving?.keep ?? 1)), 0);
  return entries.map((each) => {
    const { entry, original, leaving } = each;
    const { role } = entry;
    if (role === 'service') {
      // The entries that had no share get the share that the leaving ones lose.
      if (promoted.has(each)) return { ...original, weight: Math.max(1, Math.round(lost / promoted.size)) };
      const weight = share(shares, each) * scale;
      if (leaving !== undefined) return { ...original, weight: Math.round(weight * leaving.keep) };
      return weight === 0 ? original : { ...original, weight };
    }
    if (leaving === undefined) return original;
    if (leaving.keep === 0) return emptied(entry, original);
    if (role === 'mirror')
      return { ...original, weight: Math.max(1, Math.round((weightOf(original) || 100) * leaving.keep)) };
    return mirrored(original, leaving.keep);
  });
}

/** A filter that mirrors a part of its original share. It has a percentage or a fraction, or mirrors all. */
function mirrored(original: Fields, keep: number): Fields {
  const { percent, fraction } = original;
  if (typeof fraction === 'object' && fraction !== null) {
    const { numerator } = fraction as { numerator?: unknown };
    const counted = typeof numerator === 'number' ? numerator : 0;
    return { ...original, fraction: { ...fraction, numerator: Math.round(counted * keep) } };
  }
  return { ...original, percent: Math.round((typeof percent === 'number' ? percent : 100) * keep) };
}

/** There is nowhere else to send requests. Services that are mirrors stay: with the weights of all others at 0 they would take requests. */
function withoutCapacity(
  { refusal, semantics }: Pick<RouteRule, 'refusal' | 'semantics'>,
  entries: readonly OriginalEntry[],
  leaving: readonly Leaving[],
): DrainedRule {
  const policy = strictest(leaving);
  const originals = entries.map(({ original }) => original);
  // With all weights at 0 Contour sends an even share to each service: also to one that its user had set to 0.
  const isStandby = entries.some(({ entry, original }) => entry.role === 'service' && weightOf(original) === 0);
  const isShared = policy === 'Zero' && semantics === 'contour' && isStandby;
  const isStaying = policy === 'Keep' || (policy === 'Reject' && refusal === undefined) || isShared;
  // Part of nothing to spare is nothing: until all of it should leave, all of it stays.
  if (isStaying || leaving.some(({ keep }) => keep > 0))
    return { desired: originals, blocked: 'NoCapacity', policy: 'Keep' };
  const desired = entries.map(({ entry, original, leaving: left }) => {
    if (entry.role === 'gate') return policy === 'Reject' ? DENY_ALL : original;
    return left !== undefined && entry.role !== 'mirror' ? emptied(entry, original) : original;
  });
  return { desired, blocked: 'NoCapacity', policy };
}

/** The fields of an HTTPProxy's route that let no address through. */
export const DENY_ALL: Fields = {
  ipAllowPolicy: undefined,
  ipDenyPolicy: [
    { source: 'Peer', cidr: '0.0.0.0/0' },
    { source: 'Peer', cidr: '::/0' },
  ],
};

/** Where several backends leave one rule, the one that disturbs least decides. */
function strictest(leaving: readonly Leaving[]): OnNoCapacity {
  const policies = leaving.map(({ onNoCapacity }) => onNoCapacity);
  return (['Keep', 'Reject', 'Zero'] as const).find((policy) => policies.includes(policy)) ?? 'Zero';
}
