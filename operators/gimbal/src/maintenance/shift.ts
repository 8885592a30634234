// One route as a whole: from its present entries and the stored state to the desired entries, the state to store, and the messages to
// report. Pure: it is the same for a preview, a first drain, a restore and a restart.
import { equal } from '@capstan/kube';
import { type Blocked, DENY_ALL, type DrainedRule, drainRule, type Leaving, type OriginalEntry } from './drain.ts';
import { type Fields, type RouteEntry, type RouteRule, weightOf } from './model.ts';
import {
  backendsOf,
  formatState,
  NOTHING_STORED,
  type OriginalRule,
  originalsOf,
  type StoredRule,
  type StoredState,
  stillUnresolved,
  storedRules,
  type Unresolved,
  unresolvedIn,
} from './stored-state.ts';

export interface ShiftInput {
  readonly rules: readonly RouteRule[];
  /** The stored state of the route. */
  readonly state: StoredState | undefined;
  /** The backend that an entry's Service belongs to. */
  backendOf(entry: RouteEntry): string | undefined;
  /** How traffic leaves an entry; undefined: it does not. */
  leavingOf(entry: RouteEntry, backend: string): Leaving | undefined;
  /**
   * A route that we changed has no stored state: a user removed it while the operator was down. The weights before the zeros can only be
   * guessed.
   */
  readonly isForgotten?: boolean;
}

export interface Shift {
  /** The values to set, as JSON pointers; undefined removes the field. */
  readonly changes: readonly { readonly path: string; readonly value: unknown }[];
  readonly rules: readonly StoredRule[];
  readonly unresolved: readonly Unresolved[];
  /** Weights that could not be restored, as people read them. */
  readonly ambiguous: readonly { readonly backend: string | undefined; readonly note: string }[];
  /** By backend: how the route stands towards it. */
  readonly reports: ReadonlyMap<string, RouteReport>;
  /** Entries whose values a user wrote over, as people read them. */
  readonly overwritten: readonly string[];
  /** Entries whose originals were guessed. */
  readonly guessed: readonly string[];
}

export interface RouteReport {
  /** Whether traffic should leave: of some entry of the backend. */
  readonly isLeaving: boolean;
  /** Whether nothing reaches the backend by this route, as it stands now. */
  readonly isDrained: boolean;
  /** Rules that are not as they should be. */
  readonly blocked: readonly {
    readonly rule: string;
    readonly reason: Blocked | 'AmbiguousWeight';
    readonly message: string;
  }[];
}

export function shiftRoute(input: ShiftInput): Shift {
  const known = originalsOf(input.rules, input.state ?? NOTHING_STORED, input.backendOf);
  const shifted = known.map((one) => shiftRule(one, input));
  const found = known.flatMap(({ originals }) => originals.flatMap((one) => one.unresolved));
  const unresolved = stillUnresolved(input.rules, input.state?.unresolved ?? [], found);
  const ambiguities = unresolved.flatMap((one) => ambiguityOf(one, input));
  return {
    changes: shifted.flatMap(({ changes }) => changes),
    rules: storedRules(shifted, input.backendOf),
    unresolved,
    ambiguous: ambiguities.map(({ backend, place, message }) => ({ backend, note: `${place} ${message}` })),
    reports: reportsOf(shifted, ambiguities, input),
    overwritten: shifted.flatMap(({ overwritten }) => overwritten),
    guessed: shifted.flatMap(({ guessed }) => guessed),
  };
}

/** The annotations that go with a shift: the state, and the names of backends for people. */
export function annotationsOf(
  { rules, unresolved }: Pick<Shift, 'rules' | 'unresolved'>,
  fights: readonly number[],
): [state?: string, backends?: string] {
  const state = formatState({ rules, unresolved, fights });
  if (state === undefined) return [];
  const backends = backendsOf(rules);
  return backends.length === 0 ? [state] : [state, backends.join(',')];
}

