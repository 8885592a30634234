// Conditions of routes and includes, checked and merged along the chain of includes; the order of routes that follows from them,
// and the names of hosts.
import { regexProblem } from '../envoy/index.ts';
import type { MatchCondition, ProxyVirtualHost } from '../kinds/http-proxy.ts';
import type { HeaderMatch, PathMatch, QueryMatch, RouteMatch } from '../model/match.ts';
import type { Route } from '../model/route.ts';
import type { Reporter } from '../result.ts';

type Conditions = readonly MatchCondition[];

/** Returns the problem of the path conditions of one list, from `conditions` on, or undefined. */
export function pathProblem(conditions: Conditions, isInclude: boolean): string | undefined {
  const paths = conditions.flatMap(({ prefix, exact, regex }, index) => [
    ...(prefix ? [[index, 'prefix', prefix] as const] : []),
    ...(exact ? [[index, 'exact', exact] as const] : []),
    ...(regex ? [[index, 'regex', regex] as const] : []),
  ]);
  const other = isInclude ? paths.find(([, kind]) => kind !== 'prefix') : undefined;
  if (other)
    return `conditions[${other[0]}].${other[1]}: an include can only have a prefix; put ${other[1]} into the routes of the included HTTPProxy`;
  if (paths.length > 1)
    return `conditions: there is more than one of prefix, exact and regex (${paths.map(([, kind]) => kind).join(', ')}); keep one`;
  for (const [index, kind, value] of paths) {
    if (!value.startsWith('/'))
      return `conditions[${index}].${kind}: ${JSON.stringify(value)} does not start with "/"; write ${JSON.stringify(`/${value}`)}`;
    if (kind === 'regex') {
      const problem = regexProblem(value);
      if (problem !== undefined) return `conditions[${index}].regex: ${notRegex(value, problem)}`;
    }
  }
  return undefined;
}

/** Returns the text after the field in the message about a regular expression. */
export function notRegex(value: string, problem: string): string {
  const why = problem.replace(/^error parsing regexp: /, '');
  return `${JSON.stringify(value)} is not a regular expression of RE2 (${why}); correct it, without look-around and back-references`;
}

/** The first `inherited` conditions are those of includes: with them a route may contradict itself. */
export function headerProblem(conditions: Conditions, inherited = 0): string | undefined {
  const exact = new Set<string>();
  const seen = new Map<string, Set<string>>();
  for (const [index, { header }] of conditions.entries()) {
    if (!header) continue;
    const at = placeOf(index, inherited, 'header');
    const name = header.name.toLowerCase();
    const kinds = new Set(
      (['present', 'notpresent', 'contains', 'notcontains', 'exact', 'notexact', 'regex'] as const).filter(
        (kind) => header[kind] !== undefined && header[kind] !== false && header[kind] !== '',
      ),
    );
    if (header.regex !== undefined && header.regex !== '') {
      const problem = regexProblem(header.regex);
      if (problem !== undefined) return `${at}.regex: ${notRegex(header.regex, problem)}`;
    }
    if (kinds.has('exact')) {
      if (exact.has(name))
        return `${at}.exact: the header ${JSON.stringify(header.name)} has another exact condition; no request meets both, keep one`;
      exact.add(name);
    }
    const before = seen.get(name) ?? new Set<string>();
    for (const [one, other] of OPPOSITES) {
      const value = header[one];
      if (!kinds.has(one)) continue;
      const id = `${other}\0${typeof value === 'string' ? value : ''}`;
      if (before.has(id))
        return `${at}.${one}: the header ${JSON.stringify(header.name)} has the condition ${other} with the same value; no request meets both, keep one`;
      before.add(`${one}\0${typeof value === 'string' ? value : ''}`);
    }
    seen.set(name, before);
  }
  return undefined;
}

const OPPOSITES = [
  ['present', 'notpresent'],
  ['notpresent', 'present'],
  ['contains', 'notcontains'],
  ['notcontains', 'contains'],
  ['exact', 'notexact'],
  ['notexact', 'exact'],
] as const;

