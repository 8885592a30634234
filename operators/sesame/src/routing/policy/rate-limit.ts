import { type Envoy, type PerFilter, statusCode, typed } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { envoyHeaderMatch, mergeHeaders } from '../conditions.ts';
import { FILTER } from './filter-names.ts';
import { canonicalHeader, isHeaderName } from './header-policy.ts';

export type RateLimitSpec = NonNullable<ProxyRoute['rateLimitPolicy']>;

export interface RateLimit {
  /** By the name of the filter. */
  readonly perFilter: PerFilter;
  /** `rate_limits` of a virtual host or route. */
  readonly rateLimits: readonly Envoy.RouteRateLimit[];
}

const UNITS: Readonly<Record<string, string>> = { second: '1s', minute: '60s', hour: '3600s' };

/** The limits, or what is wrong with them: `.FIELD: …` or `: …`. `statPrefix` names the statistics. */
export function rateLimit(spec: RateLimitSpec | undefined, statPrefix: string): Result<RateLimit> {
  if (!spec) return accept({ perFilter: {}, rateLimits: [] });
  if (spec.local === undefined && spec.global === undefined)
    return refuse(': it has neither local nor global; set one of them, or remove the policy');
  const local = spec.local && localRateLimit(spec.local, statPrefix);
  if (local && !local.isOk) return refuse(`.local${local.problem}`);
  const descriptors = spec.global?.descriptors ?? [];
  const rateLimits: Envoy.RouteRateLimit[] = [];
  for (const [index, { entries = [] }] of descriptors.entries()) {
    const actions: Envoy.RateLimitAction[] = [];
    const at = `.global.descriptors[${index}].entries`;
    for (const [number, entry] of entries.entries()) {
      const action = descriptorAction(entry);
      if (!action.isOk) return refuse(`${at}[${number}]${action.problem}`);
      actions.push(action.value);
    }
    if (actions.length === 0) return refuse(`${at}: it is empty; add an entry, or remove the descriptor`);
    rateLimits.push({ actions });
  }
  const perFilter: Record<string, Envoy.Any> = {};
  if (local) perFilter[FILTER.localRateLimit] = local.value;
  const isDisabled = spec.global?.disabled === true;
  if (isDisabled)
    perFilter[FILTER.rateLimit] = typed('envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute', {
      vh_rate_limits: 'IGNORE',
    });
  return accept({ perFilter, rateLimits: isDisabled ? [] : rateLimits });
}

function localRateLimit(spec: NonNullable<RateLimitSpec['local']>, statPrefix: string): Result<Envoy.Any> {
  if (spec.requests <= 0)
    return refuse(`.requests: ${spec.requests} is not above zero; write how many requests may pass`);
  const interval = UNITS[spec.unit];
  if (interval === undefined)
    return refuse(`.unit: ${JSON.stringify(spec.unit)} is not known; use second, minute or hour`);
  const headers: Envoy.HeaderValueOption[] = [];
  const seen = new Set<string>();
  for (const [index, { name, value }] of (spec.responseHeadersToAdd ?? []).entries()) {
    const key = canonicalHeader(name);
    const at = `.responseHeadersToAdd[${index}].name`;
    if (seen.has(key)) return refuse(`${at}: ${JSON.stringify(key)} is added twice; keep one of them`);
    if (!isHeaderName(key))
      return refuse(`${at}: ${JSON.stringify(key)} is no header name; use letters, digits and "-"`);
    if (key === 'Host') return refuse(`${at}: "Host" is no header of responses; remove it`);
    seen.add(key);
    headers.push({ header: { key, value: value.replaceAll('%', '%%') }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' });
  }
  const { responseStatusCode: code } = spec;
  const status = code === undefined ? undefined : statusCode(code);
  if (code !== undefined && status === undefined)
    return refuse(`.responseStatusCode: ${code} is no status that Envoy answers with; use a common one such as 429`);
  const always: Envoy.RuntimeFractionalPercent = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  const filter = typed('envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', {
    stat_prefix: statPrefix,
    token_bucket: {
      max_tokens: spec.requests + (spec.burst ?? 0),
      tokens_per_fill: spec.requests,
      fill_interval: interval,
    },
    filter_enabled: always,
    filter_enforced: always,
    status: status === undefined ? undefined : { code: status },
    response_headers_to_add: headers.length > 0 ? headers : undefined,
  });
  return accept(filter);
}

type Entry = NonNullable<NonNullable<NonNullable<RateLimitSpec['global']>['descriptors']>[number]['entries']>[number];

function descriptorAction(entry: Entry): Result<Envoy.RateLimitAction> {
  const { genericKey, requestHeader, requestHeaderValueMatch, remoteAddress } = entry;
  const given = [genericKey, requestHeader, requestHeaderValueMatch, remoteAddress].filter(
    (each) => each !== undefined,
  );
  if (given.length !== 1)
    return refuse(
      `: it has ${given.length} of genericKey, requestHeader, requestHeaderValueMatch and remoteAddress; set exactly one of them`,
    );
  if (genericKey)
    return accept({ generic_key: { descriptor_value: genericKey.value, descriptor_key: genericKey.key } });
  if (requestHeader)
    return accept({
      request_headers: { header_name: requestHeader.headerName, descriptor_key: requestHeader.descriptorKey },
    });
  if (requestHeaderValueMatch) {
    const headers = mergeHeaders((requestHeaderValueMatch.headers ?? []).map((header) => ({ header })));
    if (headers.length === 0) return refuse('.requestHeaderValueMatch.headers: there is no condition; add one');
    return accept({
      header_value_match: {
        descriptor_value: requestHeaderValueMatch.value,
        expect_match: requestHeaderValueMatch.expectMatch ?? true,
        headers: headers.map(envoyHeaderMatch),
      },
    });
  }
  return accept({ remote_address: {} });
}
