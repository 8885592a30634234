import type { AuthorizationService } from '../../model/listener.ts';

/** Names of HTTP filters, by which routes configure them. */
export const FILTER = {
  misdirected: 'envoy.filters.http.lua.misdirected',
  compressor: 'envoy.filters.http.compressor',
  errorPages: 'envoy.filters.http.custom_response',
  grpcWeb: 'envoy.filters.http.grpc_web',
  grpcStats: 'envoy.filters.http.grpc_stats',
  cors: 'envoy.filters.http.cors',
  localRateLimit: 'envoy.filters.http.local_ratelimit',
  lua: 'envoy.filters.http.lua',
  rbac: 'envoy.filters.http.rbac',
  login: 'envoy.filters.http.oauth2',
  jwt: 'envoy.filters.http.jwt_authn',
  authorization: 'envoy.filters.http.ext_authz',
  rateLimit: 'envoy.filters.http.ratelimit',
  router: 'router',
} as const;

/** The name of the filter that asks the service of a host, on a listener that hosts share. It decides about the settings that a host cannot override. */
export function hostAuthorizationName({
  protocol,
  failOpen,
}: {
  readonly protocol: Pick<AuthorizationService['protocol'], 'kind'>;
  readonly failOpen: boolean;
}): string {
  return `${FILTER.authorization}.${protocol.kind}${failOpen ? '.fail_open' : ''}`;
}
