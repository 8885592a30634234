// Recognises the stored entries of a route in the route as it stands now. Meanwhile its user may have changed ports, matches, names and
// weights, sorted, added and deleted. The pairing that needs the fewest such edits counts. If several pairings need equally few, an entry
// has several candidates, and only the facts on which they agree are known.

import { hash } from 'node:crypto';
import { canonicalJson, equal } from '@capstan/kube';
import type { Fields, RouteEntry, RouteRule } from '../model.ts';
import { ruleKey } from '../routes/identity.ts';
import { cheapestPairs } from './assignment.ts';

export interface StoredRule {
  /** The key of the match. */
  readonly key: string;
  readonly name?: string | undefined;
  /** All its entries in their order; of a rule that has nothing to do with maintenance, their digest stands for them. */
  readonly entries: readonly StoredEntry[];
  readonly digest?: string | undefined;
  /** Written by an earlier release: only entries that were changed are known. */
  readonly isPartial?: boolean | undefined;
}

export interface StoredEntry {
  readonly id: string;
  readonly backend: string | undefined;
  /** The fields that we changed: their values before, and the values that we wrote. Both are empty for entries that were left alone. */
  readonly original: Fields;
  readonly written: Fields;
  /** All fields that were there when we had written. */
  readonly seen: Fields;
}

export interface Candidate {
  readonly stored: StoredEntry;
  /** The rule has the same name or match as then. */
  readonly isSameRule: boolean;
  /** It led to another service, or stood in another rule, then: that it is the same entry is a guess. */
  readonly isGuess: boolean;
}

/** The stored candidates of each entry of the route. Undefined among them means that the entry may be new. */
export type Recognised = ReadonlyMap<RouteEntry, readonly (Candidate | undefined)[]>;

export function recognise(rules: readonly RouteRule[], stored: readonly StoredRule[]): Recognised {
  const found = new Map<RouteEntry, (Candidate | undefined)[]>();
  const used = new Set<StoredEntry>();
  for (const [rule, candidates] of pairRules(rules, stored)) {
    const options = candidates.map((one) => (one === undefined ? undefined : pairEntries(one, rule)));
    for (const entry of identified(rule)) {
      const list = options.flatMap((pairs) => pairs?.candidates.get(entry) ?? [undefined]);
      if (list.some((one) => one !== undefined)) found.set(entry, list);
      for (const one of list) if (one !== undefined) used.add(one.stored);
    }
  }
  for (const rule of rules) for (const [entry, list] of guessesIn(rule, stored, found, used)) found.set(entry, list);
  return found;
}

/** Entries without an identity of their own are left out: peers are other objects', an empty gate is every rule's. */
export function identified({ entries }: RouteRule): RouteEntry[] {
  return entries.filter(({ role, fields }) => role !== 'peer' && (role !== 'gate' || hasAny(fields)));
}

/** A short digest of a rule's destinations. */
export function digestOf(entries: readonly { readonly id: string; readonly seen: Fields }[]): string {
  const content = entries.map(({ id, seen }) => [withoutOrdinal(id), given(seen)]);
  return hash('sha256', canonicalJson(content), 'hex').slice(0, 8);
}

