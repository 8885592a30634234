// The constraints in Envoy's .proto files, checked before a resource is sent: Envoy refuses a violation and, for some types, everything
// else in the response with it. Regular expressions are checked too, as RE2 reads them.
import { compileRegexp } from '@capstan/kube';
import { CONFIG_SOURCE } from './delivery.ts';
import { Fragment, FragmentChunk } from './encode.ts';
import type { Any, Messages, StatusCode, WeightedCluster } from './gen/types.ts';
import type { MessageName } from './message-types.ts';
import { regexProblem } from './regex.ts';
import { enumTable, type Field, type MessageTable, messageTable, type RuleSet, TYPE_URL_PREFIX } from './tables.ts';

export interface Violation {
  /** From the resource: `virtual_hosts[0].routes[2].match.safe_regex.regex`. */
  readonly path: string;
  readonly problem: string;
}

/** Returns the violations that Envoy would refuse; empty when the value is valid. */
export function validate<Name extends MessageName>(type: Name, value: Messages[Name] | Fragment<Name>): Violation[] {
  const found: Violation[] = [];
  checkMessage(type, value, '', found);
  return found;
}

/** Returns the values in an extension's configuration that Envoy would refuse. */
export function validateAny(value: Any): Violation[] {
  const found: Violation[] = [];
  checkMessage('google.protobuf.Any', value, '', found);
  return found;
}

/** A message of any type. */
type Fields = { readonly [field: string]: unknown };

const checkedFragments = new WeakMap<Fragment, readonly Violation[]>();

function checkMessage(type: string, value: unknown, path: string, found: Violation[]): void {
  if (value instanceof Fragment) {
    const fragment = value as Fragment;
    let violations = checkedFragments.get(fragment);
    if (!violations) {
      violations = validate(fragment.type, fragment.value);
      checkedFragments.set(fragment, violations);
    }
    found.push(...violations.map((each) => ({ ...each, path: join(path, each.path) })));
    return;
  }
  if (value === CONFIG_SOURCE || typeof value !== 'object' || value === null) return;
  if (type === 'google.protobuf.Any') {
    const url = (value as Fields)['@type'];
    if (typeof url === 'string') checkMessage(url.slice(TYPE_URL_PREFIX.length), value, path, found);
    return;
  }
  const table = messageTable(type);
  if (!table) return;
  for (const field of requiringFields(table))
    if ((value as Fields)[field.name] === undefined) checkField(field, undefined, path, found);
  for (const name of Object.keys(value)) {
    const field = table.byName.get(name);
    const content = (value as Fields)[name];
    if (field && content !== undefined) checkField(field, content, path, found);
  }
  checkOneofs(table, value as Fields, path, found);
  if (type === 'envoy.config.route.v3.WeightedCluster') checkWeights(value, path, found);
  if (type === 'envoy.type.matcher.v3.RegexMatcher') checkRegex((value as Fields)['regex'], join(path, 'regex'), found);
}

const requiring = new WeakMap<MessageTable, readonly Field[]>();

/** Fields with rules that something which is not set can break. */
function requiringFields(table: MessageTable): readonly Field[] {
  let fields = requiring.get(table);
  if (!fields) {
    fields = [...table.byName.values()].filter((field) => {
      const found: Violation[] = [];
      checkField(field, undefined, '', found);
      return found.length > 0;
    });
    requiring.set(table, fields);
  }
  return fields;
}

function checkOneofs(table: MessageTable, value: Fields, path: string, found: Violation[]): void {
  const set = new Map<string, string>();
  for (const name of Object.keys(value)) {
    const oneof = value[name] === undefined ? undefined : table.byName.get(name)?.oneof;
    if (oneof === undefined) continue;
    const other = set.get(oneof);
    if (other !== undefined) found.push({ path: join(path, name), problem: `is set together with ${other}` });
    set.set(oneof, name);
  }
  for (const oneof of table.required) {
    if (!set.has(oneof)) found.push({ path: join(path, oneof), problem: 'is required: one of its fields must be set' });
  }
}

/** Not a constraint of the messages: Envoy adds the weights in 32 bits. */
function checkWeights({ clusters }: WeightedCluster, path: string, found: Violation[]): void {
  const weights = (clusters ?? []).map(({ weight = 0 }) => weight);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (sum > 4_294_967_295)
    found.push({
      path: join(path, 'clusters'),
      problem: `has weights of ${sum} in total; at most 4294967295 is allowed`,
    });
}

/** Lists of headers that Envoy sets or removes. */
const HEADERS = /_headers_to_(add|remove)$/;

/** Nor is this one: the host has fields of its own. */
function checkHeaders(items: readonly unknown[], path: string, found: Violation[]): void {
  for (const [index, item] of items.entries()) {
    const name = typeof item === 'string' ? item : (item as { header?: { key?: string } }).header?.key;
    if (name?.startsWith(':') === true || name?.toLowerCase() === 'host')
      found.push({ path: `${path}[${index}]`, problem: `is ${name}, which cannot be changed here` });
  }
}

