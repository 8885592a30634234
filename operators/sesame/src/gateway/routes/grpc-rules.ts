// Rules of a GRPCRoute: a call is a POST to /SERVICE/METHOD.
import { regexProblem } from '../../envoy/index.ts';
import type { PathMatch, RouteMatch } from '../../model/match.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { notRegex } from '../../routing/conditions.ts';
import type { GRPCRoute, GRPCRouteMatch } from '../api/objects.ts';
import { headerMatch, type RuleContext, translateRules, valueMatches } from './http-rules.ts';
import type { TranslatedRoute } from './translated-route.ts';

export function translateGrpcRoute({ spec }: GRPCRoute, context: RuleContext): TranslatedRoute {
  const rules = spec.rules ?? [{}];
  return translateRules(
    // The deadline of a call limits its time.
    rules.map((rule) => ({ rule: { ...rule, timeouts: { request: '0s' } }, matches: matchesOf(rule.matches) })),
    context,
  );
}

function matchesOf(matches: readonly GRPCRouteMatch[] | undefined): Result<RouteMatch[]> {
  const found: RouteMatch[] = [];
  for (const [index, match] of (matches?.length ? matches : [{}]).entries()) {
    const path = pathOf(match);
    if (!path.isOk) return refuse(`matches[${index}].method: ${path.problem}`);
    const headers = valueMatches(match.headers, true);
    if (!headers.isOk) return refuse(`matches[${index}].headers${headers.problem}`);
    found.push({ path: path.value, headers: headers.value.map(headerMatch), query: [] });
  }
  return accept(found);
}

const ANY = '[^/]+';

function pathOf({ method }: GRPCRouteMatch): Result<PathMatch> {
  const { type = 'Exact', service, method: name } = method ?? {};
  if (!service && !name) return accept({ kind: 'prefix', value: '/' });
  if (type === 'RegularExpression') {
    const value = `/(?:${service || ANY})/(?:${name || ANY})`;
    const problem = regexProblem(value);
    return problem === undefined ? accept({ kind: 'regex', value }) : refuse(notRegex(value, problem));
  }
  if (service && name) return accept({ kind: 'exact', value: `/${service}/${name}` });
  return accept(
    service
      ? { kind: 'prefix', value: `/${service}/` }
      : { kind: 'regex', value: `/${ANY}/${(name ?? '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}` },
  );
}
