import type { Message } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { Reporter } from '../problems.ts';
import { isHeaderName } from './header-policy.ts';

export type LoadBalancerSpec = ProxyRoute['loadBalancerPolicy'];

export interface LoadBalancing {
  /** Of the cluster. */
  readonly lbPolicy: string;
  /** Of the route. */
  readonly hashPolicy: readonly Message[];
}

const COOKIE = 'X-Sesame-Session-Affinity';
const STRATEGIES: Readonly<Record<string, string>> = {
  RoundRobin: 'ROUND_ROBIN',
  WeightedLeastRequest: 'LEAST_REQUEST',
  Random: 'RANDOM',
};

/** Without a usable hash policy RequestHash falls back to round robin, with a warning. */
export function loadBalancing(spec: LoadBalancerSpec, reporter: Reporter): LoadBalancing {
  if (!spec?.strategy) return { lbPolicy: 'ROUND_ROBIN', hashPolicy: [] };
  if (spec.strategy === 'Cookie')
    return { lbPolicy: 'RING_HASH', hashPolicy: [{ cookie: { name: COOKIE, ttl: '0s', path: '/' } }] };
  if (spec.strategy === 'RequestHash') return requestHash(spec, reporter);
  const lbPolicy = STRATEGIES[spec.strategy];
  if (lbPolicy === undefined)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `ignoring field "Spec.Routes.LoadBalancerPolicy": unknown strategy ${JSON.stringify(spec.strategy)}`,
    );
  return { lbPolicy: lbPolicy ?? 'ROUND_ROBIN', hashPolicy: [] };
}

function requestHash(spec: NonNullable<LoadBalancerSpec>, reporter: Reporter): LoadBalancing {
  const hashPolicy: Message[] = [];
  const seen = new Set<string>();
  const ignore = (what: string) =>
    reporter.warn('SpecError', 'IgnoredField', `ignoring invalid ${what} in load balancer policy`);
  for (const { terminal, headerHashOptions, queryParameterHashOptions, hashSourceIP } of spec.requestHashPolicies ??
    []) {
    const given = [headerHashOptions, queryParameterHashOptions, hashSourceIP === true ? true : undefined].filter(
      (each) => each !== undefined,
    );
    if (given.length !== 1) {
      ignore('request hash policy: exactly one of the hash options must be set');
      continue;
    }
    const end = terminal === true ? { terminal: true } : {};
    let id = 'ip';
    let policy: Message = { connection_properties: { source_ip: true }, ...end };
    if (headerHashOptions) {
      const name = headerHashOptions.headerName ?? '';
      if (!isHeaderName(name)) {
        ignore(`header hash policy options with name ${JSON.stringify(name)}`);
        continue;
      }
      id = `header ${name.toLowerCase()}`;
      policy = { header: { header_name: name }, ...end };
    } else if (queryParameterHashOptions) {
      const name = queryParameterHashOptions.parameterName ?? '';
      if (name === '') {
        ignore('query parameter hash policy options with an empty name');
        continue;
      }
      id = `query ${name.toLowerCase()}`;
      policy = { query_parameter: { name }, ...end };
    }
    if (seen.has(id)) {
      ignore(`duplicate hash policy (${id})`);
      continue;
    }
    seen.add(id);
    hashPolicy.push(policy);
  }
  if (hashPolicy.length > 0) return { lbPolicy: 'RING_HASH', hashPolicy };
  reporter.warn(
    'SpecError',
    'IgnoredField',
    'ignoring field "Spec.Routes.LoadBalancerPolicy": no valid request hash policies, falling back to RoundRobin',
  );
  return { lbPolicy: 'ROUND_ROBIN', hashPolicy: [] };
}
