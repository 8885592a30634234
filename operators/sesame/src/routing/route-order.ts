// The order of routes in a virtual host: Envoy takes the first that matches, so the more specific come first.
import type { HeaderMatch, PathMatch, QueryMatch, RouteMatch } from '../model/match.ts';
import type { Route } from '../model/route.ts';

/** Sorted, and of routes that match the same the last one. */
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
