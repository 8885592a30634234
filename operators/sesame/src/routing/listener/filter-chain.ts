// Filter chains of the HTTPS listener: one a host, found by the name that the client asks for.
import { share } from '@capstan/kube';
import { type Choice, CONFIG_SOURCE, type Envoy, Fragment, typed } from '../../envoy/index.ts';
import type { TlsTermination } from '../proxy/proxy-tls.ts';
import type { HostContribution, SecureContribution } from '../proxy/translate-root.ts';
import type { WeightedUpstream } from '../route-entry.ts';
import { compareBytes } from '../route-order.ts';
import type { RoutingSettings } from '../settings.ts';
import { tlsParameters } from '../upstream/upstream.ts';
import { accessLog } from './access-log.ts';
import { connectionManager } from './connection-manager.ts';
import { FALLBACK_ROUTES, secureRoutesName } from './virtual-host.ts';

export const FILTER_CHAIN = 'envoy.config.listener.v3.FilterChain';
export const HTTPS_LISTENER = 'ingress_https';
/** Longer than any other idle timeout on the way, so that this one is never the first. */
const TCP_IDLE_TIMEOUT = '9001s';

export type ChainFragment = Fragment<typeof FILTER_CHAIN>;

export function hostChain(
  part: HostContribution,
  secure: SecureContribution,
  settings: RoutingSettings,
): ChainFragment {
  const filter = secure.tcp
    ? tcpProxy(HTTPS_LISTENER, secure.tcp, settings.envoy.https.accessLog, settings)
    : connectionManager(
        {
          routeName: secureRoutesName(part.fqdn),
          statPrefix: HTTPS_LISTENER,
          accessLogPath: settings.envoy.https.accessLog,
          jwt: secure.jwt?.filter,
          authorization: secure.authorization?.filter,
          forwardedDetails: secure.tls?.forwardedDetails,
        },
        settings,
      );
  sibling = share(sibling, {
    filter_chain_match: part.fqdn === '*' ? { transport_protocol: 'tls' } : { server_names: [part.fqdn] },
    filters: [filter],
    transport_socket: secure.tls
      ? downstreamTls(secure.tls, secure.tls.secret.name, settings, secure.tcp === undefined)
      : undefined,
    name: part.fqdn,
  });
  return new Fragment(FILTER_CHAIN, sibling);
}

/** Chains of hosts differ in a few names: what the last one has in common with the next is kept once. */
let sibling: Envoy.FilterChain = {};

/** For clients that name no host: all hosts that want it share one chain, which has the authorization of every host. */
export function fallbackChain(
  secretName: string,
  settings: RoutingSettings,
  authorization: Envoy.Any | undefined,
): ChainFragment {
  const filter = connectionManager(
    {
      routeName: FALLBACK_ROUTES,
      statPrefix: HTTPS_LISTENER,
      accessLogPath: settings.envoy.https.accessLog,
      authorization,
    },
    settings,
  );
  const { minimumProtocolVersion: minimumVersion, maximumProtocolVersion: maximumVersion } =
    settings.envoy.listener.tls;
  const tls = { minimumVersion, maximumVersion, clientValidation: undefined, requiresClientCertificate: false };
  return new Fragment(FILTER_CHAIN, {
    filter_chain_match: { transport_protocol: 'tls' },
    filters: [filter],
    transport_socket: downstreamTls(tls, secretName, settings, true),
    name: 'fallback-certificate',
  });
}

type Termination = Pick<
  TlsTermination,
  'minimumVersion' | 'maximumVersion' | 'clientValidation' | 'requiresClientCertificate'
>;

export function downstreamTls(
  tls: Termination,
  secretNames: string | readonly string[],
  settings: RoutingSettings,
  isHttp: boolean,
): Envoy.TransportSocket {
  const { cipherSuites, ecdhCurves } = settings.envoy.listener.tls;
  const versions = settings.envoy.defaultHTTPVersions.map((version) => version.toUpperCase());
  const alpn = [...(versions.includes('HTTP/2') ? ['h2'] : []), ...(versions.includes('HTTP/1.1') ? ['http/1.1'] : [])];
  const context: Envoy.DownstreamTlsContext = {
    common_tls_context: {
      tls_params: tlsParameters({
        minimumProtocolVersion: tls.minimumVersion,
        maximumProtocolVersion: tls.maximumVersion,
        cipherSuites,
        ecdhCurves,
      }),
      tls_certificate_sds_secret_configs: [secretNames].flat().map((name) => ({ name, sds_config: CONFIG_SOURCE })),
      alpn_protocols: isHttp && alpn.length > 0 ? alpn : undefined,
      validation_context: tls.clientValidation,
    },
    require_client_certificate: tls.clientValidation ? tls.requiresClientCertificate : undefined,
  };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: typed('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', context),
  };
}

/** Clusters without weight get nothing, unless none has any: then all get the same. */
export function tcpProxy(
  statPrefix: string,
  upstreams: readonly { readonly cluster: Pick<WeightedUpstream['cluster'], 'name'>; readonly weight: number }[],
  logPath: string,
  settings: RoutingSettings,
): Envoy.NetworkFilter {
  const weighted = upstreams.filter(({ weight }) => weight > 0);
  const used = weighted.length > 0 ? weighted : upstreams.map((each) => ({ ...each, weight: 1 }));
  const [only] = used;
  const clusters = used
    .map(({ cluster, weight }) => ({ name: cluster.name, weight }))
    .sort((left, right) => compareBytes(left.name, right.name) || left.weight - right.weight);
  const target: Choice<Envoy.TcpProxy, 'cluster' | 'weighted_clusters'> =
    used.length === 1 && only ? { cluster: only.cluster.name } : { weighted_clusters: { clusters } };
  return {
    name: 'envoy.filters.network.tcp_proxy',
    typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: statPrefix,
      ...target,
      idle_timeout: TCP_IDLE_TIMEOUT,
      ...accessLog(logPath, settings),
    }),
  };
}
