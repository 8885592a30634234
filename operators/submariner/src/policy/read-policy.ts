// A CablePolicies object as the resolution sees it: one list of rules, whichever of the design's forms the user wrote. The
// object itself is never rewritten.
import {
  type FieldError,
  forbiddenField,
  invalidField,
  invalidFieldWithoutValue,
  isJsonObject,
  type JsonObject,
  type ObjectMeta,
  requiredField,
  tooMany,
  unsupportedValue,
} from '@capstan/kube';
import { BROKER_ORIGIN, CREATED_AT_ANNOTATION, ORIGIN_LABEL, REAL_NAME_ANNOTATION } from '../kinds/index.ts';
import { DRIVER_NAMES, type DriverName, driverNameOf } from './driver-names.ts';
import { validateOptions } from './driver-options.ts';
import { type RuleOptions, readOptions } from './rule-options.ts';
import { ANY_CLUSTER, type ClusterSelector, readSelector } from './selector.ts';

export const DEFAULT_POLICY = 'default';
export const MAX_RULES = 64;

export interface CableRule {
  readonly policy: string;
  readonly index: number;
  readonly left: ClusterSelector;
  readonly right: ClusterSelector;
  readonly driver: DriverName;
  readonly options: RuleOptions;
  /** Higher wins; 0 by default. */
  readonly priority: number;
  readonly onUnavailable: 'fail' | 'default';
}

export interface Policy {
  readonly name: string;
  /** When it was first created, wherever that was; undefined counts as latest. */
  readonly createdAt: string | undefined;
  readonly origin: string;
  /** Empty while there are problems. */
  readonly rules: readonly CableRule[];
  readonly problems: readonly FieldError[];
  /** Settings that are legal and most likely a mistake. */
  readonly warnings: readonly string[];
}

/** The rules of a policy, or everything that is wrong with it. */
export function readPolicy(object: { readonly metadata: ObjectMeta; readonly spec?: unknown }): Policy {
  const name = object.metadata.annotations?.[REAL_NAME_ANNOTATION] ?? object.metadata.name ?? '';
  const problems: FieldError[] = [];
  const list = Array.isArray(object.spec) ? object.spec : object.spec === undefined ? [] : [object.spec];
  if (list.length === 0) problems.push(requiredField('spec', 'at least one connection policy must be specified'));
  if (list.length > MAX_RULES) problems.push(tooMany('spec', list.length, MAX_RULES));
  const rules = list.map((given, index) => readRule(name, given, index, problems));
  if (name === DEFAULT_POLICY) problems.push(...problemsOfDefault(rules));
  return {
    name,
    createdAt: object.metadata.annotations?.[CREATED_AT_ANNOTATION],
    origin: object.metadata.labels?.[ORIGIN_LABEL] ?? BROKER_ORIGIN,
    rules: problems.length > 0 ? [] : rules,
    problems,
    warnings: list.flatMap((given, index) => emptyValues(given, `spec[${index}]`)),
  };
}

/** A client that drops the YAML tag in `env: !production` sends an empty value, which a label may have. */
function emptyValues(given: unknown, path: string): string[] {
  const rule = isJsonObject(given) ? given : {};
  return ['leftClusterSelector', 'rightClusterSelector'].flatMap((side) => {
    const selector = rule[side];
    if (!isJsonObject(selector)) return [];
    const labels = isJsonObject(selector['matchLabels']) ? selector['matchLabels'] : selector;
    return Object.entries(labels).flatMap(([key, value]) =>
      value === ''
        ? [
            `${path}.${side}[${key}]: selects clusters whose label ${key} is empty; if !production or the like was meant, quote it: ${key}: "!production"`,
          ]
        : [],
    );
  });
}

/** `name`, or `name[index]` where the policy has several rules. */
export function ruleLabel(rule: CableRule, rules: number): string {
  return rules === 1 ? rule.policy : `${rule.policy}[${rule.index}]`;
}

function problemsOfDefault(rules: readonly CableRule[]): FieldError[] {
  if (rules.length > 1) {
    const detail = `the "${DEFAULT_POLICY}" policy must have exactly one entry`;
    return [{ ...tooMany('spec', rules.length, 1), detail, message: `spec: Too many: ${rules.length}: ${detail}` }];
  }
  const isSelective = rules.some(({ left, right }) => left.compiled.terms.length + right.compiled.terms.length > 0);
  return isSelective ? [forbiddenField('spec[0]', `the "${DEFAULT_POLICY}" policy cannot have cluster selectors`)] : [];
}

