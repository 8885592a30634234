import type { Envoy } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { Reporter } from '../problems.ts';
import { isHeaderName } from './header-policy.ts';

export type LoadBalancerSpec = ProxyRoute['loadBalancerPolicy'];

export interface LoadBalancing {
  /** Of the cluster. */
  readonly lbPolicy: Envoy.ClusterLbPolicy;
  /** Of the route. */
  readonly hashPolicy: readonly Envoy.RouteActionHashPolicy[];
}

const COOKIE = 'X-Sesame-Session-Affinity';
const STRATEGIES: Readonly<Record<string, Envoy.ClusterLbPolicy>> = {
  RoundRobin: 'ROUND_ROBIN',
  WeightedLeastRequest: 'LEAST_REQUEST',
  Random: 'RANDOM',
};

/** Without a usable hash policy RequestHash falls back to round robin, with a warning. */
export function loadBalancing(spec: LoadBalancerSpec, reporter: Reporter, at = 'spec'): LoadBalancing {
  if (!spec?.strategy) return { lbPolicy: 'ROUND_ROBIN', hashPolicy: [] };
  if (spec.strategy === 'Cookie')
    return { lbPolicy: 'RING_HASH', hashPolicy: [{ cookie: { name: COOKIE, ttl: '0s', path: '/' } }] };
  if (spec.strategy === 'RequestHash') return requestHash(spec, reporter, `${at}.loadBalancerPolicy`);
  const lbPolicy = STRATEGIES[spec.strategy];
  if (lbPolicy === undefined)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `${at}.loadBalancerPolicy.strategy: ${JSON.stringify(spec.strategy)} is not known, RoundRobin is used; use RoundRobin, WeightedLeastRequest, Random, Cookie or RequestHash`,
    );
  return { lbPolicy: lbPolicy ?? 'ROUND_ROBIN', hashPolicy: [] };
}

function requestHash(spec: NonNullable<LoadBalancerSpec>, reporter: Reporter, at: string): LoadBalancing {
  const hashPolicy: Envoy.RouteActionHashPolicy[] = [];
  const seen = new Set<string>();
  for (const [index, policySpec] of (spec.requestHashPolicies ?? []).entries()) {
    const { terminal, headerHashOptions, queryParameterHashOptions, hashSourceIP } = policySpec;
    const ignore = (what: string) =>
      reporter.warn('SpecError', 'IgnoredField', `${at}.requestHashPolicies[${index}]${what}; the policy is ignored`);
    const given = [headerHashOptions, queryParameterHashOptions, hashSourceIP === true ? true : undefined].filter(
      (each) => each !== undefined,
    );
    if (given.length !== 1) {
      ignore(
        `: it has ${given.length} of headerHashOptions, queryParameterHashOptions and hashSourceIP, and exactly one is needed`,
      );
      continue;
    }
    const end = { terminal: terminal === true };
    let id = 'ip';
    let policy: Envoy.RouteActionHashPolicy = { connection_properties: { source_ip: true }, ...end };
    if (headerHashOptions) {
      const name = headerHashOptions.headerName ?? '';
      if (!isHeaderName(name)) {
        ignore(`.headerHashOptions.headerName: ${JSON.stringify(name)} is no header name`);
        continue;
      }
      id = `header ${name.toLowerCase()}`;
      policy = { header: { header_name: name }, ...end };
    } else if (queryParameterHashOptions) {
      const name = queryParameterHashOptions.parameterName ?? '';
      if (name === '') {
        ignore('.queryParameterHashOptions.parameterName: it is empty');
        continue;
      }
      id = `query ${name.toLowerCase()}`;
      policy = { query_parameter: { name }, ...end };
    }
    if (seen.has(id)) {
      ignore(`: an earlier policy hashes the same (${id})`);
      continue;
    }
    seen.add(id);
    hashPolicy.push(policy);
  }
  if (hashPolicy.length > 0) return { lbPolicy: 'RING_HASH', hashPolicy };
  reporter.warn(
    'SpecError',
    'IgnoredField',
    `${at}.requestHashPolicies: none can be used, and RoundRobin is used instead; add one with headerHashOptions, queryParameterHashOptions or hashSourceIP`,
  );
  return { lbPolicy: 'ROUND_ROBIN', hashPolicy: [] };
}
