// Our changes of a route, kept in one annotation on it and written in the same request as the change: the values before (`o`), the values
// that we wrote (`w`), their backend (`b`), and the other entries at the time (`s`; `h` is their digest in rules that are not in
// maintenance), so that all of them are recognised after any edit. Every field that is not in the annotation belongs to the user.
//
//   {"v":2,"b":["east"],"r":[{"k":"5f2a…","e":[{"i":"default/east-web:80","b":"east","o":50,"w":0},{"i":"default/west-web:80","s":50}]}]}
import { equal } from '@capstan/kube';
import { GROUP } from '../kinds/index.ts';
import type { OriginalEntry } from './drain.ts';
import {
  type Candidate,
  digestOf,
  given,
  identified,
  recognise,
  type StoredEntry,
  type StoredRule,
  targetOf,
} from './identity/recognise.ts';
import { withRenames } from './identity/renames.ts';

import type { Fields, RouteEntry, RouteRule } from './model.ts';
import { listIn, objectIn, textIn } from './routes/json.ts';

export type { StoredRule } from './identity/recognise.ts';

export const MAINTENANCE_ANNOTATION = `${GROUP}/maintenance`;
/** For people: the backends that this route was drained of. */
export const DRAINED_ANNOTATION = `${GROUP}/drained-backends`;

export interface StoredState {
  readonly rules: readonly StoredRule[];
  /** Values that could not be restored, because it is not known which of several it was. */
  readonly unresolved: readonly Unresolved[];
  /** When another field manager last wrote over our values, in seconds since 1970, the oldest first. */
  readonly fights: readonly number[];
}

/** A field that has the value that we wrote, while its value before is not known for sure. It ends when the field is changed. */
export interface Unresolved {
  /** The key of the rule, and the id of the entry. */
  readonly key: string;
  readonly id: string;
  readonly backend: string | undefined;
  readonly field: string;
  readonly remembered: readonly unknown[];
  readonly written: unknown;
}

export const NOTHING_STORED: StoredState = { rules: [], unresolved: [], fights: [] };

/** Returns the state in an annotation; undefined if there is none, or it cannot be read. */
export function parseState(text: string | undefined): StoredState | undefined {
  if (text === undefined) return undefined;
  try {
    const parsed = objectIn(JSON.parse(text));
    const version = parsed['v'];
    if (version !== 1 && version !== 2) return undefined;
    return {
      rules: listIn(parsed['r']).map((one) => parseRule(objectIn(one), version)),
      unresolved: listIn(parsed['u']).map((one) => parseUnresolved(objectIn(one))),
      fights: listIn(parsed['f']).filter((each) => typeof each === 'number'),
    };
  } catch {
    return undefined;
  }
}

type Json = Readonly<Record<string, unknown>>;