function readRule(policy: string, given: unknown, index: number, problems: FieldError[]): CableRule {
  const path = `spec[${index}]`;
  const rule = isJsonObject(given) ? given : {};
  if (!isJsonObject(given)) problems.push(invalidField(path, given, 'must be an object'));
  const unknown = Object.keys(rule).filter((field) => !FIELDS.has(field));
  for (const field of unknown) problems.push(forbiddenField(`${path}.${field}`, 'unknown field'));
  const driver = readDriver(rule, path, problems);
  const nested = isJsonObject(rule['cableDriver']) ? rule['cableDriver']['options'] : undefined;
  const options = readOptions(
    nested === undefined
      ? { given: rule['options'], path: `${path}.options` }
      : { given: nested, path: `${path}.cableDriver.options` },
    problems,
  );
  if (nested !== undefined && rule['options'] !== undefined)
    problems.push(invalidFieldWithoutValue(path, 'options given as both "options" and "cableDriver.options"'));
  if (driver !== undefined) problems.push(...validateOptions(driver, options.data, `${path}.cableDriver.options.data`));
  return {
    policy,
    index,
    left: readSide(rule, 'leftClusterSelector', path, problems),
    right: readSide(rule, 'rightClusterSelector', path, problems),
    driver: driver ?? 'none',
    options,
    priority: readPriority(rule['priority'], path, problems),
    onUnavailable: readOnUnavailable(rule['onUnavailable'], path, problems),
  };
}

const FIELDS = new Set([
  'leftClusterSelector',
  'rightClusterSelector',
  'cableDriver',
  'name',
  'options',
  'priority',
  'onUnavailable',
]);

function readSide(rule: JsonObject, field: string, path: string, problems: FieldError[]): ClusterSelector {
  return Object.hasOwn(rule, field) ? readSelector(rule[field], `${path}.${field}`, problems) : ANY_CLUSTER;
}

function readDriver(rule: JsonObject, path: string, problems: FieldError[]): DriverName | undefined {
  const { cableDriver, name } = rule;
  const nested = isJsonObject(cableDriver) ? cableDriver['name'] : cableDriver;
  if (isJsonObject(cableDriver)) {
    for (const field of Object.keys(cableDriver).filter((each) => each !== 'name' && each !== 'options'))
      problems.push(forbiddenField(`${path}.cableDriver.${field}`, 'unknown field'));
  }
  const field = `${path}.cableDriver.name`;
  const found = [nested, name].filter((value) => value !== undefined && value !== null && value !== '');
  const [first] = found;
  if (first === undefined) {
    problems.push(requiredField(field));
    return undefined;
  }
  if (typeof first !== 'string' || found.some((value) => typeof value !== 'string')) {
    problems.push(invalidField(field, first, 'must be a string'));
    return undefined;
  }
  const drivers = found.map((value) => driverNameOf(String(value)));
  if (found.length === 2 && drivers[0] !== drivers[1]) {
    const detail = `cable driver given as both "name" (${JSON.stringify(name)}) and "cableDriver" (${JSON.stringify(nested)})`;
    problems.push(invalidFieldWithoutValue(path, detail));
    return undefined;
  }
  const [driver] = drivers;
  if (driver === undefined) problems.push(unsupportedValue(field, first, DRIVER_NAMES));
  return driver;
}

const PRIORITY_LIMIT = 1000;

function readPriority(given: unknown, path: string, problems: FieldError[]): number {
  if (given === undefined || given === null) return 0;
  if (typeof given === 'number' && Number.isInteger(given) && Math.abs(given) <= PRIORITY_LIMIT) return given;
  const detail = `must be an integer between -${PRIORITY_LIMIT} and ${PRIORITY_LIMIT}, inclusive`;
  problems.push(invalidField(`${path}.priority`, given, detail));
  return 0;
}

function readOnUnavailable(given: unknown, path: string, problems: FieldError[]): 'fail' | 'default' {
  if (given === undefined || given === null) return 'fail';
  if (given === 'fail' || given === 'default') return given;
  problems.push(unsupportedValue(`${path}.onUnavailable`, given, ['default', 'fail']));
  return 'fail';
}