interface ShiftedRule {
  readonly rule: RouteRule;
  readonly entries: readonly OriginalEntry[];
  readonly outcome: DrainedRule;
  readonly desired: readonly Fields[];
  readonly changes: Shift['changes'];
  readonly overwritten: readonly string[];
  readonly guessed: readonly string[];
}

function shiftRule({ rule, isKnown, originals }: OriginalRule, input: ShiftInput): ShiftedRule {
  const plain = originals.map(({ entry, original }): OriginalEntry => {
    const backend = input.backendOf(entry);
    const leaving = backend === undefined ? undefined : input.leavingOf(entry, backend);
    return { entry, original, leaving };
  });
  const isGuessed = input.isForgotten === true && !isKnown;
  const entries = isGuessed ? plain.map((each) => guessOriginal(rule, each, plain)) : plain;
  const outcome = drainRule(rule, entries);
  const changes = entries.flatMap(({ entry }, at) => changesOf(entry, outcome.desired[at] ?? entry.fields));
  return {
    rule,
    entries,
    outcome,
    desired: outcome.desired,
    changes,
    overwritten: originals.flatMap(({ entry, isOverwritten }, at) =>
      isOverwritten && entries[at]?.leaving !== undefined ? [nameOf(rule, entry)] : [],
    ),
    guessed: entries.flatMap((each, at) =>
      each === plain[at] || each.leaving === undefined ? [] : [nameOf(rule, each.entry)],
    ),
  };
}

function nameOf({ place }: RouteRule, { id }: RouteEntry): string {
  return `${place} ${id}`;
}

function changesOf({ path, fields }: RouteEntry, desired: Fields): { path: string; value: unknown }[] {
  const names = new Set([...Object.keys(fields), ...Object.keys(desired)]);
  return [...names].flatMap((name) =>
    equal(fields[name], desired[name]) ? [] : [{ path: `${path}/${name}`, value: desired[name] }],
  );
}

/**
 * Zeros of ours whose originals are lost. Where the others have no weight other than 1, these had none; else it is the mean
 * of the others.
 */
function guessOriginal({ semantics }: RouteRule, each: OriginalEntry, all: readonly OriginalEntry[]): OriginalEntry {
  const isZeroOfOurs = ({ entry, original, leaving }: OriginalEntry) =>
    leaving !== undefined && entry.role === 'service' && weightOf(original) === 0;
  if (!all.some(isZeroOfOurs) || each.entry.role !== 'service') return each;
  const others = all.filter((other) => other.entry.role === 'service' && other.leaving === undefined);
  const given = others.flatMap(({ original }) => weightOf(original) ?? []);
  const isPlain = given.every((weight) => weight === 1);
  if (isZeroOfOurs(each)) {
    const mean = Math.round(given.reduce((sum, weight) => sum + weight, 0) / Math.max(1, given.length));
    return { ...each, original: { ...each.original, weight: isPlain ? undefined : mean } };
  }
  // A 1 beside it was written by us, to make it count.
  const isImplicit = semantics === 'contour' || semantics === 'sesame';
  const isOurs = isPlain && isImplicit && each.leaving === undefined && weightOf(each.original) === 1;
  return isOurs ? { ...each, original: { ...each.original, weight: undefined } } : each;
}

interface Ambiguity {
  readonly backend: string | undefined;
  readonly place: string;
  readonly message: string;
}

/** A weight that cannot be restored, with the stored and the present value, for the user to decide. */
function ambiguityOf(one: Unresolved, { rules, backendOf }: ShiftInput): Ambiguity[] {
  const found = unresolvedIn(rules, one);
  if (found === undefined) return [];
  const { rule, entry } = found;
  const text = (value: unknown) =>
    value === undefined ? 'not set' : typeof value === 'number' ? String(value) : JSON.stringify(value);
  const remembered = one.remembered.map(text).join(' or ');
  const message = `${entry.id}: the ${one.field} before maintenance was ${remembered}, now it is ${text(one.written)}`;
  return [{ backend: one.backend ?? backendOf(entry), place: rule.place, message }];
}