/** Conditions of headers that match every request, because they name no value; as upstream, they are passed over. */
export function emptyHeaders(conditions: Conditions): string[] {
  return conditions.flatMap((condition, index) =>
    condition.header && mergeHeaders([condition]).length === 0
      ? [
          `conditions[${index}].header: it has no condition and is ignored; set one of present, notpresent, contains, notcontains, exact, notexact and regex`,
        ]
      : [],
  );
}

/** `conditions[1].header`; of a condition that an include brings, the include is named instead. */
function placeOf(index: number, inherited: number, field: string): string {
  return index < inherited ? `conditions of the include, ${field}` : `conditions[${index - inherited}].${field}`;
}

export function queryProblem(conditions: Conditions, inherited = 0): string | undefined {
  const exact = new Set<string>();
  for (const [index, { queryParameter }] of conditions.entries()) {
    if (!queryParameter) continue;
    const at = placeOf(index, inherited, 'queryParameter');
    const kinds = QUERY_KINDS.filter(
      (kind) => queryParameter[kind] !== undefined && queryParameter[kind] !== false && queryParameter[kind] !== '',
    );
    if (kinds.length !== 1)
      return `${at}: ${kinds.length === 0 ? 'there is no condition' : `there are ${kinds.length} conditions (${kinds.join(', ')})`}; set exactly one of exact, prefix, suffix, regex, contains and present`;
    if (queryParameter.regex !== undefined && queryParameter.regex !== '') {
      const problem = regexProblem(queryParameter.regex);
      if (problem !== undefined) return `${at}.regex: ${notRegex(queryParameter.regex, problem)}`;
    }
    if (kinds[0] === 'exact') {
      if (exact.has(queryParameter.name))
        return `${at}.exact: the parameter ${JSON.stringify(queryParameter.name)} has another exact condition; no request meets both, keep one`;
      exact.add(queryParameter.name);
    }
  }
  return undefined;
}

const QUERY_KINDS = ['exact', 'prefix', 'suffix', 'regex', 'contains', 'present'] as const;

/** Prefixes of the chain are concatenated; the last condition decides the kind; one regex makes all of it a regex. */
export function mergePath(conditions: Conditions): PathMatch {
  let value = '';
  let kind: PathMatch['kind'] = 'prefix';
  let hasRegex = false;
  for (const { prefix, exact, regex } of conditions) {
    if (prefix) value = (value + prefix).replace(/\/{2,}/g, '/');
    if (exact) {
      value += exact;
      kind = 'exact';
    }
    if (regex) {
      // Within an expression two slashes may be meant; where it follows a prefix they are not.
      value += value.endsWith('/') && regex.startsWith('/') ? regex.slice(1) : regex;
      hasRegex = true;
    }
  }
  if (hasRegex) return { kind: 'regex', value };
  const collapsed = value.replace(/\/{2,}/g, '/');
  if (kind === 'exact') return { kind, value: collapsed };
  return { kind: 'prefix', value: collapsed === '' ? '/' : collapsed };
}

export function mergeHeaders(conditions: Conditions): HeaderMatch[] {
  const matches: HeaderMatch[] = [];
  for (const { header } of conditions) {
    if (!header) continue;
    const base = {
      name: header.name,
      ignoreCase: header.ignoreCase ?? false,
      treatMissingAsEmpty: header.treatMissingAsEmpty ?? false,
    };
    const add = (kind: HeaderMatch['kind'], value: string, isInverted: boolean) =>
      matches.push({ ...base, kind, value, isInverted });
    // As upstream, the first of them counts.
    if (header.present === true) add('present', '', false);
    else if (header.notpresent === true) add('present', '', true);
    else if (header.contains) add('contains', header.contains, false);
    else if (header.notcontains) add('contains', header.notcontains, true);
    else if (header.exact) add('exact', header.exact, false);
    else if (header.notexact) add('exact', header.notexact, true);
    else if (header.regex) add('regex', header.regex, false);
  }
  return matches;
}

