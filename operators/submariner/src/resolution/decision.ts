// Decides which driver connects two clusters, with the reason. Both ends decide the same: the decision is computed from content that the
// sync preserves, with the two clusters in the order of their ids.
import { BUILT_IN_DRIVER, type DriverName, isEncrypted } from '../policy/driver-names.ts';
import { sharedOptionsOf } from '../policy/driver-options.ts';
import type { CableRule } from '../policy/read-policy.ts';
import { DEFAULT_POLICY } from '../policy/read-policy.ts';
import type { RankedRule, Ranking } from './ranking.ts';

/** The drivers that one end offers in its Endpoint. */
export interface Offer {
  /** The driver of an Endpoint without a list of drivers. */
  readonly backend: DriverName | undefined;
  /** The configuration that each available driver published. */
  readonly drivers: ReadonlyMap<DriverName, Readonly<Record<string, string>>>;
}

export type DecisionReason =
  | 'Policy'
  | 'DefaultPolicy'
  | 'Fallback'
  | 'Ambiguous'
  | 'DriverNotAvailable'
  | 'NotEncrypted'
  | 'OptionsDiffer';

export interface Decision {
  /** In the order of their ids. */
  readonly left: string;
  readonly right: string;
  /** The driver that connects them; undefined when they must not be connected, which the reason explains. */
  readonly driver: DriverName | undefined;
  readonly options: Readonly<Record<string, string>>;
  /** `policy`, `policy[rule]`, or `(fallback)`. */
  readonly policy: string;
  readonly rule: number;
  readonly reason: DecisionReason;
  readonly ambiguous: boolean;
  readonly message: string;
}

export interface Pair {
  readonly left: string;
  readonly right: string;
  /** The rules that match, in their order; empty means that the default policy decides. */
  readonly candidates: readonly RankedRule[];
  readonly ambiguous: boolean;
}

export interface DecideOptions {
  readonly ranking: Ranking;
  /** Undefined while the Endpoint is not known: availability is then not looked at. */
  offerOf(cluster: string): Offer | undefined;
  readonly onConflict?: 'pick' | 'refuse';
}

/** Decides one pair from the rules that match it. */
export function decide(pair: Pair, { ranking, offerOf, onConflict = 'pick' }: DecideOptions): Decision {
  const [left, right] = pair.left < pair.right ? [pair.left, pair.right] : [pair.right, pair.left];
  const offers = [offerOf(left), offerOf(right)] as const;
  const [winner] = pair.candidates;
  const base = { left, right, options: {}, ambiguous: pair.ambiguous };
  if (winner === undefined) {
    const rule = ranking.fallback;
    if (rule !== undefined) {
      const message = `no policy selects ${left} and ${right}; the policy "${DEFAULT_POLICY}" uses ${rule.driver}`;
      return checked(
        { ...base, ...ofRule(rule, DEFAULT_POLICY), reason: 'DefaultPolicy', message },
        rule,
        ranking,
        offers,
      );
    }
    const chosen = withoutPolicy(left, right, offers);
    if (ranking.requiresEncryption && !isEncrypted(chosen.driver)) {
      const message = `${left} and ${right}: no policy with encryption selects them, which the broker asks for (minimumSecurity), and ${chosen.driver} does not encrypt; create one`;
      return { ...base, ...chosen, driver: undefined, reason: 'NotEncrypted', message };
    }
    return checked({ ...base, ...chosen }, undefined, ranking, offers);
  }
  const { rule, label } = winner;
  if (pair.ambiguous && onConflict === 'refuse') {
    const names = tied(pair).map((each) => `"${each.label}" (${each.rule.driver})`);
    const message = `${left} and ${right}: policies ${names.join(' and ')} contradict each other; give one of them a higher priority`;
    return { ...base, ...ofRule(rule, label), driver: undefined, reason: 'Ambiguous', message };
  }
  const note = pair.ambiguous
    ? `; ${tied(pair)
        .slice(1)
        .map((each) => `"${each.label}"`)
        .join(', ')} of the same rank contradicts it, and the older policy wins`
    : '';
  const message = `policy "${label}" selects ${left} and ${right} and uses ${rule.driver}${note}`;
  return checked({ ...base, ...ofRule(rule, label), reason: 'Policy', message }, rule, ranking, offers);
}