function checkRegex(regex: unknown, path: string, found: Violation[]): void {
  const problem = regexProblem(String(regex));
  if (problem !== undefined) found.push({ path, problem: `is not a regular expression of RE2: ${problem}` });
}

function checkField(field: Field, value: unknown, parent: string, found: Violation[]): void {
  const { rules } = field;
  const report = (problem: string) => found.push({ path: join(parent, field.name), problem });
  if (field.label === 'list') {
    const listed: readonly unknown[] = Array.isArray(value) ? value : [];
    const isComposed = listed[0] instanceof FragmentChunk;
    const items = isComposed
      ? listed.flatMap((item) => (item instanceof FragmentChunk ? item.fragments : item))
      : listed;
    if (HEADERS.test(field.name)) checkHeaders(items, join(parent, field.name), found);
    checkSize(items, rules?.['repeated'] ?? {}, report);
    const itemRules = rules?.['repeated']?.['items'] as Record<string, RuleSet> | undefined;
    items.forEach((item, index) => {
      const path = `${join(parent, field.name)}[${index}]`;
      if (itemRules) checkValue(field, item, itemRules, (problem) => found.push({ path, problem }));
      checkMessage(field.type, item, path, found);
    });
    return;
  }
  if (field.label === 'map') {
    const keyRules = rules?.['map']?.['keys'] as Record<string, RuleSet> | undefined;
    const pairs = Object.entries((value as Fields | undefined) ?? {});
    const least = rules?.['map']?.['min_pairs'];
    if (typeof least === 'number' && pairs.length < least)
      report(`has ${pairs.length} entries; at least ${least} are needed`);
    for (const [key, item] of pairs) {
      const path = `${join(parent, field.name)}[${JSON.stringify(key)}]`;
      if (keyRules?.['string']) checkText(key, keyRules['string'], (problem) => found.push({ path, problem }));
      checkMessage(field.type, item, path, found);
    }
    return;
  }
  if (value === undefined) {
    const isMissing =
      rules?.['message']?.['required'] === true ||
      rules?.['any']?.['required'] === true ||
      rules?.['duration']?.['required'] === true;
    if (isMissing && field.oneof === undefined) report('is required');
    // A scalar that is not set has its default, and the rules hold for that too; a wrapper has no value then.
    else if (rules && field.oneof === undefined && field.type in DEFAULTS)
      checkValue(field, DEFAULTS[field.type], rules, report);
    return;
  }
  const range = RANGES[field.type];
  // The encoder would keep the lowest bits, which are another value.
  if (range !== undefined && typeof value === 'number' && (value < range[0] || value > range[1]))
    report(`is ${value}; it must be between ${range[0]} and ${range[1]}`);
  else if (
    field.type === 'google.protobuf.Duration' &&
    typeof value === 'string' &&
    Number.parseFloat(value) > DURATION_MAX_SECONDS
  )
    report(`is ${value}; it must be at most ${DURATION_MAX_SECONDS}s`);
  // Most durations have no such constraint: Envoy refuses negative ones when it uses them, sometimes with a message that names no resource.
  else if (field.type === 'google.protobuf.Duration' && typeof value === 'string' && Number.parseFloat(value) < 0)
    report(`is ${value}; it must not be negative`);
  else if (rules) checkValue(field, value, rules, report);
  checkMessage(field.type, value, join(parent, field.name), found);
}

/** Envoy counts nanoseconds in 64 bits. */
const DURATION_MAX_SECONDS = 9_223_372_036;

const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  uint32: [0, 4_294_967_295],
  int32: [-2_147_483_648, 2_147_483_647],
  'google.protobuf.UInt32Value': [0, 4_294_967_295],
};

const DEFAULTS: Readonly<Record<string, unknown>> = {
  string: '',
  bool: false,
  uint32: 0,
  uint64: 0,
  int32: 0,
  int64: 0,
  double: 0,
  float: 0,
};

function checkSize(items: readonly unknown[], rules: RuleSet, report: (problem: string) => void): void {
  const { min_items: least, max_items: most, unique } = rules;
  if (typeof least === 'number' && items.length < least)
    report(`has ${items.length} items; at least ${least} are needed`);
  if (typeof most === 'number' && items.length > most) report(`has ${items.length} items; at most ${most} are allowed`);
  if (unique === true && new Set(items).size < items.length) report('has the same item twice');
}

function checkValue(
  field: Field,
  value: unknown,
  rules: Record<string, RuleSet>,
  report: (problem: string) => void,
): void {
  for (const [kind, rule] of Object.entries(rules)) {
    if (kind === 'string') checkText(String(value), rule, report);
    else if (kind === 'enum') checkEnum(field, value, rule, report);
    else if (kind === 'duration') checkDuration(String(value), rule, report);
    else if (kind === 'bytes') checkBytes(value, rule, report);
    else if (kind === 'bool') {
      if (rule['const'] !== undefined && value !== rule['const']) report(`must be ${JSON.stringify(rule['const'])}`);
    } else if (NUMERIC.has(kind)) checkNumber(Number(value), rule, report);
  }
}

