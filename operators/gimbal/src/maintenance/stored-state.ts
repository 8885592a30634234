// What we changed in a route, kept in one annotation on it and written in the same request as the change: the values before
// (`o`), the values that we wrote (`w`), whose they are (`b`). Rules and entries are named by what they match and lead to, so
// that they are found again after people sorted, added or removed some. What is not in it is the user's.
//
//   {"v":1,"b":["east"],"r":[{"k":"5f2a…","e":[{"i":"default/east-web:80","b":"east","o":50,"w":0},{"i":"default/west-web:80","o":null,"w":1}]}]}
import { equal } from '@capstan/kube';
import { GROUP } from '../kinds/index.ts';
import type { OriginalEntry } from './drain.ts';
import type { Fields, RouteEntry, RouteRule } from './model.ts';
import { listIn, objectIn, textIn } from './routes/json.ts';

export const MAINTENANCE_ANNOTATION = `${GROUP}/maintenance`;
/** For people: the backends that this route was drained of. */
export const DRAINED_ANNOTATION = `${GROUP}/drained-backends`;

export interface StoredState {
  readonly rules: readonly StoredRule[];
  /** When somebody last wrote over our values, in seconds since 1970, the oldest first. */
  readonly fights: readonly number[];
}

export interface StoredRule {
  readonly key: string;
  readonly entries: readonly StoredEntry[];
}

export interface StoredEntry {
  readonly id: string;
  readonly backend: string | undefined;
  /** Of the fields that we changed: what was there, and what we wrote. */
  readonly original: Fields;
  readonly written: Fields;
}

export const NOTHING_STORED: StoredState = { rules: [], fights: [] };

/** What an annotation says; undefined when there is none, or somebody made it unreadable. */
export function parseState(text: string | undefined): StoredState | undefined {
  if (text === undefined) return undefined;
  try {
    const parsed = objectIn(JSON.parse(text));
    if (parsed['v'] !== 1) return undefined;
    return {
      rules: listIn(parsed['r']).map((one) => {
        const rule = objectIn(one);
        return { key: textIn(rule['k']) ?? '', entries: listIn(rule['e']).map(parseEntry) };
      }),
      fights: listIn(parsed['f']).filter((each) => typeof each === 'number'),
    };
  } catch {
    return undefined;
  }
}

function parseEntry(one: unknown): StoredEntry {
  const entry = objectIn(one);
  return {
    id: textIn(entry['i']) ?? '',
    backend: textIn(entry['b']),
    original: parseFields(entry['o']),
    written: parseFields(entry['w']),
  };
}

/** A weight alone is a number or null; anything else an object, in which null means: not there. */
function parseFields(value: unknown): Fields {
  if (typeof value === 'number') return { weight: value };
  if (value === null || value === undefined) return { weight: undefined };
  return Object.fromEntries(Object.entries(objectIn(value)).map(([name, part]) => [name, part ?? undefined]));
}

/** The text of the annotation; undefined when nothing is to be remembered. */
export function formatState({ rules, fights }: StoredState): string | undefined {
  if (rules.length === 0) return undefined;
  return JSON.stringify({
    v: 1,
    b: backendsOf(rules),
    r: rules.map(({ key, entries }) => ({ k: key, e: entries.map(formatEntry) })),
    ...(fights.length === 0 ? {} : { f: fights }),
  });
}

function formatEntry({ id, backend, original, written }: StoredEntry) {
  const names = Object.keys(written);
  const isWeight = names.length === 1 && names[0] === 'weight';
  const format = (fields: Fields) =>
    isWeight ? (fields['weight'] ?? null) : Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
  return { i: id, ...(backend === undefined ? {} : { b: backend }), o: format(original), w: format(written) };
}

export function backendsOf(rules: readonly StoredRule[]): string[] {
  const names = rules.flatMap(({ entries }) => entries.flatMap(({ backend }) => backend ?? []));
  return [...new Set(names)].toSorted();
}

