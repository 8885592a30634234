import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { BalancingStrategy } from '../../model/cluster.ts';
import type { HashSource } from '../../model/route.ts';
import type { Reporter } from '../../result.ts';
import { isHeaderName } from './header-policy.ts';

export type LoadBalancerSpec = ProxyRoute['loadBalancerPolicy'];

export interface LoadBalancing {
  /** The strategy of the cluster. */
  readonly strategy: BalancingStrategy;
  /** The hash policy of the route. */
  readonly hashes: readonly HashSource[];
}

const COOKIE = 'X-Sesame-Session-Affinity';
const STRATEGIES: readonly BalancingStrategy[] = ['RoundRobin', 'WeightedLeastRequest', 'Random'];

/** Without a usable hash policy RequestHash falls back to round robin, with a warning. */
export function loadBalancing(spec: LoadBalancerSpec, reporter: Reporter, at = 'spec'): LoadBalancing {
  if (!spec?.strategy) return { strategy: 'RoundRobin', hashes: [] };
  if (spec.strategy === 'Cookie')
    return { strategy: 'Hash', hashes: [{ kind: 'cookie', name: COOKIE, ttl: '0s', path: '/' }] };
  if (spec.strategy === 'RequestHash') return requestHash(spec, reporter, `${at}.loadBalancerPolicy`);
  const strategy = STRATEGIES.find((each) => each === spec.strategy);
  if (strategy === undefined)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `${at}.loadBalancerPolicy.strategy: ${JSON.stringify(spec.strategy)} is not known, RoundRobin is used; use RoundRobin, WeightedLeastRequest, Random, Cookie or RequestHash`,
    );
  return { strategy: strategy ?? 'RoundRobin', hashes: [] };
}

function requestHash(spec: NonNullable<LoadBalancerSpec>, reporter: Reporter, at: string): LoadBalancing {
  const hashes: HashSource[] = [];
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
    const isTerminal = terminal === true;
    let id = 'ip';
    let source: HashSource = { kind: 'address', isTerminal };
    if (headerHashOptions) {
      const name = headerHashOptions.headerName ?? '';
      if (!isHeaderName(name)) {
        ignore(`.headerHashOptions.headerName: ${JSON.stringify(name)} is no header name`);
        continue;
      }
      id = `header ${name.toLowerCase()}`;
      source = { kind: 'header', name, isTerminal };
    } else if (queryParameterHashOptions) {
      const name = queryParameterHashOptions.parameterName ?? '';
      if (name === '') {
        ignore('.queryParameterHashOptions.parameterName: it is empty');
        continue;
      }
      id = `query ${name.toLowerCase()}`;
      source = { kind: 'query', name, isTerminal };
    }
    if (seen.has(id)) {
      ignore(`: an earlier policy hashes the same (${id})`);
      continue;
    }
    seen.add(id);
    hashes.push(source);
  }
  if (hashes.length > 0) return { strategy: 'Hash', hashes };
  reporter.warn(
    'SpecError',
    'IgnoredField',
    `${at}.requestHashPolicies: none can be used, and RoundRobin is used instead; add one with headerHashOptions, queryParameterHashOptions or hashSourceIP`,
  );
  return { strategy: 'RoundRobin', hashes: [] };
}
