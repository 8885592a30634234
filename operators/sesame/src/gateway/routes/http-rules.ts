// Rules of an HTTPRoute to routes of the model.
import { withoutTrailing } from '@capstan/kube';
import { regexProblem } from '../../envoy/index.ts';
import type { HeaderMatch, PathMatch, QueryMatch, RouteMatch } from '../../model/match.ts';
import type { Origin } from '../../model/origin.ts';
import type { Destination, Forward, HashSource, Mirror, Retries, Route } from '../../model/route.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { notRegex } from '../../routing/conditions.ts';
import { routeViolations } from '../../routing/envoy/route-message.ts';
import { durationMs, seconds } from '../../routing/timeouts.ts';
import type {
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
  RouteBackend,
  SessionPersistence,
  ValueMatch,
} from '../api/objects.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { type BackendContext, resolveBackend } from './backends.ts';
import {
  corsPolicy,
  headerChanges,
  mirrorShare,
  pathRewrite,
  type RedirectContext,
  type RuleFilters,
  redirectAction,
  ruleFilters,
} from './filters.ts';
import type { TranslatedRoute } from './translated-route.ts';

export interface RuleContext extends BackendContext {
  /** The redirect context of the route's listener. */
  readonly listener: RedirectContext;
}

export function translateHttpRoute({ spec }: HTTPRoute, context: RuleContext): TranslatedRoute {
  const rules = spec.rules ?? [{}];
  return translateRules(
    rules.map((rule) => ({ rule, matches: matchesOf(rule.matches) })),
    context,
  );
}

/** A rule that requests are matched and forwarded by, whatever kind of route has it. */
export interface ForwardingRule {
  readonly rule: Omit<HTTPRouteRule, 'matches'>;
  readonly matches: Result<readonly RouteMatch[]>;
}

export function translateRules(rules: readonly ForwardingRule[], context: RuleContext): TranslatedRoute {
  const routes: Route[] = [];
  const refProblems: RefProblem[] = [];
  const invalidRules: string[] = [];
  rules.forEach(({ rule, matches }, at) => {
    const name = `spec.rules[${at}]`;
    if (!matches.isOk) {
      invalidRules.push(`${name}.${matches.problem}`);
      return;
    }
    const found: RefProblem[] = [];
    const { kind, namespace, name: object } = context;
    const origin: Origin = { kind, namespace, name: object, path: name };
    const translated = matches.value.map(
      (match): Route => ({ match, ...translateRule(rule, match, context, found, name), permitInsecure: true, origin }),
    );
    refProblems.push(...found.map(({ reason, message }) => ({ reason, message: `${name}.${message}` })));
    const [refused] = translated.flatMap((route) => routeViolations(route));
    if (refused)
      invalidRules.push(
        `${name}: Envoy would refuse it (${refused.path} ${refused.problem}); correct the value that it comes from`,
      );
    else routes.push(...translated);
  });
  return { routes, refProblems: unique(refProblems), invalidRules, ruleCount: rules.length };
}

function unique(problems: readonly RefProblem[]): RefProblem[] {
  return [...new Map(problems.map((each) => [`${each.reason} ${each.message}`, each])).values()];
}

function translateRule(
  rule: Omit<HTTPRouteRule, 'matches'>,
  match: RouteMatch,
  context: RuleContext,
  problems: RefProblem[],
  at: string,
): Pick<Route, 'action' | 'policies' | 'requestHeaders' | 'responseHeaders'> {
  const filters = ruleFilters(rule.filters);
  const common = {
    requestHeaders: headerChanges(filters.request),
    responseHeaders: headerChanges(filters.response),
    policies: filters.cors ? { cors: corsPolicy(filters.cors) } : {},
  };
  const failed = { action: { kind: 'answer', status: 500, body: '' }, ...common } as const;
  if (filters.unknown.length > 0) {
    // A filter that is not known must not be skipped.
    problems.push({
      reason: 'InvalidKind',
      message: `filters: ${filters.unknown.join(', ')} is not supported, and requests are answered with 500; remove it`,
    });
    return failed;
  }
  if (filters.redirect) return { action: redirectAction(filters.redirect, match.path, context.listener), ...common };
  const persistence = sessionPolicy(rule.sessionPersistence, match.path);
  const backendContext = persistence ? { ...context, strategy: 'Hash' as const } : context;
  const destinations = (rule.backendRefs ?? []).map((ref, index) =>
    destination(ref, backendContext, problems, at, `backendRefs[${index}]`),
  );
  const mirrors = mirrorsOf(filters, context, problems, at);
  const used = destinations.filter(({ weight }) => weight > 0);
  if (used.length === 0) return failed;
  const { hostname, path } = filters.rewrite ?? {};
  const action: Forward = {
    kind: 'forward',
    destinations: used,
    statusWithoutCluster: 500,
    mirrors,
    ...timeoutsAndRetries(rule),
    hostRewrite: hostname === undefined ? undefined : { kind: 'literal', value: hostname },
    pathRewrite: path && pathRewrite(path, match.path),
    hashes: persistence ? [persistence] : [],
    rateLimits: [],
  };
  return { action, ...common };
}

function destination(
  ref: RouteBackend,
  context: BackendContext,
  problems: RefProblem[],
  rule: string,
  at: string,
): Destination {
  const weight = ref.weight ?? 1;
  const filters = ruleFilters(ref.filters);
  const isForwardable =
    filters.unknown.length === 0 &&
    !filters.redirect &&
    !filters.rewrite &&
    !filters.cors &&
    filters.mirrors.length === 0;
  const found = isForwardable
    ? resolveBackend(ref, context, `${rule}.${at}`)
    : refuse({
        reason: 'InvalidKind' as const,
        message: 'only header modifiers are supported in its filters; move the others to the rule',
      });
  if (!found.isOk) {
    problems.push({ ...found.problem, message: `${at}: ${found.problem.message}` });
    return { cluster: undefined, weight };
  }
  return {
    cluster: found.value,
    weight,
    requestHeaders: headerChanges(filters.request),
    responseHeaders: headerChanges(filters.response),
  };
}

