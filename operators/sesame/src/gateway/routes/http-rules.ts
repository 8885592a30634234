// Rules of an HTTPRoute to routes of Envoy.
import { type Envoy, regexProblem } from '../../envoy/index.ts';
import { accept, type Result, refuse } from '../../result.ts';
import {
  type HeaderMatch,
  notRegex,
  type PathMatch,
  type QueryMatch,
  type RouteMatch,
} from '../../routing/conditions.ts';
import {
  directResponse,
  type RouteEntry,
  type RouteValue,
  routeMetadata,
  routeViolations,
} from '../../routing/route-entry.ts';
import { durationMs, seconds } from '../../routing/timeouts.ts';
import type { Resource } from '../../xds/index.ts';
import type {
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
  RouteBackend,
  SessionPersistence,
  ValueMatch,
} from '../api/objects.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { type BackendContext, NO_BACKEND, resolveBackend, type WeightedBackend, weightedTarget } from './backends.ts';
import {
  corsConfig,
  headerChanges,
  mirrorPolicy,
  pathRewrite,
  type RedirectContext,
  type RuleFilters,
  redirectAction,
  ruleFilters,
} from './filters.ts';
import type { TranslatedRoute } from './translated-route.ts';

export interface RuleContext extends BackendContext {
  /** Of the listener that the route is served at. */
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
  const entries: RouteEntry[] = [];
  const refProblems: RefProblem[] = [];
  const invalidRules: string[] = [];
  rules.forEach(({ rule, matches }, at) => {
    const name = `spec.rules[${at}]`;
    if (!matches.isOk) {
      invalidRules.push(`${name}.${matches.problem}`);
      return;
    }
    const found: RefProblem[] = [];
    const translated = matches.value.map((match) => ({ match, ...translateRule(rule, match, context, found) }));
    refProblems.push(...found.map(({ reason, message }) => ({ reason, message: `${name}.${message}` })));
    const [refused] = translated.flatMap((entry) => routeViolations(entry));
    if (refused)
      invalidRules.push(
        `${name}: Envoy would refuse it (${refused.path} ${refused.problem}); correct the value that it comes from`,
      );
    else entries.push(...translated.map((entry) => ({ ...entry, permitInsecure: true })));
  });
  return { entries, refProblems: unique(refProblems), invalidRules, ruleCount: rules.length };
}

function unique(problems: readonly RefProblem[]): RefProblem[] {
  return [...new Map(problems.map((each) => [`${each.reason} ${each.message}`, each])).values()];
}

function translateRule(
  rule: Omit<HTTPRouteRule, 'matches'>,
  match: RouteMatch,
  context: RuleContext,
  problems: RefProblem[],
): { value: RouteValue; clusters: Resource[] } {
  const filters = ruleFilters(rule.filters);
  const common = {
    ...headerChanges(filters),
    typed_per_filter_config: filters.cors ? corsConfig(filters.cors) : undefined,
    ...routeMetadata({ kind: context.kind, namespace: context.namespace, name: context.name }),
  };
  const answer = (status: number) => ({ value: { ...directResponse(status), ...common }, clusters: [] });
  if (filters.unknown.length > 0) {
    // A filter that is not known must not be skipped.
    problems.push({
      reason: 'InvalidKind',
      message: `filters: ${filters.unknown.join(', ')} is not supported, and requests are answered with 500; remove it`,
    });
    return answer(500);
  }
  if (filters.redirect)
    return {
      value: { redirect: redirectAction(filters.redirect, match.path, context.listener), ...common },
      clusters: [],
    };
  const persistence = sessionPolicy(rule.sessionPersistence, match.path);
  const backendContext = persistence ? { ...context, lbPolicy: 'RING_HASH' as const } : context;
  const clusters: Resource[] = [];
  const backends = (rule.backendRefs ?? []).map((ref, index) =>
    weighted(ref, backendContext, clusters, problems, `backendRefs[${index}]`),
  );
  const mirrors = mirrorPolicies(filters, context, clusters, problems);
  const target = weightedTarget(backends);
  if (!target) return answer(500);
  const action: Envoy.RouteAction = {
    ...target,
    ...timeoutsAndRetries(rule),
    host_rewrite_literal: filters.rewrite?.hostname,
    ...(filters.rewrite?.path && pathRewrite(filters.rewrite.path, match.path)),
    request_mirror_policies: mirrors.length > 0 ? mirrors : undefined,
    hash_policy: persistence ? [persistence] : undefined,
  };
  return { value: { route: action, ...common }, clusters };
}