/** What is to be remembered of a rule; undefined when we change nothing in it. */
export function storedRule(
  key: string,
  entries: readonly OriginalEntry[],
  desired: readonly Fields[],
  backendOf: (entry: RouteEntry) => string | undefined,
): StoredRule | undefined {
  const changed = entries.map(({ original }, at) => changedFields(original, desired[at] ?? {}));
  if (changed.every((names) => names.length === 0)) return undefined;
  const stored = entries.flatMap(({ entry, original, leaving }, at): StoredEntry[] => {
    // The weight of what leaves is told even if it was 0 already.
    const isWeighed = leaving !== undefined && 'weight' in original;
    const names = changed[at]?.length === 0 && isWeighed ? ['weight'] : (changed[at] ?? []);
    if (names.length === 0) return [];
    const backend = leaving === undefined ? undefined : backendOf(entry);
    return [{ id: entry.id, backend, original: pick(original, names), written: pick(desired[at] ?? {}, names) }];
  });
  return { key, entries: stored };
}

function changedFields(before: Fields, after: Fields): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !equal(before[name], after[name]));
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

/** A rule with what its user wrote into it. */
export interface OriginalRule {
  readonly rule: RouteRule;
  readonly stored: StoredRule | undefined;
  /** In the order of the rule's entries. */
  readonly originals: readonly {
    readonly entry: RouteEntry;
    readonly original: Fields;
    readonly isOverwritten: boolean;
  }[];
}

/** Takes what we wrote back out of a route: what is left is what its user means it to be. */
export function originalsOf(rules: readonly RouteRule[], state: StoredState): OriginalRule[] {
  const found = matchRules(rules, state.rules);
  return rules.map((rule) => {
    const stored = found.get(rule);
    const byId = new Map(stored?.entries.map((entry) => [entry.id, entry]));
    return { rule, stored, originals: rule.entries.map((entry) => originalOf(entry, byId.get(entry.id))) };
  });
}

function originalOf(entry: RouteEntry, stored: StoredEntry | undefined): OriginalRule['originals'][number] {
  if (stored === undefined) return { entry, original: entry.fields, isOverwritten: false };
  const original: Record<string, unknown> = { ...entry.fields };
  let isOverwritten = false;
  for (const [name, ours] of Object.entries(stored.written)) {
    // Whoever changed it since meant it: theirs is the original now.
    if (equal(entry.fields[name], ours)) original[name] = stored.original[name];
    else if (!equal(ours, stored.original[name])) isOverwritten = true;
  }
  return { entry: { ...entry, role: roleOf(entry, original) }, original, isOverwritten };
}

/** A mirror that is drained looks like a service. */
function roleOf({ role }: RouteEntry, { mirror }: Fields): RouteEntry['role'] {
  if (role !== 'mirror' && role !== 'service') return role;
  return mirror === true ? 'mirror' : 'service';
}

/** By what a rule matches; where that was edited, by what it leads to. */
function matchRules(rules: readonly RouteRule[], stored: readonly StoredRule[]): Map<RouteRule, StoredRule> {
  const byKey = new Map(stored.map((rule) => [rule.key, rule]));
  const found = new Map<RouteRule, StoredRule>();
  for (const rule of rules) {
    const same = byKey.get(rule.key);
    if (same === undefined) continue;
    found.set(rule, same);
    byKey.delete(rule.key);
  }
  for (const rule of rules) {
    if (found.has(rule)) continue;
    const moved = [...byKey.values()].find((candidate) => isTracedIn(rule, candidate));
    if (moved === undefined) continue;
    found.set(rule, moved);
    byKey.delete(moved.key);
  }
  return found;
}

/** Whether everything that we wrote stands in this rule. */
function isTracedIn({ entries }: RouteRule, { entries: stored }: StoredRule): boolean {
  return stored.every(({ id, written }) =>
    entries.some(
      (entry) => entry.id === id && Object.entries(written).every(([name, ours]) => equal(entry.fields[name], ours)),
    ),
  );
}
