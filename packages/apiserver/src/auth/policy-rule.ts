// A rule of a Role, and the two questions about rules: does it allow this request, and do these rules cover those.
import { isObject } from '../json/copy.ts';
import { type Attributes, isPath } from './attributes.ts';

export interface PolicyRule {
  verbs: readonly string[];
  apiGroups?: readonly string[];
  resources?: readonly string[];
  resourceNames?: readonly string[];
  nonResourceURLs?: readonly string[];
}

/** Whether one rule allows the request. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (isPath(attributes)) return (rule.nonResourceURLs ?? []).some((url) => urlCovers(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  if (!hasOrAll(rule.apiGroups ?? [], group)) return false;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  if (!(rule.resources ?? []).some((one) => resourceCovers(one, full))) return false;
  const names = rule.resourceNames ?? [];
  return names.length === 0 || names.includes(name);
}

/** The parts of `wanted` that no rule of `held` allows, compacted as Kubernetes prints them. */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing = wanted.flatMap(broken).filter((part) => !held.some((rule) => covers(rule, part)));
  const merged = new Map<string, PolicyRule>();
  for (const rule of missing) {
    const { verbs, ...rest } = rule;
    // A duplicate request is reported twice, as Kubernetes does. Rules about paths stay apart.
    const id = rule.nonResourceURLs ? `${merged.size}` : JSON.stringify(rest);
    merged.set(id, { ...rule, verbs: [...(merged.get(id)?.verbs ?? []), ...verbs] });
  }
  return [...merged.values()];
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
export function describeRule(rule: PolicyRule): string {
  const fields: [string, readonly string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const parts = fields.filter(([, values]) => values && values.length > 0);
  return `{${parts.map(([name, values]) => `${name}:${goList(values ?? [])}`).join(', ')}}`;
}

/** A list as Go's %q prints it. */
export const goList = (values: readonly string[]) => `[${values.map((one) => JSON.stringify(one)).join(' ')}]`;

/** Returns the rules of a stored role; invalid ones are left out. */
export function rulesOf(role: object): PolicyRule[] {
  const { rules } = role as { rules?: unknown };
  if (!Array.isArray(rules)) return [];
  return rules.filter((rule): rule is PolicyRule => isObject(rule) && Array.isArray(rule['verbs']));
}

const hasOrAll = (values: readonly string[], wanted: string) => values.includes('*') || values.includes(wanted);

const orOne = (values: readonly string[] | undefined): (string | undefined)[] =>
  values && values.length > 0 ? [...values] : [undefined];

/** `pods`, `pods/log`, `*`, and a star before `/scale` for a subresource of whatever. */
function resourceCovers(held: string, wanted: string): boolean {
  if (held === '*' || held === wanted) return true;
  const [, subresource] = wanted.split('/', 2);
  return subresource !== undefined && held === `*/${subresource}`;
}

function urlCovers(held: string, wanted: string): boolean {
  if (held === '*' || held === wanted) return true;
  return held.endsWith('*') && wanted.startsWith(held.slice(0, -1));
}

/** One rule as rules with one verb, one group, one resource and one name each. */
function broken(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const name of orOne(rule.resourceNames)) {
        for (const verb of rule.verbs) {
          const names = name === undefined ? {} : { resourceNames: [name] };
          parts.push({ apiGroups: [group], resources: [resource], ...names, verbs: [verb] });
        }
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return parts;
}

function covers(held: PolicyRule, part: PolicyRule): boolean {
  if (!hasOrAll(held.verbs, part.verbs[0] ?? '')) return false;
  const [url] = part.nonResourceURLs ?? [];
  if (url !== undefined) return (held.nonResourceURLs ?? []).some((one) => urlCovers(one, url));
  if (!hasOrAll(held.apiGroups ?? [], part.apiGroups?.[0] ?? '')) return false;
  if (!(held.resources ?? []).some((one) => resourceCovers(one, part.resources?.[0] ?? ''))) return false;
  const names = held.resourceNames ?? [];
  const [name] = part.resourceNames ?? [];
  return names.length === 0 || (name !== undefined && names.includes(name));
}
