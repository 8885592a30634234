import { regexProblem } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { TextMatch } from '../../model/match.ts';
import type { CorsPolicy } from '../../model/policy.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { durationMs } from '../timeouts.ts';

/** Returns the policy, or its problem. */
export function corsPolicy(spec: NonNullable<ProxyVirtualHost['corsPolicy']>): Result<CorsPolicy> {
  const origins: TextMatch[] = [];
  for (const [index, origin] of spec.allowOrigin.entries()) {
    if (origin === '*') origins.push({ kind: 'regex', value: '.*' });
    else if (isExactOrigin(origin)) origins.push({ kind: 'exact', value: origin, ignoreCase: true });
    else {
      const problem = regexProblem(origin);
      if (problem !== undefined)
        return refuse(
          `allowOrigin[${index}]: ${JSON.stringify(origin)} is neither an origin such as https://shop.example.com nor a regular expression of RE2 (${problem}); correct it`,
        );
      origins.push({ kind: 'regex', value: origin });
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
  return accept({
    allowOrigins: origins,
    allowCredentials: spec.allowCredentials ?? false,
    allowPrivateNetwork: spec.allowPrivateNetwork ?? false,
    allowMethods: spec.allowMethods.join(','),
    allowHeaders: spec.allowHeaders?.join(','),
    exposeHeaders: spec.exposeHeaders?.join(','),
    maxAge,
  });
}

/** They become part of a header of the answer: a line break would end it. */
const TOKEN = /^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$/;

function isExactOrigin(origin: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[a-zA-Z0-9.-]+(:\d+)?$/.test(origin);
}
