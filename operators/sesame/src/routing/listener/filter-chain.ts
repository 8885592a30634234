// Filter chains of the HTTPS listener: one a host, found by the name that the client asks for.
import { share } from '@capstan/kube';
import { type Envoy, Fragment, type Violation, validate } from '../../envoy/index.ts';
import type { AuthorizationService, DownstreamTls, FilterChain } from '../../model/listener.ts';
import { ANY_NAME } from '../conditions.ts';
import { chainMessage, FILTER_CHAIN } from '../envoy/listener-message.ts';
import { FALLBACK_ROUTES, NO_BACKEND, secureRoutesName } from '../envoy/route-message.ts';
import type { HostContribution, SecureContribution } from '../proxy/translate-root.ts';
import type { RoutingSettings } from '../settings.ts';
import { accessLog, httpOptions } from './http-options.ts';

export const HTTPS_LISTENER = 'ingress_https';

/** HTTP/3, over UDP. */
export const HTTP3_LISTENER = 'ingress_http3';

export type ChainFragment = Fragment<typeof FILTER_CHAIN>;

/** The chain of a host that the HTTPS listener serves. */
export function hostChain(
  { fqdn, origins }: Pick<HostContribution, 'fqdn' | 'origins'>,
  secure: SecureContribution,
  settings: RoutingSettings,
): FilterChain {
  const { tcp, tls, jwt, authorization, login } = secure;
  return {
    fqdn,
    name: fqdn,
    ...reporting(settings),
    traffic: tcp
      ? { kind: 'stream', destinations: tcp }
      : {
          kind: 'http',
          routes: secureRoutesName(fqdn),
          options: httpOptions(settings),
          login,
          tokens: jwt?.verification,
          authorization,
          forwardedCertificate: tls?.forwardedCertificate,
          // Any other host has a route for them. Here every name has the same routes.
          ...(fqdn === ANY_NAME && { refusesMisdirected: true }),
        },
    tls: tls && {
      certificates: [tls.secret.name],
      minimumVersion: tls.minimumVersion,
      maximumVersion: tls.maximumVersion,
      ...sharedTls(settings, tcp ? 'stream' : 'http'),
      clientValidation: tls.clientValidation,
      requiresClientCertificate: tls.requiresClientCertificate,
    },
    origins,
  };
}

/**
 * The same over HTTP/3; undefined where it is off, where TLS ends at the service, and where clients need a certificate or an older TLS: QUIC has
 * neither. A wildcard has none, because it would serve the names of hosts that have none.
 */
export function http3Chain(
  host: Pick<HostContribution, 'fqdn' | 'origins'>,
  secure: SecureContribution,
  settings: RoutingSettings,
): FilterChain | undefined {
  if (!settings.envoy.http3.enabled || host.fqdn.startsWith('*')) return undefined;
  const chain = hostChain(host, secure, settings);
  const { traffic, tls } = chain;
  if (traffic.kind !== 'http' || !tls || tls.clientValidation || tls.maximumVersion === '1.2') return undefined;
  return {
    ...chain,
    statPrefix: HTTP3_LISTENER,
    traffic: { ...traffic, isHttp3: true },
    tls: { ...tls, minimumVersion: '1.3', maximumVersion: '1.3', cipherSuites: undefined, protocols: ['h3'] },
  };
}

/** The chain of a name whose connections are closed: no cluster has the name that it sends them to. */
export function closedChain(
  { fqdn, origins }: Pick<HostContribution, 'fqdn' | 'origins'>,
  settings: RoutingSettings,
): FilterChain {
  return {
    fqdn,
    name: fqdn,
    ...reporting(settings),
    traffic: { kind: 'stream', destinations: [{ cluster: { name: NO_BACKEND }, weight: 1 }] },
    tls: undefined,
    origins,
  };
}

/** For clients that name no host: all hosts that want it share one chain, which has the authorization of every host. */
export function fallbackChain(
  secretName: string,
  settings: RoutingSettings,
  authorization: AuthorizationService | undefined,
): FilterChain {
  const { minimumProtocolVersion, maximumProtocolVersion } = settings.envoy.listener.tls;
  return {
    fqdn: '*',
    name: 'fallback-certificate',
    ...reporting(settings),
    traffic: { kind: 'http', routes: FALLBACK_ROUTES, options: httpOptions(settings), authorization },
    tls: {
      certificates: [secretName],
      minimumVersion: minimumProtocolVersion,
      maximumVersion: maximumProtocolVersion,
      ...sharedTls(settings, 'http'),
      clientValidation: undefined,
      requiresClientCertificate: false,
    },
    origins: [],
  };
}

function reporting(settings: RoutingSettings): Pick<FilterChain, 'statPrefix' | 'accessLog'> {
  return { statPrefix: HTTPS_LISTENER, accessLog: accessLog(settings.envoy.https.accessLog, settings) };
}

/** The parameters of TLS that no host decides about. HTTP is negotiated by ALPN; bytes of other protocols are not. */
export function sharedTls(
  { envoy }: RoutingSettings,
  traffic: FilterChain['traffic']['kind'],
): Pick<DownstreamTls, 'cipherSuites' | 'ecdhCurves' | 'protocols'> {
  const { cipherSuites, ecdhCurves } = envoy.listener.tls;
  const versions = envoy.defaultHTTPVersions.map((version) => version.toUpperCase());
  const protocols = [
    ...(versions.includes('HTTP/2') ? ['h2'] : []),
    ...(versions.includes('HTTP/1.1') ? ['http/1.1'] : []),
  ];
  return { cipherSuites, ecdhCurves, ...(traffic === 'http' && { protocols }) };
}

/** The constraints of Envoy that a host's chain violates, beside its tokens and authorization, which are checked with their fields. */
export function chainViolations(host: HostContribution, settings: RoutingSettings): Violation[] {
  const { secure } = host;
  if (!secure || (!secure.tcp && secure.routes.length === 0)) return [];
  const message = chainMessage(hostChain(host, secure, settings));
  return validate(FILTER_CHAIN, secure.tcp ? message : { ...message, filters: [] });
}

export function chainFragment(chain: FilterChain): ChainFragment {
  sibling = share(sibling, chainMessage(chain));
  return new Fragment(FILTER_CHAIN, sibling);
}

/** Chains of hosts differ in a few names: values that one has in common with the next are kept once. */
let sibling: Envoy.FilterChain = {};