function mirrorsOf({ mirrors }: RuleFilters, context: BackendContext, problems: RefProblem[], rule: string): Mirror[] {
  return mirrors.flatMap((mirror) => {
    const found = resolveBackend(mirror.backendRef, context, `${rule}.filters.requestMirror`);
    if (!found.isOk) {
      problems.push({ ...found.problem, message: `filters.requestMirror: ${found.problem.message}` });
      return [];
    }
    return [{ cluster: found.value, share: mirrorShare(mirror) }];
  });
}

const RETRIED = 'connect-failure,refused-stream,reset,retriable-status-codes';

/** A timeout of zero switches it off. */
function timeoutsAndRetries({ timeouts, retry }: Omit<HTTPRouteRule, 'matches'>): Pick<Forward, 'timeout' | 'retries'> {
  const request = envoyDuration(timeouts?.request);
  const perTry = envoyDuration(timeouts?.backendRequest);
  const isLimited = perTry !== undefined && perTry !== '0s';
  // Without a limit for the whole the one for a try must not be cut short by Envoy's default.
  const whole = request ?? (perTry !== undefined ? '0s' : undefined);
  const backoff = envoyDuration(retry?.backoff);
  const retries: Retries = {
    on: retry ? RETRIED : undefined,
    count: retry ? (retry.attempts ?? 1) : 0,
    statusCodes: retry?.codes,
    backoff: backoff !== '0s' ? backoff : undefined,
    perTryTimeout: isLimited ? perTry : undefined,
  };
  return {
    timeout: whole,
    retries: retry || isLimited ? retries : undefined,
  };
}

function envoyDuration(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : durationMs(text);
  return ms === undefined || ms < 0 ? undefined : seconds(ms);
}

/** Requests with the same cookie or header go to the same endpoint while it is there. */
function sessionPolicy(session: SessionPersistence | undefined, path: PathMatch): HashSource | undefined {
  if (!session) return undefined;
  const name = session.sessionName ?? 'sesame-session';
  if (session.type === 'Header') return { kind: 'header', name };
  const isPermanent = session.cookieConfig?.lifetimeType === 'Permanent';
  const lifetime = isPermanent ? envoyDuration(session.absoluteTimeout) : undefined;
  return { kind: 'cookie', name, ttl: lifetime ?? '0s', path: path.kind === 'regex' ? '/' : path.value };
}

function matchesOf(matches: readonly HTTPRouteMatch[] | undefined): Result<RouteMatch[]> {
  const found: RouteMatch[] = [];
  for (const [index, match] of (matches?.length ? matches : [{}]).entries()) {
    const at = `matches[${index}]`;
    const path = pathOf(match);
    if (!path.isOk) return refuse(`${at}.path${path.problem}`);
    const headers = valueMatches(match.headers, true);
    if (!headers.isOk) return refuse(`${at}.headers${headers.problem}`);
    const query = valueMatches(match.queryParams, false);
    if (!query.isOk) return refuse(`${at}.queryParams${query.problem}`);
    found.push({
      path: path.value,
      headers: [...headers.value.map(headerMatch), ...(match.method === undefined ? [] : [methodMatch(match.method)])],
      query: query.value.map(queryMatch),
    });
  }
  return accept(found);
}

function pathOf({ path }: HTTPRouteMatch): Result<PathMatch> {
  const { type = 'PathPrefix', value = '/' } = path ?? {};
  if (type === 'Exact') return accept({ kind: 'exact', value });
  if (type === 'PathPrefix') {
    const prefix = withoutTrailing(value, '/');
    return accept({ kind: 'prefix', value: prefix === '' ? '/' : prefix, isSegment: true });
  }
  if (type !== 'RegularExpression')
    return refuse(`.type: ${type} is not supported; use Exact, PathPrefix or RegularExpression`);
  const problem = regexProblem(value);
  return problem === undefined ? accept({ kind: 'regex', value }) : refuse(`.value: ${notRegex(value, problem)}`);
}

/** The first of several matches with the same name counts. */
export function valueMatches(matches: readonly ValueMatch[] = [], ignoresCase: boolean): Result<readonly ValueMatch[]> {
  const seen = new Set<string>();
  const found: ValueMatch[] = [];
  for (const [index, match] of matches.entries()) {
    const name = ignoresCase ? match.name.toLowerCase() : match.name;
    if (seen.has(name)) continue;
    seen.add(name);
    if (match.type === 'RegularExpression') {
      const problem = regexProblem(match.value);
      if (problem !== undefined) return refuse(`[${index}].value: ${notRegex(match.value, problem)}`);
    }
    found.push(match);
  }
  return accept(found);
}

export function headerMatch({ type, name, value }: ValueMatch): HeaderMatch {
  return {
    name,
    kind: type === 'RegularExpression' ? 'regex' : 'exact',
    value,
    isInverted: false,
    ignoreCase: false,
    treatMissingAsEmpty: false,
  };
}

function methodMatch(value: string): HeaderMatch {
  return headerMatch({ name: ':method', value });
}

function queryMatch({ type, name, value }: ValueMatch): QueryMatch {
  return { name, kind: type === 'RegularExpression' ? 'regex' : 'exact', value, ignoreCase: false };
}