function weighted(
  ref: RouteBackend,
  context: BackendContext,
  clusters: Resource[],
  problems: RefProblem[],
  at: string,
): WeightedBackend {
  const weight = ref.weight ?? 1;
  const filters = ruleFilters(ref.filters);
  const isForwardable =
    filters.unknown.length === 0 &&
    !filters.redirect &&
    !filters.rewrite &&
    !filters.cors &&
    filters.mirrors.length === 0;
  const found: Resource | RefProblem = isForwardable
    ? resolveBackend(ref, context)
    : {
        reason: 'InvalidKind',
        message: 'only header modifiers are supported in its filters; move the others to the rule',
      };
  if ('reason' in found) {
    problems.push({ ...found, message: `${at}: ${found.message}` });
    return { name: NO_BACKEND, weight, more: {} };
  }
  clusters.push(found);
  return { name: found.name, weight, more: headerChanges(filters) };
}

function mirrorPolicies(
  { mirrors }: RuleFilters,
  context: BackendContext,
  clusters: Resource[],
  problems: RefProblem[],
): Envoy.RouteActionRequestMirrorPolicy[] {
  return mirrors.flatMap((mirror) => {
    const found = resolveBackend(mirror.backendRef, context);
    if ('reason' in found) {
      problems.push({ ...found, message: `filters.requestMirror: ${found.message}` });
      return [];
    }
    clusters.push(found);
    return [mirrorPolicy(found.name, mirror)];
  });
}

const RETRIED = 'connect-failure,refused-stream,reset,retriable-status-codes';

/** A timeout of zero switches it off. */
function timeoutsAndRetries({
  timeouts,
  retry,
}: Omit<HTTPRouteRule, 'matches'>): Pick<Envoy.RouteAction, 'timeout' | 'retry_policy'> {
  const request = envoyDuration(timeouts?.request);
  const perTry = envoyDuration(timeouts?.backendRequest);
  const isLimited = perTry !== undefined && perTry !== '0s';
  // Without a limit for the whole the one for a try must not be cut short by Envoy's default.
  const whole = request ?? (perTry !== undefined ? '0s' : undefined);
  const backoff = envoyDuration(retry?.backoff);
  const policy: Envoy.RouteRetryPolicy = {
    retry_on: retry ? RETRIED : undefined,
    num_retries: retry ? (retry.attempts ?? 1) : 0,
    retriable_status_codes: retry?.codes?.length ? retry.codes : undefined,
    retry_back_off: backoff !== undefined && backoff !== '0s' ? { base_interval: backoff } : undefined,
    per_try_timeout: isLimited ? perTry : undefined,
  };
  return {
    timeout: whole,
    retry_policy: retry || isLimited ? policy : undefined,
  };
}

function envoyDuration(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : durationMs(text);
  return ms === undefined || ms < 0 ? undefined : seconds(ms);
}

/** Requests with the same cookie or header go to the same endpoint while it is there. */
function sessionPolicy(
  session: SessionPersistence | undefined,
  path: PathMatch,
): Envoy.RouteActionHashPolicy | undefined {
  if (!session) return undefined;
  const name = session.sessionName ?? 'sesame-session';
  if (session.type === 'Header') return { header: { header_name: name } };
  const isPermanent = session.cookieConfig?.lifetimeType === 'Permanent';
  const lifetime = isPermanent ? envoyDuration(session.absoluteTimeout) : undefined;
  return { cookie: { name, ttl: lifetime ?? '0s', path: path.kind === 'regex' ? '/' : path.value } };
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
    const prefix = value.replace(/\/+$/, '');
    return accept({ kind: 'prefix', value: prefix === '' ? '/' : prefix, isSegment: true });
  }
  if (type !== 'RegularExpression')
    return refuse(`.type: ${type} is not supported; use Exact, PathPrefix or RegularExpression`);
  const problem = regexProblem(value);
  return problem === undefined ? accept({ kind: 'regex', value }) : refuse(`.value: ${notRegex(value, problem)}`);
}

/** Of several with the same name the first counts. */
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
