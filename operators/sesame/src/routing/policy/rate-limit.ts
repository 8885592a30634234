import { statusCode } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { HeaderValue, LocalRateLimit, Policies, RateLimitDescriptor, RateLimitEntry } from '../../model/policy.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { mergeHeaders } from '../conditions.ts';
import { canonicalHeader, isHeaderName } from './header-policy.ts';

export type RateLimitSpec = NonNullable<ProxyRoute['rateLimitPolicy']>;

export interface RateLimit {
  readonly policies: Pick<Policies, 'localRateLimit' | 'ignoresHostRateLimits'>;
  /** The descriptors of the host or route, for the service that counts requests. */
  readonly descriptors: readonly RateLimitDescriptor[];
}

const UNITS: Readonly<Record<string, string>> = { second: '1s', minute: '60s', hour: '3600s' };

/** Returns the limits, or their problem: `.FIELD: …` or `: …`. `statPrefix` names the statistics. */
export function rateLimit(spec: RateLimitSpec, statPrefix: string): Result<RateLimit> {
  const local = spec.local && localRateLimit(spec.local, statPrefix);
  if (local && !local.isOk) return refuse(`.local${local.problem}`);
  const descriptors: RateLimitDescriptor[] = [];
  for (const [index, { entries = [] }] of (spec.global?.descriptors ?? []).entries()) {
    const found: RateLimitEntry[] = [];
    const at = `.global.descriptors[${index}].entries`;
    for (const [number, entry] of entries.entries()) {
      const one = descriptorEntry(entry);
      if (!one.isOk) return refuse(`${at}[${number}]${one.problem}`);
      found.push(one.value);
    }
    if (found.length === 0) return refuse(`${at}: it is empty; add an entry, or remove the descriptor`);
    descriptors.push(found);
  }
  const isDisabled = spec.global?.disabled === true;
  return accept({
    policies: { ...(local && { localRateLimit: local.value }), ...(isDisabled && { ignoresHostRateLimits: true }) },
    descriptors: isDisabled ? [] : descriptors,
  });
}

function localRateLimit(spec: NonNullable<RateLimitSpec['local']>, statPrefix: string): Result<LocalRateLimit> {
  if (spec.requests <= 0)
    return refuse(`.requests: ${spec.requests} is not above zero; write how many requests may pass`);
  const interval = UNITS[spec.unit];
  if (interval === undefined)
    return refuse(`.unit: ${JSON.stringify(spec.unit)} is not known; use second, minute or hour`);
  const headers: HeaderValue[] = [];
  const seen = new Set<string>();
  for (const [index, { name, value }] of (spec.responseHeadersToAdd ?? []).entries()) {
    const key = canonicalHeader(name);
    const at = `.responseHeadersToAdd[${index}].name`;
    if (seen.has(key)) return refuse(`${at}: ${JSON.stringify(key)} is added twice; keep one of them`);
    if (!isHeaderName(key))
      return refuse(`${at}: ${JSON.stringify(key)} is no header name; use letters, digits and "-"`);
    if (key === 'Host') return refuse(`${at}: "Host" is no header of responses; remove it`);
    seen.add(key);
    headers.push({ name: key, value: value.replaceAll('%', '%%') });
  }
  const { responseStatusCode: code } = spec;
  if (code !== undefined && statusCode(code) === undefined)
    return refuse(`.responseStatusCode: ${code} is no status that Envoy answers with; use a common one such as 429`);
  return accept({
    statPrefix,
    requests: spec.requests,
    burst: spec.burst ?? 0,
    interval,
    status: code,
    responseHeaders: headers,
  });
}

type Entry = NonNullable<NonNullable<NonNullable<RateLimitSpec['global']>['descriptors']>[number]['entries']>[number];

function descriptorEntry(entry: Entry): Result<RateLimitEntry> {
  const { genericKey, requestHeader, requestHeaderValueMatch, remoteAddress } = entry;
  const given = [genericKey, requestHeader, requestHeaderValueMatch, remoteAddress].filter(
    (each) => each !== undefined,
  );
  if (given.length !== 1)
    return refuse(
      `: it has ${given.length} of genericKey, requestHeader, requestHeaderValueMatch and remoteAddress; set exactly one of them`,
    );
  if (genericKey) return accept({ kind: 'generic', key: genericKey.key, value: genericKey.value });
  if (requestHeader)
    return accept({ kind: 'header', header: requestHeader.headerName, key: requestHeader.descriptorKey });
  if (requestHeaderValueMatch) {
    const headers = mergeHeaders((requestHeaderValueMatch.headers ?? []).map((header) => ({ header })));
    if (headers.length === 0) return refuse('.requestHeaderValueMatch.headers: there is no condition; add one');
    return accept({
      kind: 'headerMatch',
      headers,
      expectMatch: requestHeaderValueMatch.expectMatch ?? true,
      value: requestHeaderValueMatch.value,
    });
  }
  return accept({ kind: 'address' });
}
