// The routes of a root: its own, and those of the proxies that it includes, along the tree of includes.
import type { HTTPProxy, MatchCondition } from '../../kinds/http-proxy.ts';
import { conditionId, mergeHeaders, mergePath, mergeQuery, pathProblem } from '../conditions.ts';
import { directResponse, type RouteEntry, routeMetadata } from '../route-entry.ts';
import { namesOf, type RootContext, reporterFor } from './proxy-context.ts';
import { translateRoute } from './proxy-route.ts';

/** Deeper trees are refused: they are cycles through generated names, or mistakes. */
const MAX_DEPTH = 32;

export function collectRoutes(
  context: RootContext,
  proxy: HTTPProxy,
  inherited: readonly MatchCondition[] = [],
  path: readonly HTTPProxy[] = [],
): RouteEntry[] {
  context.log.visit(namesOf(proxy));
  const visited = [...path, proxy];
  const entries: RouteEntry[] = [];
  const seen = new Set<string>();
  for (const include of proxy.spec.includes ?? []) {
    const own = include.conditions ?? [];
    const conditions = [...inherited, ...own];
    const failed = (): RouteEntry[] => (own.length === 0 ? [] : [badGateway(proxy, conditions)]);
    const id = conditionId(own);
    if (own.length > 0 && seen.has(id)) {
      reporterFor(context, proxy).error(
        'IncludeError',
        'DuplicateMatchConditions',
        'duplicate conditions defined on an include',
      );
      continue;
    }
    seen.add(id);
    const problem = pathProblem(own, true);
    if (problem !== undefined) {
      reporterFor(context, proxy).error('IncludeError', 'PathMatchConditionsNotValid', problem);
      continue;
    }
    const child = findInclude(
      context,
      proxy,
      { name: include.name, namespace: include.namespace },
      visited,
      'IncludeError',
    );
    entries.push(...(child ? collectRoutes(context, child, conditions, visited) : failed()));
  }
  for (const route of proxy.spec.routes ?? []) entries.push(...translateRoute(proxy, route, inherited, context));
  return entries;
}

/** Undefined after an error was reported on the proxy that includes. */
export function findInclude(
  context: RootContext,
  proxy: HTTPProxy,
  include: { readonly name: string; readonly namespace?: string | undefined },
  visited: readonly HTTPProxy[],
  type: 'IncludeError' | 'TCPProxyIncludeError',
): HTTPProxy | undefined {
  const reporter = reporterFor(context, proxy);
  const from = namesOf(proxy);
  const namespace = include.namespace ? include.namespace : from.namespace;
  const where = `${namespace}/${include.name}`;
  const child = context.lookup.proxy(namespace, include.name);
  if (!child) {
    reporter.error(
      type,
      'IncludeNotFound',
      type === 'IncludeError' ? `include ${where} not found` : `include ${where} not found`,
    );
    return undefined;
  }
  if (child.spec.virtualhost !== undefined) {
    reporter.error(type, 'RootIncludesRoot', 'root httpproxy cannot include another root httpproxy');
    return undefined;
  }
  const isCycle = visited.some(
    (each) => each.metadata.name === child.metadata.name && each.metadata.namespace === child.metadata.namespace,
  );
  if (isCycle || visited.length > MAX_DEPTH) {
    const chain = [...visited, child]
      .map((each) => `${each.metadata.namespace ?? ''}/${each.metadata.name}`)
      .join(' -> ');
    reporter.error(
      type,
      'IncludeCreatesCycle',
      isCycle
        ? `include creates an include cycle: ${chain}`
        : `includes are nested more than ${MAX_DEPTH} deep: ${where}`,
    );
    return undefined;
  }
  return child;
}

function badGateway(proxy: HTTPProxy, conditions: readonly MatchCondition[]): RouteEntry {
  return {
    match: { path: mergePath(conditions), headers: mergeHeaders(conditions), query: mergeQuery(conditions) },
    value: { ...directResponse(502), ...routeMetadata({ kind: 'HTTPProxy', ...namesOf(proxy) }) },
    clusters: [],
    permitInsecure: false,
  };
}
