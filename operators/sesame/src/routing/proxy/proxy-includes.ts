// The routes of a root: its own, and those of the proxies that it includes, along the tree of includes.

import type { HTTPProxy, MatchCondition } from '../../kinds/http-proxy.ts';
import type { Route } from '../../model/route.ts';
import { namesOf, reporterFor } from '../../result.ts';
import {
  conditionId,
  headerProblem,
  mergeHeaders,
  mergePath,
  mergeQuery,
  pathProblem,
  queryProblem,
  wildcardHeader,
} from '../conditions.ts';
import type { RootContext } from './proxy-context.ts';
import { ownRoutes } from './proxy-route.ts';

const ALWAYS = conditionId([]);

/** Deeper trees are refused: they are cycles through generated names, or mistakes. */
const MAX_DEPTH = 32;

export function collectRoutes(
  context: RootContext,
  proxy: HTTPProxy,
  inherited: readonly MatchCondition[] = [],
  path: readonly HTTPProxy[] = [],
  through: readonly string[] = [],
): Route[] {
  context.log.visit(namesOf(proxy));
  const visited = [...path, proxy];
  const routes: Route[] = [];
  const seen = new Set<string>();
  for (const [index, include] of (proxy.spec.includes ?? []).entries()) {
    const at = `spec.includes[${index}]`;
    const own = include.conditions ?? [];
    const conditions = [...inherited, ...own];
    const failed = (): Route[] => (own.length === 0 ? [] : [badGateway(context, proxy, conditions, at)]);
    const id = conditionId(own);
    // Conditions that every request meets may repeat, as with Contour.
    if (id !== ALWAYS && seen.has(id)) {
      reporterFor(context, proxy).error(
        'IncludeError',
        'DuplicateMatchConditions',
        `${at}.conditions: another include of this HTTPProxy has the same conditions; change or remove one of them`,
      );
      continue;
    }
    seen.add(id);
    const problem = pathProblem(own, true);
    if (problem !== undefined) {
      reporterFor(context, proxy).error('IncludeError', 'PathMatchConditionsNotValid', `${at}.${problem}`);
      continue;
    }
    // They are wrong here, not in the HTTPProxies that are included: no request is sent there.
    const headers = headerProblem(own);
    const query = queryProblem(own);
    if (headers !== undefined || query !== undefined) {
      const reason = headers === undefined ? 'QueryParameterMatchConditionsNotValid' : 'HeaderMatchConditionsNotValid';
      reporterFor(context, proxy).error('RouteError', reason, `${at}.${headers ?? query ?? ''}`);
      continue;
    }
    const child = findInclude(context, proxy, { ...include, at }, visited, 'IncludeError');
    const { namespace, name } = namesOf(proxy);
    const way = [...through, `HTTPProxy ${namespace}/${name}, ${at}`];
    routes.push(...(child ? collectRoutes(context, child, conditions, visited, way) : failed()));
  }
  return [...routes, ...ownRoutes(proxy, context, inherited, through)];
}

/** Undefined after an error was reported on the proxy that includes. */
export function findInclude(
  context: RootContext,
  proxy: HTTPProxy,
  include: { readonly name: string; readonly namespace?: string | undefined; readonly at: string },
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
      `${include.at}: HTTPProxy ${where} does not exist; create it or correct the name`,
    );
    return undefined;
  }
  if (child.spec.virtualhost !== undefined) {
    reporter.error(
      type,
      'RootIncludesRoot',
      `${include.at}: HTTPProxy ${where} has a virtualhost of its own; remove it there, or include another HTTPProxy`,
    );
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
        ? `${include.at}: the includes form a cycle (${chain}); remove one of them`
        : `${include.at}: the includes are nested more than ${MAX_DEPTH} deep at ${where}; include it nearer to the root`,
    );
    return undefined;
  }
  return child;
}

function badGateway(context: RootContext, proxy: HTTPProxy, conditions: readonly MatchCondition[], at: string): Route {
  return {
    match: {
      path: mergePath(conditions),
      headers: [...mergeHeaders(conditions), ...wildcardHeader(context.fqdn)],
      query: mergeQuery(conditions),
    },
    action: { kind: 'answer', status: 502, body: '' },
    policies: {},
    permitInsecure: false,
    origin: { kind: 'HTTPProxy', ...namesOf(proxy), path: at },
  };
}