const NUMERIC = new Set(['uint32', 'uint64', 'int32', 'int64', 'double', 'float']);

function checkNumber(value: number, rule: RuleSet, report: (problem: string) => void): void {
  const { gt, gte, lt, lte } = rule;
  if (typeof gt === 'number' && !(value > gt)) report(`is ${value}; it must be greater than ${gt}`);
  if (typeof gte === 'number' && !(value >= gte)) report(`is ${value}; it must be at least ${gte}`);
  if (typeof lt === 'number' && !(value < lt)) report(`is ${value}; it must be less than ${lt}`);
  if (typeof lte === 'number' && !(value <= lte)) report(`is ${value}; it must be at most ${lte}`);
}

function checkText(value: string, rule: RuleSet, report: (problem: string) => void): void {
  if (value === '' && rule['ignore_empty'] === true) return;
  const { min_len: least, max_bytes: most, prefix, suffix, pattern } = rule;
  if (typeof least === 'number' && value.length < least) report(value === '' ? 'is empty' : `is shorter than ${least}`);
  if (typeof most === 'number' && Buffer.byteLength(value) > most) report(`has more than ${most} bytes`);
  if (typeof prefix === 'string' && !value.startsWith(prefix)) report(`does not begin with ${prefix}`);
  if (typeof suffix === 'string' && !value.endsWith(suffix)) report(`does not end with ${suffix}`);
  if (typeof pattern === 'string' && !compileRegexp(pattern).test(value)) report(`does not match ${pattern}`);
  if (Array.isArray(rule['in']) && !rule['in'].includes(value))
    report(`is "${value}"; use one of ${rule['in'].join(', ')}`);
  const kind = rule['well_known_regex'];
  if (kind === undefined) return;
  if (FORBIDDEN_IN_HEADERS.some((each) => value.includes(each))) report('has a line break or a NUL');
  // Constraints are strict where they do not say otherwise.
  else if (rule['strict'] !== false && !(kind === 'HTTP_HEADER_NAME' ? HEADER_NAME : HEADER_VALUE).test(value))
    report('has a character that is not allowed in a header');
}

const FORBIDDEN_IN_HEADERS = ['\0', '\n', '\r'];
const HEADER_NAME = /^:?[0-9a-zA-Z!#$%&'*+,.^_|~`-]+$/;
/** Visible characters, spaces and tabs. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;

function checkBytes(value: unknown, rule: RuleSet, report: (problem: string) => void): void {
  const length = value instanceof Uint8Array ? value.length : Buffer.byteLength(typeof value === 'string' ? value : '');
  const { min_len: least, max_len: most } = rule;
  if (typeof least === 'number' && length < least) report(`has ${length} bytes; at least ${least} are needed`);
  if (typeof most === 'number' && length > most) report(`has ${length} bytes; at most ${most} are allowed`);
}

function checkEnum(field: Field, value: unknown, rule: RuleSet, report: (problem: string) => void): void {
  const number = typeof value === 'number' ? value : (enumTable(field.type)?.byName.get(String(value)) ?? 0);
  const excluded = rule['not_in'];
  const isExcluded = Array.isArray(excluded) ? excluded.includes(number) : excluded === number;
  const isUnknown = rule['defined_only'] === true && !isEnumNumber(field.type, number);
  if (isExcluded || isUnknown) report(`is ${String(value)}, which is not allowed here`);
}

/** The name of a status that Envoy can answer with. */
export function statusCode(code: number): StatusCode | undefined {
  return enumTable('envoy.type.v3.StatusCode')?.byNumber.get(code) as StatusCode | undefined;
}

/** Whether an enum has a value of this number. */
export function isEnumNumber(type: string, number: number): boolean {
  for (const each of enumTable(type)?.byName.values() ?? []) if (each === number) return true;
  return false;
}

function checkDuration(value: string, rule: RuleSet, report: (problem: string) => void): void {
  const seconds = Number(value.slice(0, -1));
  const { gt, gte, lt, lte } = rule as Record<string, { seconds?: number; nanos?: number } | undefined>;
  const bound = (each: { seconds?: number; nanos?: number }) => (each.seconds ?? 0) + (each.nanos ?? 0) / 1e9;
  if (gt && !(seconds > bound(gt))) report(`is ${value}; it must be longer than ${bound(gt)}s`);
  if (gte && !(seconds >= bound(gte))) report(`is ${value}; it must be at least ${bound(gte)}s`);
  if (lt && !(seconds < bound(lt))) report(`is ${value}; it must be shorter than ${bound(lt)}s`);
  if (lte && !(seconds <= bound(lte))) report(`is ${value}; it must be at most ${bound(lte)}s`);
}

function join(parent: string, name: string): string {
  if (parent === '') return name;
  return name === '' ? parent : `${parent}.${name}`;
}
