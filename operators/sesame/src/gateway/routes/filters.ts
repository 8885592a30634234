// Filters of a rule or a backend to the fields of Envoy's routes. What the rule leaves open (its port, its scheme) comes from
// the listener.
import { type Choice, type Envoy, type PerFilter, typed } from '../../envoy/index.ts';
import type { PathMatch } from '../../routing/conditions.ts';
import { FILTER } from '../../routing/policy/filter-names.ts';
import { type HeaderFields, headerFields } from '../../routing/policy/header-policy.ts';
import type {
  CorsFilter,
  HeaderFilter,
  MirrorFilter,
  PathModifier,
  RedirectFilter,
  RouteFilter,
} from '../api/objects.ts';

/** The first of a kind counts, except for mirrors. */
export interface RuleFilters {
  readonly request: HeaderFilter | undefined;
  readonly response: HeaderFilter | undefined;
  readonly redirect: RedirectFilter | undefined;
  readonly rewrite: RouteFilter['urlRewrite'];
  readonly cors: CorsFilter | undefined;
  readonly mirrors: readonly MirrorFilter[];
  /** Types that are not supported. */
  readonly unknown: readonly string[];
}

const KNOWN = new Set([
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestRedirect',
  'URLRewrite',
  'RequestMirror',
  'CORS',
]);

export function ruleFilters(filters: readonly RouteFilter[] = []): RuleFilters {
  const first = (type: string) => filters.find((filter) => filter.type === type);
  return {
    request: first('RequestHeaderModifier')?.requestHeaderModifier,
    response: first('ResponseHeaderModifier')?.responseHeaderModifier,
    redirect: first('RequestRedirect')?.requestRedirect,
    rewrite: first('URLRewrite')?.urlRewrite,
    cors: first('CORS')?.cors,
    mirrors: filters.flatMap(({ type, requestMirror }) =>
      type === 'RequestMirror' && requestMirror ? [requestMirror] : [],
    ),
    unknown: filters.filter(({ type }) => !KNOWN.has(type)).map(({ type }) => type),
  };
}

/** The fields of a route or of a weighted cluster. */
export function headerChanges({ request, response }: Pick<RuleFilters, 'request' | 'response'>): HeaderFields {
  return { ...oneDirection('request', request), ...oneDirection('response', response) };
}

function oneDirection(direction: 'request' | 'response', filter: HeaderFilter | undefined): HeaderFields {
  if (!filter) return {};
  const header =
    (append_action: Envoy.HeaderValueOptionHeaderAppendAction) =>
    (each: { name: string; value: string }): Envoy.HeaderValueOption => ({
      header: { key: each.name, value: literal(each.value) },
      append_action,
    });
  const added = [
    ...(filter.set ?? []).map(header('OVERWRITE_IF_EXISTS_OR_ADD')),
    ...(filter.add ?? []).map(header('APPEND_IF_EXISTS_OR_ADD')),
  ];
  return headerFields(direction, added, filter.remove ?? []);
}

/** Envoy substitutes what is between percent signs. */
function literal(value: string): string {
  return value.replaceAll('%', '%%');
}

export interface RedirectContext {
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

const REDIRECT_CODES: Readonly<Record<number, Envoy.RedirectActionRedirectResponseCode>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
};
const USUAL_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** A port that is usual for the scheme is not part of the location. */
export function redirectAction(
  filter: RedirectFilter,
  path: PathMatch,
  listener: RedirectContext,
): Envoy.RedirectAction {
  const { scheme, hostname, port } = filter;
  const target = scheme ?? listener.scheme;
  const wanted = port ?? (scheme === undefined ? listener.port : USUAL_PORTS[scheme]);
  const isUsual = wanted === USUAL_PORTS[target];
  return {
    scheme_redirect: scheme,
    host_redirect: hostname,
    port_redirect: wanted !== undefined && !isUsual ? wanted : undefined,
    ...(filter.path && redirectPath(filter.path, path)),
    response_code: REDIRECT_CODES[filter.statusCode ?? 302] ?? 'FOUND',
  };
}

function redirectPath(
  modifier: PathModifier,
  path: PathMatch,
): Choice<Envoy.RedirectAction, 'path_redirect' | 'prefix_rewrite' | 'regex_rewrite'> {
  return modifier.type === 'ReplaceFullPath'
    ? { path_redirect: modifier.replaceFullPath ?? '/' }
    : prefixRewrite(modifier.replacePrefixMatch ?? '', path);
}

export function pathRewrite(modifier: PathModifier, path: PathMatch): PathRewrite {
  return modifier.type === 'ReplaceFullPath'
    ? regexRewrite('^/.*$', modifier.replaceFullPath ?? '/')
    : prefixRewrite(modifier.replacePrefixMatch ?? '', path);
}

type PathRewrite = Choice<Envoy.RouteAction, 'prefix_rewrite' | 'regex_rewrite'>;

/** `/foo` to `/bar` gives `/bar` for `/foo` and `/bar/x` for `/foo/x`; slashes at the end of either make no difference. */
function prefixRewrite(replacement: string, path: PathMatch): PathRewrite {
  const prefix = path.value.replace(/\/+$/, '');
  const target = replacement.replace(/\/+$/, '');
  if (target === '') return regexRewrite(`^${quoted(prefix)}/*`, '/');
  return prefix === '' ? regexRewrite('^/+', `${target}/`) : { prefix_rewrite: target };
}

function regexRewrite(regex: string, substitution: string): PathRewrite {
  return { regex_rewrite: { pattern: { regex }, substitution: substitution.replaceAll('\\', '\\\\') } };
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function corsConfig(filter: CorsFilter): PerFilter {
  const origins = (filter.allowOrigins ?? []).map((origin): Envoy.StringMatcher => {
    if (origin === '*') return { safe_regex: { regex: '.*' } };
    if (!origin.includes('*')) return { exact: origin };
    return { safe_regex: { regex: quoted(origin).replaceAll('\\*', '[^/]+') } };
  });
  const listed = (values: readonly string[] | undefined) =>
    values && values.length > 0 ? values.join(', ') : undefined;
  return {
    [FILTER.cors]: typed('envoy.extensions.filters.http.cors.v3.CorsPolicy', {
      allow_origin_string_match: origins,
      allow_credentials: filter.allowCredentials ?? false,
      // A preflight from elsewhere is answered here, without the headers that would allow it.
      forward_not_matching_preflights: false,
      allow_methods: listed(filter.allowMethods),
      allow_headers: listed(filter.allowHeaders),
      expose_headers: listed(filter.exposeHeaders),
      max_age: filter.maxAge === undefined ? undefined : String(filter.maxAge),
    }),
  };
}

/** The share of requests that is mirrored; all without a percentage or fraction. */
export function mirrorPolicy(
  cluster: string,
  { percent, fraction }: MirrorFilter,
): Envoy.RouteActionRequestMirrorPolicy {
  const share: Envoy.FractionalPercent | undefined =
    fraction !== undefined
      ? {
          numerator: Math.round((fraction.numerator * 1_000_000) / (fraction.denominator ?? 100)),
          denominator: 'MILLION',
        }
      : percent !== undefined
        ? { numerator: percent, denominator: 'HUNDRED' }
        : undefined;
  return { cluster, runtime_fraction: share ? { default_value: share } : undefined };
}
