import { type Envoy, regexProblem, typed } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { durationMs } from '../timeouts.ts';

/** The policy for Envoy, or what is wrong with it. */
export function corsPolicy(spec: NonNullable<ProxyVirtualHost['corsPolicy']>): Result<Envoy.Any> {
  const origins: Envoy.StringMatcher[] = [];
  for (const [index, origin] of spec.allowOrigin.entries()) {
    if (origin === '*') origins.push({ safe_regex: { regex: '.*' } });
    else if (isExactOrigin(origin)) origins.push({ exact: origin, ignore_case: true });
    else {
      const problem = regexProblem(origin);
      if (problem !== undefined)
        return refuse(
          `allowOrigin[${index}]: ${JSON.stringify(origin)} is neither an origin such as https://shop.example.com nor a regular expression of RE2 (${problem}); correct it`,
        );
      origins.push({ safe_regex: { regex: origin } });
    }
  }
  let maxAge: string | undefined;
  if (spec.maxAge !== undefined && spec.maxAge !== '') {
    const ms = durationMs(spec.maxAge);
    if (ms === undefined)
      return refuse(`maxAge: ${JSON.stringify(spec.maxAge)} is not a duration; write one such as 10m`);
    if (ms < 0) return refuse(`maxAge: ${JSON.stringify(spec.maxAge)} is negative; write a duration such as 10m`);
    maxAge = String(Math.floor(ms / 1000));
  }
  for (const field of ['allowMethods', 'allowHeaders', 'exposeHeaders'] as const)
    for (const [index, value] of (spec[field] ?? []).entries())
      if (!TOKEN.test(value))
        return refuse(
          `${field}[${index}]: ${JSON.stringify(value)} is no ${field === 'allowMethods' ? 'method' : 'header name'}; use letters, digits and "-", or "*"`,
        );
  const policy = typed('envoy.extensions.filters.http.cors.v3.CorsPolicy', {
    allow_origin_string_match: origins,
    allow_credentials: spec.allowCredentials ?? false,
    allow_private_network_access: spec.allowPrivateNetwork ?? false,
    allow_methods: spec.allowMethods.join(','),
    allow_headers: spec.allowHeaders ? spec.allowHeaders.join(',') : undefined,
    expose_headers: spec.exposeHeaders ? spec.exposeHeaders.join(',') : undefined,
    max_age: maxAge,
  });
  return accept(policy);
}

/** They become part of a header of the answer: a line break would end it. */
const TOKEN = /^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$/;

function isExactOrigin(origin: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[a-zA-Z0-9.-]+(:\d+)?$/.test(origin);
}