export function mergeQuery(conditions: Conditions): QueryMatch[] {
  const matches: QueryMatch[] = [];
  for (const { queryParameter } of conditions) {
    if (!queryParameter) continue;
    const { name, ignoreCase = false } = queryParameter;
    for (const kind of QUERY_KINDS) {
      const value = queryParameter[kind];
      if (value === true) matches.push({ name, kind, value: '', ignoreCase });
      else if (typeof value === 'string' && value !== '') matches.push({ name, kind, value, ignoreCase });
    }
  }
  return matches;
}

/** Conditions of different includes that a request can only meet both of. */
export function sameConditions(left: Conditions, right: Conditions): boolean {
  return conditionId(left) === conditionId(right);
}

export function conditionId(conditions: Conditions): string {
  const path = mergePath(conditions);
  const headers = mergeHeaders(conditions).map((each) => JSON.stringify(each));
  const query = mergeQuery(conditions).map((each) => JSON.stringify(each));
  return JSON.stringify([path, headers.sort(), query.sort()]);
}

/** Limits a wildcard host to exactly one label, where Envoy's would take several; none for other hosts. */
export function wildcardHeader(host: string): HeaderMatch[] {
  if (!host.startsWith('*.')) return [];
  const rest = host.slice(1).replaceAll('.', '\\.');
  const value = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?${rest}(:[0-9]+)?`;
  return [
    { name: ':authority', kind: 'regex', value, isInverted: false, ignoreCase: false, treatMissingAsEmpty: false },
  ];
}

/**
 * Sorts the routes of a virtual host: Envoy takes the first that matches, so the more specific come first. Among routes that match the same
 * the last one counts.
 */
export function inOrder(routes: readonly Route[]): Route[] {
  const byMatch = new Map<string, Route>();
  for (const route of routes) byMatch.set(matchId(route.match), route);
  return [...byMatch.values()].sort(compareRoutes);
}

export function matchId({ path, headers, query }: RouteMatch): string {
  return JSON.stringify([path, headers, query]);
}

/** On plain HTTP a host with TLS redirects. */
export function upgradeToHttps(route: Route): Route {
  const { match, priority, permitInsecure, origin } = route;
  if (permitInsecure) return route;
  return {
    match,
    ...(priority !== undefined && { priority }),
    action: { kind: 'upgrade' },
    policies: {},
    permitInsecure,
    origin,
  };
}

type OrderedRoute = Pick<Route, 'match' | 'priority'>;

function compareRoutes(left: OrderedRoute, right: OrderedRoute): number {
  return (
    comparePaths(left.match.path, right.match.path) ||
    Number(hasMethod(right.match)) - Number(hasMethod(left.match)) ||
    right.match.headers.length - left.match.headers.length ||
    right.match.query.length - left.match.query.length ||
    (left.priority ?? 0) - (right.priority ?? 0) ||
    compareLists(left.match.headers, right.match.headers, compareHeaders) ||
    compareLists(left.match.query, right.match.query, compareQueries)
  );
}

/** By bytes, as Go compares: the default order of JavaScript is by UTF-16 units. */
export function compareBytes(left: string, right: string): number {
  if (left === right) return 0;
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

const KIND_ORDER = { exact: 0, regex: 1, prefix: 2 } as const;

function comparePaths(left: PathMatch, right: PathMatch): number {
  if (left.kind !== right.kind) return KIND_ORDER[left.kind] - KIND_ORDER[right.kind];
  if (left.kind === 'exact') return compareBytes(right.value, left.value);
  if (left.value.length !== right.value.length) return right.value.length - left.value.length;
  if (left.value !== right.value) return compareBytes(right.value, left.value);
  if (left.kind === 'prefix' && right.kind === 'prefix')
    return Number(right.isSegment ?? false) - Number(left.isSegment ?? false);
  return 0;
}

function hasMethod({ headers }: RouteMatch): boolean {
  return headers.some(({ name }) => name === ':method');
}

function compareLists<T>(left: readonly T[], right: readonly T[], compare: (left: T, right: T) => number): number {
  const [first, second] = [left.toSorted(compare), right.toSorted(compare)];
  for (const [index, each] of first.entries()) {
    const other = second[index];
    const order = other === undefined ? 0 : compare(each, other);
    if (order !== 0) return order;
  }
  return 0;
}

const HEADER_ORDER = { exact: 0, regex: 1, contains: 2, present: 3 } as const;
const QUERY_ORDER = { exact: 0, regex: 1, prefix: 2, suffix: 3, contains: 4, present: 5 } as const;

function compareHeaders(left: HeaderMatch, right: HeaderMatch): number {
  return (
    compareBytes(left.name, right.name) ||
    HEADER_ORDER[left.kind] - HEADER_ORDER[right.kind] ||
    Number(left.isInverted) - Number(right.isInverted) ||
    compareBytes(left.value, right.value)
  );
}

function compareQueries(left: QueryMatch, right: QueryMatch): number {
  return (
    compareBytes(left.name, right.name) ||
    QUERY_ORDER[left.kind] - QUERY_ORDER[right.kind] ||
    compareBytes(left.value, right.value)
  );
}

// The names of a virtual host: `fqdn` and those of `fqdns`. Each is judged by itself, so that a mistake in one concerns that one alone.

/** Every name that no other host has. */
export const ANY_NAME = '*';

export interface HostName {
  readonly fqdn: string;
  /** The field that has it. */
  readonly at: string;
}

/** Returns the names in the order of the fields, in lower case; empty ones are left out. */
export function hostNames({ fqdn, fqdns = [] }: Pick<ProxyVirtualHost, 'fqdn' | 'fqdns'>): HostName[] {
  return [
    { fqdn: fqdn ?? '', at: 'spec.virtualhost.fqdn' },
    ...fqdns.map((each, index) => ({ fqdn: each, at: `spec.virtualhost.fqdns[${index}]` })),
  ].flatMap(({ fqdn: name, at }) => (name === '' ? [] : [{ fqdn: name.toLowerCase(), at }]));
}

/** `olderRoots` has, by name, another HTTPProxy that is older and keeps it. Returns the names that the HTTPProxy may serve. */
export function heldNames(
  host: ProxyVirtualHost,
  olderRoots: ReadonlyMap<string, string>,
  hasFallback: boolean,
  reporter: Reporter,
): string[] {
  if (!host.fqdn) {
    reporter.error(
      'VirtualHostError',
      'FQDNNotSpecified',
      'spec.virtualhost.fqdn: it is empty; write the host that is served',
    );
    return [];
  }
  const held = new Set<string>();
  const original = [host.fqdn, ...(host.fqdns ?? []).filter((each) => each !== '')];
  for (const [index, { fqdn, at }] of hostNames(host).entries()) {
    const shown = JSON.stringify(original[index] ?? fqdn);
    const older = olderRoots.get(fqdn);
    if (!isFqdn(fqdn))
      reporter.error(
        'VirtualHostError',
        'FQDNNotSpecified',
        `${at}: ${shown} is not a host name; write one such as shop.example.com, *.example.com or *`,
      );
    else if (older !== undefined)
      reporter.error(
        'VirtualHostError',
        'DuplicateVhost',
        `${at}: ${shown} is the host of HTTPProxy ${older}, which is older and keeps it; use another host, or let that HTTPProxy include this one`,
      );
    else if (held.has(fqdn)) reporter.warn('SpecError', 'IgnoredField', `${at}: ${shown} is there already; remove it`);
    else if (fqdn === ANY_NAME && host.tls && hasFallback)
      reporter.error(
        'TLSError',
        'TLSIncompatibleFeatures',
        `${at}: TLS for "*" cannot be combined with httpproxy.fallbackCertificate of the SesameConfiguration, which serves the same clients; remove one of them`,
      );
    else held.add(fqdn);
  }
  return [...held];
}

/** The wildcards that requests for a name reach while it has no virtual host of its own, the narrowest first. */
export function wildcardsOver(fqdn: string): string[] {
  if (fqdn === ANY_NAME) return [];
  const labels = fqdn.split('.');
  const parents = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`);
  return [...parents.filter((each) => each !== fqdn), ANY_NAME];
}

/** One label may be a wildcard, at the start or alone. */
function isFqdn(name: string): boolean {
  return (
    name.length <= 253 && /^(\*|(\*\.)?([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]*[a-z0-9])?)$/.test(name)
  );
}
