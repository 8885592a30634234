import { isEnumNumber, type Message, typed } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import { envoyHeaderMatch, mergeHeaders } from '../conditions.ts';
import { FILTER } from './filter-names.ts';
import { canonicalHeader, isHeaderName } from './header-policy.ts';

export type RateLimitSpec = NonNullable<ProxyRoute['rateLimitPolicy']>;

export interface RateLimit {
  /** By the name of the filter. */
  readonly perFilter: Message;
  /** `rate_limits` of a virtual host or route. */
  readonly rateLimits: readonly Message[];
}

const UNITS: Readonly<Record<string, string>> = { second: '1s', minute: '60s', hour: '3600s' };

/** The limits, or what is wrong with them: `.FIELD: …` or `: …`. `statPrefix` names the statistics. */
export function rateLimit(spec: RateLimitSpec | undefined, statPrefix: string): RateLimit | { problem: string } {
  if (!spec) return { perFilter: {}, rateLimits: [] };
  if (spec.local === undefined && spec.global === undefined)
    return { problem: ': it has neither local nor global; set one of them, or remove the policy' };
  const local = spec.local && localRateLimit(spec.local, statPrefix);
  if (local && 'problem' in local) return { problem: `.local${String(local['problem'])}` };
  const descriptors = spec.global?.descriptors ?? [];
  const rateLimits: Message[] = [];
  for (const [index, { entries = [] }] of descriptors.entries()) {
    const actions: Message[] = [];
    const at = `.global.descriptors[${index}].entries`;
    for (const [number, entry] of entries.entries()) {
      const action = descriptorAction(entry);
      if ('problem' in action) return { problem: `${at}[${number}]${String(action['problem'])}` };
      actions.push(action);
    }
    if (actions.length === 0) return { problem: `${at}: it is empty; add an entry, or remove the descriptor` };
    rateLimits.push({ actions });
  }
  return {
    perFilter: {
      ...(local && { [FILTER.localRateLimit]: local }),
      ...(spec.global?.disabled === true && {
        [FILTER.rateLimit]: typed('envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute', {
          vh_rate_limits: 'IGNORE',
        }),
      }),
    },
    rateLimits: spec.global?.disabled === true ? [] : rateLimits,
  };
}

function localRateLimit(spec: NonNullable<RateLimitSpec['local']>, statPrefix: string): Message {
  if (spec.requests <= 0)
    return { problem: `.requests: ${spec.requests} is not above zero; write how many requests may pass` };
  const interval = UNITS[spec.unit];
  if (interval === undefined)
    return { problem: `.unit: ${JSON.stringify(spec.unit)} is not known; use second, minute or hour` };
  const headers: Message[] = [];
  const seen = new Set<string>();
  for (const [index, { name, value }] of (spec.responseHeadersToAdd ?? []).entries()) {
    const key = canonicalHeader(name);
    const at = `.responseHeadersToAdd[${index}].name`;
    if (seen.has(key)) return { problem: `${at}: ${JSON.stringify(key)} is added twice; keep one of them` };
    if (!isHeaderName(key))
      return { problem: `${at}: ${JSON.stringify(key)} is no header name; use letters, digits and "-"` };
    if (key === 'Host') return { problem: `${at}: "Host" is no header of responses; remove it` };
    seen.add(key);
    headers.push({ header: { key, value: value.replaceAll('%', '%%') }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' });
  }
  const { responseStatusCode: code } = spec;
  if (code !== undefined && !isEnumNumber('envoy.type.v3.StatusCode', code))
    return {
      problem: `.responseStatusCode: ${code} is no status that Envoy answers with; use a common one such as 429`,
    };
  const always = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  return typed('envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', {
    stat_prefix: statPrefix,
    token_bucket: {
      max_tokens: spec.requests + (spec.burst ?? 0),
      tokens_per_fill: spec.requests,
      fill_interval: interval,
    },
    filter_enabled: always,
    filter_enforced: always,
    ...(code !== undefined && { status: { code } }),
    ...(headers.length > 0 && { response_headers_to_add: headers }),
  });
}

type Entry = NonNullable<NonNullable<NonNullable<RateLimitSpec['global']>['descriptors']>[number]['entries']>[number];

function descriptorAction(entry: Entry): Message {
  const { genericKey, requestHeader, requestHeaderValueMatch, remoteAddress } = entry;
  const given = [genericKey, requestHeader, requestHeaderValueMatch, remoteAddress].filter(
    (each) => each !== undefined,
  );
  if (given.length !== 1)
    return {
      problem: `: it has ${given.length} of genericKey, requestHeader, requestHeaderValueMatch and remoteAddress; set exactly one of them`,
    };
  if (genericKey)
    return {
      generic_key: { descriptor_value: genericKey.value, ...(genericKey.key && { descriptor_key: genericKey.key }) },
    };
  if (requestHeader)
    return { request_headers: { header_name: requestHeader.headerName, descriptor_key: requestHeader.descriptorKey } };
  if (requestHeaderValueMatch) {
    const headers = mergeHeaders((requestHeaderValueMatch.headers ?? []).map((header) => ({ header })));
    if (headers.length === 0) return { problem: '.requestHeaderValueMatch.headers: there is no condition; add one' };
    return {
      header_value_match: {
        descriptor_value: requestHeaderValueMatch.value,
        expect_match: requestHeaderValueMatch.expectMatch ?? true,
        headers: headers.map(envoyHeaderMatch),
      },
    };
  }
  return { remote_address: {} };
}