function reportsOf(
  shifted: readonly ShiftedRule[],
  ambiguities: readonly Ambiguity[],
  { backendOf }: ShiftInput,
): Map<string, RouteReport> {
  const reports = new Map<
    string,
    { isLeaving: boolean; isDrained: boolean; blocked: RouteReport['blocked'][number][] }
  >();
  for (const { rule, entries, outcome } of shifted) {
    for (const { entry, leaving } of entries) {
      const backend = backendOf(entry);
      if (backend === undefined || entry.role === 'peer') continue;
      const report = reports.get(backend) ?? { isLeaving: false, isDrained: true, blocked: [] };
      reports.set(backend, report);
      if (leaving !== undefined) report.isLeaving = true;
      if (takesTraffic(rule, entry)) report.isDrained = false;
      const { blocked } = outcome;
      if (leaving === undefined || blocked === undefined || report.blocked.some((one) => one.rule === rule.place))
        continue;
      report.blocked.push({ rule: rule.place, reason: blocked, message: explain(outcome, rule) });
    }
  }
  for (const { backend, place, message } of ambiguities) {
    if (backend === undefined) continue;
    const report = reports.get(backend) ?? { isLeaving: false, isDrained: true, blocked: [] };
    reports.set(backend, report);
    report.blocked.push({ rule: place, reason: 'AmbiguousWeight', message: `${message}; set the one that is meant` });
  }
  return reports;
}

/** Whether the entry, as it stands, gets anything from the data plane that the route is for. */
function takesTraffic(rule: RouteRule, { role, fields }: RouteEntry): boolean {
  const { semantics, entries, isRelieved, isChosen } = rule;
  if (role === 'gate') return false;
  if (role === 'canary') return isChosen === true || Number(Object.values(entries[0]?.fields ?? {})[0] ?? 0) > 0;
  if (role === 'mirrorFilter') return !isEmptyMirror(fields);
  if (semantics === 'none') return isRelieved !== true;
  if (entries.some(isRefusing)) return false;
  // Copies of nothing are nothing.
  if (fields['mirror'] === true) return entries.some((other) => isTaker(other) && takesTraffic(rule, other));
  const weight = weightOf(fields);
  if (semantics === 'gateway') return weight !== 0;
  const weights = entries.filter(isTaker).map((other) => weightOf(other.fields));
  const isShared = weights.some((each) => each !== undefined && each > 0);
  // Contour reads weights only where there are several services with one.
  if (semantics === 'contour') return weights.length <= 1 || !isShared || (weight ?? 0) > 0;
  return isShared ? (weight ?? 0) > 0 : weights.every((each) => each === undefined);
}

/** A gate that lets no address pass. */
const isRefusing = ({ role, fields }: RouteEntry) => role === 'gate' && equal(fields, DENY_ALL);

const isTaker = ({ role, fields }: RouteEntry) => role === 'service' && fields['mirror'] !== true;

function isEmptyMirror({ percent, fraction }: Fields): boolean {
  if (typeof fraction === 'object' && fraction !== null) return (fraction as { numerator?: unknown }).numerator === 0;
  return percent === 0;
}

/** Describes how the data plane handles the requests. */
function explain({ blocked, policy }: DrainedRule, { semantics, entries }: RouteRule): string {
  if (blocked === 'NoWeights') return 'an Ingress has no weights: its path leads to one service';
  const nowhere = 'no other service can take its requests';
  if (policy === 'Reject') return `${nowhere}; they are refused`;
  if (policy !== 'Zero') return `${nowhere}; they still go there`;
  if (semantics === 'gateway') return `${nowhere}; the weight is 0, and the gateway answers 500`;
  if (semantics === 'sesame') return `${nowhere}; the weight is 0, and they are answered with 503`;
  const isSole = entries.filter(isTaker).length === 1;
  return `${nowhere}; the weight is 0, but Contour ${isSole ? 'sends all of them there' : 'shares them out evenly'} all the same`;
}
