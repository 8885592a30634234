// Filters of a rule or a backend to the fields of Envoy's routes. Fields that the rule leaves open (its port, its scheme) come from the
// listener.
import { withoutTrailing } from '@capstan/kube';
import type { PathMatch, TextMatch } from '../../model/match.ts';
import type { CorsPolicy, HeaderChanges, HeaderValue } from '../../model/policy.ts';
import type { PathRewrite, Redirect, RedirectStatus, Share } from '../../model/route.ts';
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

export const FILTER_TYPES: ReadonlySet<string> = new Set([
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
    unknown: filters.filter(({ type }) => !FILTER_TYPES.has(type)).map(({ type }) => type),
  };
}

/** The changes of a filter; undefined when there is none. */
export function headerChanges(filter: HeaderFilter | undefined): HeaderChanges | undefined {
  if (!filter) return undefined;
  const header = ({ name, value }: { name: string; value: string }): HeaderValue => ({ name, value: literal(value) });
  return {
    set: (filter.set ?? []).map(header),
    add: (filter.add ?? []).map(header),
    remove: filter.remove ?? [],
  };
}

/** Envoy substitutes names between percent signs. */
function literal(value: string): string {
  return value.replaceAll('%', '%%');
}

export interface RedirectContext {
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

const REDIRECT_STATUSES: readonly RedirectStatus[] = [301, 302, 303, 307, 308];
const USUAL_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** A port that is usual for the scheme is not part of the location. */
export function redirectAction(filter: RedirectFilter, path: PathMatch, listener: RedirectContext): Redirect {
  const { scheme, hostname, port } = filter;
  const target = scheme ?? listener.scheme;
  const wanted = port ?? (scheme === undefined ? listener.port : USUAL_PORTS[scheme]);
  const isUsual = wanted === USUAL_PORTS[target];
  return {
    kind: 'redirect',
    scheme,
    host: hostname,
    port: wanted !== undefined && !isUsual ? wanted : undefined,
    path: filter.path && redirectPath(filter.path, path),
    status: REDIRECT_STATUSES.find((each) => each === filter.statusCode) ?? 302,
  };
}

function redirectPath(modifier: PathModifier, path: PathMatch): Redirect['path'] {
  return modifier.type === 'ReplaceFullPath'
    ? { kind: 'full', value: modifier.replaceFullPath ?? '/' }
    : prefixRewrite(modifier.replacePrefixMatch ?? '', path);
}

export function pathRewrite(modifier: PathModifier, path: PathMatch): PathRewrite {
  return modifier.type === 'ReplaceFullPath'
    ? regexRewrite('^/.*$', modifier.replaceFullPath ?? '/')
    : prefixRewrite(modifier.replacePrefixMatch ?? '', path);
}

/** `/foo` to `/bar` gives `/bar` for `/foo` and `/bar/x` for `/foo/x`; slashes at the end of either make no difference. */
function prefixRewrite(replacement: string, path: PathMatch): PathRewrite {
  const prefix = withoutTrailing(path.value, '/');
  const target = withoutTrailing(replacement, '/');
  if (target === '') return regexRewrite(`^${quoted(prefix)}/*`, '/');
  return prefix === '' ? regexRewrite('^/+', `${target}/`) : { kind: 'prefix', value: target };
}

function regexRewrite(pattern: string, substitution: string): PathRewrite {
  return { kind: 'regex', pattern, substitution: substitution.replaceAll('\\', '\\\\') };
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function corsPolicy(filter: CorsFilter): CorsPolicy {
  const origins = (filter.allowOrigins ?? []).map((origin): TextMatch => {
    if (origin === '*') return { kind: 'regex', value: '.*' };
    if (!origin.includes('*')) return { kind: 'exact', value: origin };
    return { kind: 'regex', value: quoted(origin).replaceAll('\\*', '[^/]+') };
  });
  const listed = (values: readonly string[] | undefined) =>
    values && values.length > 0 ? values.join(', ') : undefined;
  return {
    allowOrigins: origins,
    allowCredentials: filter.allowCredentials ?? false,
    // A preflight from elsewhere is answered here, without the headers that would allow it.
    forwardsOtherPreflights: false,
    allowMethods: listed(filter.allowMethods),
    allowHeaders: listed(filter.allowHeaders),
    exposeHeaders: listed(filter.exposeHeaders),
    maxAge: filter.maxAge === undefined ? undefined : String(filter.maxAge),
  };
}

/** The share of requests that is mirrored; all without a percentage or fraction. */
export function mirrorShare({ percent, fraction }: MirrorFilter): Share | undefined {
  if (fraction !== undefined)
    return { parts: Math.round((fraction.numerator * 1_000_000) / (fraction.denominator ?? 100)), of: 1_000_000 };
  return percent !== undefined ? { parts: percent, of: 100 } : undefined;
}