function parseRule(rule: Json, version: 1 | 2): StoredRule {
  const key = textIn(rule['k']) ?? '';
  const entries = listIn(rule['e']).map((one) => parseEntry(objectIn(one)));
  // The first format counted rules of one match, and named others by their name.
  if (version === 1) return { key: key.replace(/#\d+$/, ''), entries, isPartial: true };
  return { key, name: textIn(rule['n']), entries, digest: textIn(rule['h']) };
}

function parseEntry(entry: Json): StoredEntry {
  const isChanged = 'w' in entry;
  const [original, written] = isChanged ? [parseFields(entry['o']), parseFields(entry['w'])] : [{}, {}];
  const beside = entry['s'] === undefined ? {} : parseFields(entry['s']);
  return {
    id: textIn(entry['i']) ?? '',
    backend: textIn(entry['b']),
    original,
    written,
    seen: { ...beside, ...written },
  };
}

function parseUnresolved(one: Json): Unresolved {
  return {
    key: textIn(one['k']) ?? '',
    id: textIn(one['i']) ?? '',
    backend: textIn(one['b']),
    field: textIn(one['f']) ?? 'weight',
    remembered: listIn(one['o']).map((value) => value ?? undefined),
    written: one['w'] ?? undefined,
  };
}

/** A weight alone is a number or null; anything else an object, in which null means: not there. */
function parseFields(value: unknown): Fields {
  if (typeof value === 'number') return { weight: value };
  if (value === null || value === undefined) return { weight: undefined };
  return Object.fromEntries(Object.entries(objectIn(value)).map(([name, part]) => [name, part ?? undefined]));
}

/** The text of the annotation; undefined when nothing is to be remembered. */
export function formatState({ rules, unresolved, fights }: StoredState): string | undefined {
  if (rules.length === 0 && unresolved.length === 0) return undefined;
  return JSON.stringify({
    v: 2,
    b: backendsOf(rules),
    r: rules.map(({ key, name, entries, digest }) => ({
      k: key,
      ...(name === undefined ? {} : { n: name }),
      ...(digest === undefined ? { e: entries.map(formatEntry) } : { h: digest }),
    })),
    ...(unresolved.length === 0 ? {} : { u: unresolved.map(formatUnresolved) }),
    ...(fights.length === 0 ? {} : { f: fights }),
  });
}

function formatEntry({ id, backend, original, written, seen }: StoredEntry) {
  const names = Object.keys(written);
  const beside = Object.keys(given(seen)).filter((name) => !names.includes(name));
  return {
    i: id,
    ...(backend === undefined ? {} : { b: backend }),
    ...(names.length === 0 ? {} : { o: formatFields(original, names), w: formatFields(written, names) }),
    ...(beside.length === 0 ? {} : { s: formatFields(seen, beside) }),
  };
}

function formatFields(fields: Fields, names: readonly string[]): unknown {
  const isWeight = names.length === 1 && names[0] === 'weight';
  return isWeight ? (fields['weight'] ?? null) : Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
}

function formatUnresolved({ key, id, backend, field, remembered, written }: Unresolved) {
  return {
    k: key,
    i: id,
    ...(backend === undefined ? {} : { b: backend }),
    ...(field === 'weight' ? {} : { f: field }),
    o: remembered.map((value) => value ?? null),
    w: written ?? null,
  };
}

export function backendsOf(rules: readonly StoredRule[]): string[] {
  const names = rules.flatMap(({ entries }) => entries.flatMap(({ backend }) => backend ?? []));
  return [...new Set(names)].toSorted();
}

/** A rule with its user's values, and the values after our write. */
export interface WrittenRule {
  readonly rule: RouteRule;
  readonly entries: readonly OriginalEntry[];
  readonly desired: readonly Fields[];
}

/** Returns the state to store for a route: nothing if we change nothing in it, else all its rules. */
export function storedRules(
  rules: readonly WrittenRule[],
  backendOf: (entry: RouteEntry) => string | undefined,
): StoredRule[] {
  const all = rules.map((one) => storedRule(one, backendOf));
  const isChanged = all.some(({ entries }) => entries.some(({ original, written }) => !equal(original, written)));
  return isChanged ? all : [];
}

function storedRule(
  { rule, entries, desired }: WrittenRule,
  backendOf: (entry: RouteEntry) => string | undefined,
): StoredRule {
  const changed = entries.map(({ original }, at) => changedFields(original, desired[at] ?? {}));
  const isInvolved = entries.some(({ leaving }) => leaving !== undefined) || changed.some((names) => names.length > 0);
  const after = rule.entries.map((entry, at) => ({ ...entry, fields: desired[at] ?? entry.fields }));
  const isKept = new Set(identified({ ...rule, entries: after }).map(({ path, id }) => `${path} ${id}`));
  const stored = entries.flatMap(({ entry, original, leaving }, at): StoredEntry[] => {
    const seen = desired[at] ?? entry.fields;
    // The weight of a leaving service is reported even if it was 0 already.
    const isWeighed = leaving !== undefined && 'weight' in original;
    const names = changed[at]?.length === 0 && isWeighed ? ['weight'] : (changed[at] ?? []);
    if (names.length === 0 && !isKept.has(`${entry.path} ${entry.id}`)) return [];
    const backend = leaving === undefined || names.length === 0 ? undefined : backendOf(entry);
    return [{ id: entry.id, backend, original: pick(original, names), written: pick(seen, names), seen }];
  });
  const head = { key: rule.key, name: rule.name };
  return isInvolved ? { ...head, entries: stored } : { ...head, entries: [], digest: digestOf(stored) };
}

function changedFields(before: Fields, after: Fields): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !equal(before[name], after[name]));
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

/** A rule with its user's values. */
export interface OriginalRule {
  readonly rule: RouteRule;
  /** Whether anything was stored of it. */
  readonly isKnown: boolean;
  /** In the order of the rule's entries. */
  readonly originals: readonly FoundOriginal[];
}

export interface FoundOriginal {
  readonly entry: RouteEntry;
  readonly original: Fields;
  readonly isOverwritten: boolean;
  readonly unresolved: readonly Unresolved[];
}

/** Takes our values back out of a route, so that the values that its user means remain. */
export function originalsOf(
  rules: readonly RouteRule[],
  state: StoredState,
  backendOf: (entry: RouteEntry) => string | undefined,
): OriginalRule[] {
  const found = withRenames(recognise(rules, state.rules), { rules, stored: state.rules, backendOf });
  return rules.map((rule) => ({
    rule,
    isKnown: rule.entries.some((entry) => found.has(entry)),
    originals: rule.entries.map((entry) => originalOf(rule, entry, found.get(entry) ?? [])),
  }));
}

function originalOf(
  { key }: RouteRule,
  entry: RouteEntry,
  candidates: readonly (Candidate | undefined)[],
): FoundOriginal {
  const original: Record<string, unknown> = { ...entry.fields };
  const unresolved: Unresolved[] = [];
  const known = candidates.filter((one) => one !== undefined);
  for (const field of new Set(known.flatMap(({ stored }) => Object.keys(stored.written)))) {
    const now = entry.fields[field];
    // A value that was changed since is intended: it is the original now.
    const values = candidates.map((one) =>
      one !== undefined && isOursIn(entry, field, one) ? one.stored.original[field] : now,
    );
    const isOne = values.every((value) => equal(value, values[0]));
    if (isOne && !known.some(({ isGuess }) => isGuess)) {
      original[field] = values[0];
      continue;
    }
    const remembered = distinct(
      known.flatMap((one) => (isOursIn(entry, field, one) ? [one.stored.original[field]] : [])),
    );
    if (remembered.every((value) => equal(value, now))) continue;
    const backend = known.find(({ stored }) => stored.backend !== undefined)?.stored.backend;
    unresolved.push({ key, id: entry.id, backend, field, remembered, written: now });
  }
  const isOverwritten = known.some(
    ({ stored, isGuess }) =>
      !isGuess &&
      Object.entries(stored.written).some(
        ([name, ours]) => !equal(entry.fields[name], ours) && !equal(ours, stored.original[name]),
      ),
  );
  return { entry: { ...entry, role: roleOf(entry, original) }, original, isOverwritten, unresolved };
}

/** Returns whether a field has the value that we wrote. An absent field shows nothing by itself, unless the rule is the same. */
function isOursIn({ fields }: RouteEntry, field: string, { stored, isSameRule }: Candidate): boolean {
  const ours = stored.written[field];
  if (!equal(fields[field], ours)) return false;
  const shown = Object.entries(stored.written).filter(([, value]) => value !== undefined);
  return ours !== undefined || isSameRule || shown.some(([name, value]) => equal(fields[name], value));
}

function distinct(values: readonly unknown[]): unknown[] {
  return values.filter((value, at) => values.findIndex((other) => equal(other, value)) === at);
}

/** A mirror that is drained looks like a service. */
function roleOf({ role }: RouteEntry, { mirror }: Fields): RouteEntry['role'] {
  if (role !== 'mirror' && role !== 'service') return role;
  return mirror === true ? 'mirror' : 'service';
}

/** Those of before that still stand as they were, and the new ones. */
export function stillUnresolved(
  rules: readonly RouteRule[],
  before: readonly Unresolved[],
  now: readonly Unresolved[],
): Unresolved[] {
  const isSame = (left: Unresolved, right: Unresolved) =>
    left.key === right.key && left.id === right.id && left.field === right.field;
  const open = before.filter((one) => unresolvedIn(rules, one) !== undefined);
  return [...open.filter((one) => !now.some((other) => isSame(one, other))), ...now];
}

/** Where it stands: in its rule, or in one that leads to the same. */
export function unresolvedIn(
  rules: readonly RouteRule[],
  { key, id, field, written }: Unresolved,
): { rule: RouteRule; entry: RouteEntry } | undefined {
  const found = rules.flatMap((rule) =>
    rule.entries.flatMap((entry) =>
      targetOf(entry.id) === targetOf(id) && equal(entry.fields[field], written) ? [{ rule, entry }] : [],
    ),
  );
  return found.find(({ rule, entry }) => rule.key === key && entry.id === id) ?? found[0];
}