/** Fields that are there. */
export function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const hasAny = (fields: Fields) => Object.values(fields).some((value) => value !== undefined);
const withoutOrdinal = (id: string) => id.replace(/#\d+$/, '');

/** `mirror default/web:80#2`: the destination, its port, and the kind of the entry. */
export function identityOf(id: string): { target: string; port: string | undefined; family: string } {
  const [, target = id, port] = /^(.*?)(?::([^:/]+))?$/.exec(withoutOrdinal(id)) ?? [];
  const family = target === 'gate' || !target.includes(' ') ? target.replace(/.*\/.*/, '') : target.split(' ')[0];
  return { target, port, family: family ?? '' };
}

/** The service that an entry leads to, by whatever port. */
export const targetOf = (id: string) => identityOf(id).target;

export const isChanged = ({ written }: StoredEntry) => Object.keys(written).length > 0;
/** Whether all that we wrote stands there. */
export const isTraced = ({ fields }: RouteEntry, { written }: StoredEntry) =>
  Object.entries(written).every(([name, ours]) => equal(fields[name], ours));
export const isAsSeen = ({ fields }: RouteEntry, { seen }: StoredEntry) => equal(given(fields), given(seen));

// The costs of edits. An added rule or service has to be written as a whole.
const EDIT = 1;
const DELETED = 1;
const ADDED_ENTRY = 2;
const addedRule = (rule: RouteRule) => 1 + identified(rule).length;
/** Edits weigh so much more than the order, which decides between equals. */
const SCALE = 1_000_000;
/** In larger tables (a route that was rewritten as a whole), only unmistakable pairs are found. */
const MOST = 120;

type RulePairs = [rule: RouteRule, candidates: readonly (StoredRule | undefined)[]][];

function pairRules(rules: readonly RouteRule[], stored: readonly StoredRule[]): RulePairs {
  const signatureOf = ({ name, key }: { name?: string | undefined; key: string }, digest: string) =>
    `${name ?? ''} ${key} ${digest}`;
  const exact = pairEqual(
    rules.map((rule) => ({ item: rule, text: signatureOf(rule, digestOf(identified(rule).map(seenNow))) })),
    stored.map((rule) => ({
      item: rule,
      text: rule.isPartial ? '' : signatureOf(rule, rule.digest ?? digestOf(rule.entries)),
    })),
  );
  const paired = exact.pairs.map(([rule, one]): RulePairs[number] => [rule, [one]]);
  const edges = new Map<RouteRule, Map<StoredRule, number>>();
  for (const rule of exact.left)
    for (const one of exact.right) {
      const cost = ruleEdits(one, rule);
      if (cost === undefined) continue;
      const costs = edges.get(rule) ?? new Map<StoredRule, number>();
      edges.set(rule, costs.set(one, cost));
    }
  const parts = components(edges);
  return [...paired, ...parts.flatMap((part) => pairComponent(part, exact.left, exact.right, edges))];
}

const seenNow = ({ id, fields }: RouteEntry) => ({ id, seen: fields });

/** How many edits make this rule of that one; undefined: it is another rule. */
function ruleEdits(stored: StoredRule, rule: RouteRule): number | undefined {
  const isSame = isSameRule(stored, rule);
  const isKeySame = stored.key === rule.key || (stored.isPartial === true && isSame);
  const heading = (isKeySame ? 0 : EDIT) + (stored.name === rule.name || stored.isPartial ? 0 : EDIT);
  const limit = DELETED + addedRule(rule);
  if (stored.digest !== undefined) {
    const isContent = stored.digest === digestOf(identified(rule).map(seenNow));
    if (!isSame && !isContent) return undefined;
    return isContent ? heading : limit - 1;
  }
  const { cost, isTraceLeft } = pairEntries(stored, rule);
  const edits = heading + cost;
  if (isSame) return Math.min(edits, limit - 1);
  return isTraceLeft && edits <= limit ? edits : undefined;
}

export function isSameRule({ key, name, isPartial }: StoredRule, rule: RouteRule): boolean {
  if (isPartial) return key === rule.key || (rule.name !== undefined && key === ruleKey(rule.name));
  return key === rule.key || (name !== undefined && name === rule.name);
}

interface Component {
  readonly left: ReadonlySet<RouteRule>;
  readonly right: ReadonlySet<StoredRule>;
}

/** Rules that are connected by edges, directly or through others. */
function components(edges: ReadonlyMap<RouteRule, ReadonlyMap<StoredRule, number>>): Component[] {
  const parts: { left: Set<RouteRule>; right: Set<StoredRule> }[] = [];
  for (const [rule, costs] of edges) {
    const own = { left: new Set([rule]), right: new Set(costs.keys()) };
    const joined = parts.filter(({ right }) => [...own.right].some((one) => right.has(one)));
    for (const part of joined) {
      for (const one of part.left) own.left.add(one);
      for (const one of part.right) own.right.add(one);
      parts.splice(parts.indexOf(part), 1);
    }
    parts.push(own);
  }
  return parts;
}

function pairComponent(
  part: Component,
  rules: readonly RouteRule[],
  stored: readonly StoredRule[],
  edges: ReadonlyMap<RouteRule, ReadonlyMap<StoredRule, number>>,
): RulePairs {
  const left = rules.filter((rule) => part.left.has(rule));
  const right = stored.filter((one) => part.right.has(one));
  if (left.length + right.length > MOST) return left.flatMap((rule) => unmistakable(rule, edges.get(rule)));
  const isOrdered = left.length === right.length;
  const pairs = cheapestPairs({
    rows: right.length,
    columns: left.length,
    cost(row, column) {
      const edits = edges.get(left[column] as RouteRule)?.get(right[row] as StoredRule);
      return edits === undefined ? undefined : edits * SCALE + (isOrdered ? Math.abs(row - column) : 0);
    },
    rowAlone: () => DELETED * SCALE,
    columnAlone: (column) => addedRule(left[column] as RouteRule) * SCALE,
  });
  return left.map((rule, column) => [
    rule,
    (pairs[column] ?? []).map((row) => (row === undefined ? undefined : right[row])),
  ]);
}

function unmistakable(rule: RouteRule, costs: ReadonlyMap<StoredRule, number> = new Map()): RulePairs {
  const least = Math.min(...costs.values());
  const best = [...costs].filter(([, cost]) => cost === least).map(([one]) => one);
  return [[rule, best]];
}

interface EntryPairs {
  readonly cost: number;
  readonly candidates: ReadonlyMap<RouteEntry, readonly (Candidate | undefined)[]>;
  /** Something that we wrote stands there still. */
  readonly isTraceLeft: boolean;
}

function pairEntries(stored: StoredRule, rule: RouteRule): EntryPairs {
  const isSame = isSameRule(stored, rule);
  const candidates = new Map<RouteEntry, (Candidate | undefined)[]>();
  const known = (one: StoredEntry, isGuess = false): Candidate => ({ stored: one, isSameRule: isSame, isGuess });
  const exact = pairEqual(
    identified(rule).map((entry) => ({
      item: entry,
      text: canonicalJson([withoutOrdinal(entry.id), given(entry.fields)]),
    })),
    stored.entries.map((entry) => ({
      item: entry,
      text: canonicalJson([withoutOrdinal(entry.id), given(entry.seen)]),
    })),
  );
  for (const [entry, one] of exact.pairs) candidates.set(entry, [known(one)]);

  // Pair entries that lead to the same service by another port, or that have other fields now.
  let [left, right] = [exact.left, exact.right];
  let cost = 0;
  let doubled = 0;
  const targets = new Set(left.map(({ id }) => targetOf(id)));
  for (const target of targets) {
    const here = left.filter(({ id }) => targetOf(id) === target);
    const there = right.filter(({ id }) => targetOf(id) === target);
    if (there.length === 0) continue;
    const isOrdered = here.length === there.length;
    const pairs = cheapestPairs({
      rows: there.length,
      columns: here.length,
      cost(row, column) {
        const edits = entryEdits(there[row] as StoredEntry, here[column] as RouteEntry);
        return edits === undefined ? undefined : edits * SCALE + (isOrdered ? Math.abs(row - column) : 0);
      },
      rowAlone: () => DELETED * SCALE,
      columnAlone: () => ADDED_ENTRY * SCALE + 1,
    });
    for (const [column, entry] of here.entries()) {
      const rows = pairs[column] ?? [];
      const ones = rows.map((row) => (row === undefined ? undefined : there[row]));
      if (ones.every((one) => one === undefined)) continue;
      candidates.set(
        entry,
        ones.map((one) => (one === undefined ? undefined : known(one))),
      );
      const [first] = ones;
      cost += first === undefined ? ADDED_ENTRY : (entryEdits(first, entry) ?? 0);
      left = left.filter((one) => one !== entry);
    }
    // If an entry has several candidates, each of them may also be deleted or lead elsewhere now.
    const sole = new Set(here.flatMap((_entry, column) => (pairs[column]?.length === 1 ? (pairs[column] ?? []) : [])));
    const open = there.filter((_one, row) => !sole.has(row));
    const matched = here.filter((entry) => candidates.has(entry)).length;
    doubled += open.length - Math.max(0, there.length - matched);
    right = right.filter((one) => !there.includes(one) || open.includes(one));
  }

  // Pair entries that stand at the same place with the value that we wrote, and lead elsewhere.
  const pairs = cheapestPairs({
    rows: right.length,
    columns: left.length,
    cost(row, column) {
      const [one, entry] = [right[row] as StoredEntry, left[column] as RouteEntry];
      if (identityOf(one.id).family !== identityOf(entry.id).family) return undefined;
      const edits = entryEdits(one, entry);
      return edits === undefined ? undefined : edits + EDIT;
    },
    rowAlone: () => DELETED,
    columnAlone: () => ADDED_ENTRY,
  });
  let paired = 0;
  for (const [column, entry] of left.entries()) {
    const ones = (pairs[column] ?? []).map((row) => (row === undefined ? undefined : right[row]));
    const [first] = ones;
    if (first === undefined) {
      cost += stored.isPartial ? 0 : ADDED_ENTRY;
      continue;
    }
    paired += 1;
    cost += EDIT + (entryEdits(first, entry) ?? 0);
    // An entry with the value of a drained one may be that one, even if other pairings need fewer edits.
    const drained = right.filter((one) => one.backend !== undefined && isChanged(one) && isTraced(entry, one));
    // A weight that only created a share count is no user's, whatever it leads to now; nor is one of the object itself.
    candidates.set(
      entry,
      [...new Set([...ones, ...drained])].map((one) =>
        one === undefined ? undefined : known(one, one.backend !== undefined && entry.role !== 'canary'),
      ),
    );
  }
  cost += Math.max(0, right.length - doubled - paired) * DELETED;
  const isTraceLeft = [...candidates].some(([entry, ones]) =>
    ones.some((one) => one !== undefined && isChanged(one.stored) && isTraced(entry, one.stored)),
  );
  return { cost, candidates, isTraceLeft };
}

/** The cost of the port and the fields; undefined if the values that we wrote cannot be in this entry. */
function entryEdits(stored: StoredEntry, entry: RouteEntry): number | undefined {
  if (Object.keys(stored.written).some((name) => !(name in entry.fields))) return undefined;
  const isPort = identityOf(stored.id).port === identityOf(entry.id).port;
  return (isPort ? 0 : EDIT) + (isAsSeen(entry, stored) ? 0 : EDIT);
}

/** Pairs equal entries in their order, if both sides have the same number of them. */
function pairEqual<L, R>(
  left: readonly { readonly item: L; readonly text: string }[],
  right: readonly { readonly item: R; readonly text: string }[],
): { pairs: [L, R][]; left: L[]; right: R[] } {
  const groupOf = <T>(list: readonly { readonly item: T; readonly text: string }[]) =>
    Map.groupBy(list, ({ text }) => text);
  const [lefts, rights] = [groupOf(left), groupOf(right)];
  const isEqual = (text: string) => lefts.get(text)?.length === rights.get(text)?.length;
  const pairs = [...lefts].flatMap(([text, group]) =>
    isEqual(text) ? group.map(({ item }, at): [L, R] => [item, rights.get(text)?.[at]?.item as R]) : [],
  );
  return {
    pairs,
    left: left.flatMap(({ item, text }) => (isEqual(text) ? [] : [item])),
    right: right.flatMap(({ item, text }) => (isEqual(text) ? [] : [item])),
  };
}

/**
 * Entries that were not found, and look like ones of another rule: moved there, or copied with their rule. Finally, an entry with the value
 * that we wrote may be any missing one.
 */
function guessesIn(
  rule: RouteRule,
  stored: readonly StoredRule[],
  found: Recognised,
  used: ReadonlySet<StoredEntry>,
): [RouteEntry, Candidate[]][] {
  const entries = identified(rule);
  const isNew = entries.every((entry) => !found.has(entry));
  const digest = digestOf(entries.map(seenNow));
  const isCopy = (one: StoredRule) => isNew && one.digest === undefined && digestOf(one.entries) === digest;
  const drained = stored.flatMap((one) => one.entries.filter((each) => each.backend !== undefined && isChanged(each)));
  const missing = drained.filter((each) => !used.has(each));
  const copied = new Set(stored.filter(isCopy).flatMap((one) => one.entries));
  return entries.flatMap((entry): [RouteEntry, Candidate[]][] => {
    if (found.has(entry)) return [];
    const { target, family } = identityOf(entry.id);
    const traced = drained.filter((each) => identityOf(each.id).family === family && isTraced(entry, each));
    const like = traced.filter((each) => targetOf(each.id) === target && (copied.has(each) || missing.includes(each)));
    const list = like.length > 0 ? like : traced.filter((each) => missing.includes(each));
    return list.length === 0
      ? []
      : [[entry, list.map((one): Candidate => ({ stored: one, isSameRule: false, isGuess: true }))]];
  });
}