type Offers = readonly [Offer | undefined, Offer | undefined];

function ofRule(rule: CableRule, policy: string) {
  return { driver: rule.driver, options: rule.options.data, policy, rule: rule.index };
}

/** The candidates that the winner contradicts, the winner first. */
function tied({ candidates }: Pair): RankedRule[] {
  const [winner] = candidates;
  return candidates.filter(
    (each, index) => index === 0 || (each.tieEnd === winner?.tieEnd && each.outcome !== winner.outcome),
  );
}

/** Without any policy both ends must still agree: the smaller id's driver, if both have it, else the other's. */
function withoutPolicy(left: string, right: string, [one, other]: Offers) {
  const wanted = [one?.backend, other?.backend].filter((driver) => driver !== undefined);
  const both = wanted.find((driver) => one?.drivers.has(driver) && other?.drivers.has(driver));
  const driver = both ?? wanted[0] ?? BUILT_IN_DRIVER;
  const message = `there is no policy for ${left} and ${right}, nor a policy "${DEFAULT_POLICY}"; ${driver} is used`;
  return { driver, options: {}, policy: '(fallback)', rule: 0, reason: 'Fallback' as const, message };
}

/** Checks that both ends have the driver, and that their shared options are equal. There is never a silent downgrade. */
function checked(decision: Decision, rule: CableRule | undefined, ranking: Ranking, offers: Offers): Decision {
  const { driver, left, right, policy } = decision;
  if (driver === undefined || driver === 'none') return decision;
  const ends = [left, right] as const;
  const lacking = offers.findIndex((offer) => offer !== undefined && !offer.drivers.has(driver));
  if (lacking >= 0) {
    const available = [...(offers[lacking]?.drivers.keys() ?? [])].toSorted().join(', ') || 'none';
    const message = `cable driver "${driver}" required by policy "${policy}" is not available in cluster "${ends[lacking]}" (available: ${available}); install it there, or change the policy`;
    const other = rule?.onUnavailable === 'default' ? ranking.fallback : undefined;
    if (
      other !== undefined &&
      isAsSafe(other.driver, driver) &&
      offers.every((offer) => !offer || offer.drivers.has(other.driver))
    )
      return {
        ...decision,
        ...ofRule(other, DEFAULT_POLICY),
        message: `${message}; until then the policy "${DEFAULT_POLICY}" uses ${other.driver}`,
      };
    return { ...decision, driver: undefined, reason: 'DriverNotAvailable', message };
  }
  return withShared(decision, driver, offers);
}

function isAsSafe(driver: DriverName, wanted: DriverName): boolean {
  return isEncrypted(driver) || !isEncrypted(wanted);
}

/** Adds the options that both ends must share: those of the policy, else those that both published. */
function withShared(decision: Decision, driver: DriverName, [one, other]: Offers): Decision {
  const [a, b] = [one?.drivers.get(driver), other?.drivers.get(driver)];
  if (a === undefined || b === undefined) return decision;
  const agreed: Record<string, string> = {};
  for (const name of sharedOptionsOf(driver)) {
    if (decision.options[name] !== undefined) continue;
    const [mine, theirs] = [a[name], b[name]];
    if (mine !== undefined && mine === theirs) agreed[name] = mine;
    if (mine === theirs) continue;
    const shown = (value: string | undefined) => (value === undefined ? 'its default' : JSON.stringify(value));
    const message = `option ${name} of ${driver} differs: ${shown(mine)} in cluster "${decision.left}", ${shown(theirs)} in cluster "${decision.right}"; set it in policy "${decision.policy}", or set both to the same value`;
    return { ...decision, driver: undefined, reason: 'OptionsDiffer', message };
  }
  return { ...decision, options: { ...agreed, ...decision.options } };
}
