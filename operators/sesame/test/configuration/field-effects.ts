// One row for each field of SesameConfiguration: an edit, and its effect. The texts in `shows` must be in the resources for Envoys after
// the edit and not before; other effects are checked in their place.
import type { ConfigurationSpec } from '../../src/kinds/index.ts';

export interface Row {
  /** Laid under both sides of the edit: the settings that the field needs to have an effect. */
  readonly base?: ConfigurationSpec;
  readonly edit: ConfigurationSpec;
  /** In the resources that changed. */
  readonly shows?: RegExp;
  /** Not in the resources any more. */
  readonly hides?: RegExp;
}

/** A field whose effect is not in xDS: the test that shows it, by file and title. */
export interface Elsewhere {
  readonly file: string;
  readonly title: string;
}

const AUTH = { extensionRef: { name: 'auth', namespace: 'default' } };
const auth = (more: NonNullable<ConfigurationSpec['globalExtAuth']>): ConfigurationSpec => ({
  globalExtAuth: { ...AUTH, ...more },
});
/** In the filter of all hosts: filters for hosts with a service of their own follow it. */
const globalFilter = (text: string) => new RegExp(`"envoy\\.filters\\.http\\.ext_authz","(?:(?!"name":).)*${text}`);
const limits = (more: NonNullable<ConfigurationSpec['rateLimitService']> = {}): ConfigurationSpec => ({
  rateLimitService: { extensionService: 'default/limits', ...more },
});
const tracing = (more: NonNullable<ConfigurationSpec['tracing']> = {}): ConfigurationSpec => ({
  tracing: { extensionService: 'default/traces', ...more },
});
const listener = (more: NonNullable<NonNullable<ConfigurationSpec['envoy']>['listener']>): ConfigurationSpec => ({
  envoy: { listener: more },
});
const cluster = (more: NonNullable<NonNullable<ConfigurationSpec['envoy']>['cluster']>): ConfigurationSpec => ({
  envoy: { cluster: more },
});
const timeouts = (more: NonNullable<NonNullable<ConfigurationSpec['envoy']>['timeouts']>): ConfigurationSpec => ({
  envoy: { timeouts: more },
});
const MAX_HEADERS = '/filter_chains/0/filters/0/typed_config/max_request_headers_kb';
const METRICS_TLS = { certFile: '/m/tls.crt', keyFile: '/m/tls.key' };

export const IN_XDS: Readonly<Record<string, Row>> = {
  'ingress.className': {
    edit: { ingress: { className: 'special' } },
    shows: /classed\.test/,
    hides: /"plain\.test"/,
  },
  'envoy.listener.useProxyProtocol': {
    edit: listener({ useProxyProtocol: true }),
    shows: /envoy\.filters\.listener\.proxy_protocol/,
  },
  'envoy.listener.disableAllowChunkedLength': {
    edit: listener({ disableAllowChunkedLength: true }),
    hides: /"allow_chunked_length":true/,
  },
  'envoy.listener.disableMergeSlashes': {
    edit: listener({ disableMergeSlashes: true }),
    hides: /"merge_slashes":true/,
  },
  'envoy.listener.serverHeaderTransformation': {
    edit: listener({ serverHeaderTransformation: 'pass_through' }),
    shows: /"server_header_transformation":"PASS_THROUGH"/,
  },
  'envoy.listener.connectionBalancer': {
    edit: listener({ connectionBalancer: 'exact' }),
    shows: /"connection_balance_config":\{"exact_balance":\{\}\}/,
  },
  'envoy.listener.maxRequestsPerConnection': {
    edit: listener({ maxRequestsPerConnection: 17 }),
    shows: /"common_http_protocol_options":\{[^}]*"max_requests_per_connection":17/,
  },
  'envoy.listener.perConnectionBufferLimitBytes': {
    edit: listener({ perConnectionBufferLimitBytes: 4097 }),
    shows: /"per_connection_buffer_limit_bytes":4097/,
  },
  'envoy.listener.maxRequestsPerIOCycle': {
    edit: listener({ maxRequestsPerIOCycle: 5 }),
    shows: /"http\.max_requests_per_io_cycle":5/,
  },
  'envoy.listener.httpMaxConcurrentStreams': {
    edit: listener({ httpMaxConcurrentStreams: 77 }),
    shows: /"http2_protocol_options":\{"max_concurrent_streams":77/,
  },
  'envoy.listener.maxConnectionsPerListener': {
    edit: listener({ maxConnectionsPerListener: 9 }),
    shows: /"envoy\.resource_limits\.listener\.ingress_https\.connection_limit":9/,
  },
  'envoy.listener.maxConnectionsToAcceptPerSocketEvent': {
    edit: listener({ maxConnectionsToAcceptPerSocketEvent: 3 }),
    shows: /"max_connections_to_accept_per_socket_event":3/,
  },
  'envoy.listener.socketOptions.tos': {
    edit: listener({ socketOptions: { tos: 96 } }),
    shows: /"Set IPv4 TOS field"[^}]*"int_value":96/,
  },
  'envoy.listener.socketOptions.trafficClass': {
    base: { envoy: { http: { address: '::' } } },
    edit: listener({ socketOptions: { trafficClass: 64 } }),
    shows: /"Set IPv6 IPV6_TCLASS field"[^}]*"int_value":64/,
  },
  'envoy.listener.compression.algorithm': {
    edit: listener({ compression: { algorithm: 'zstd' } }),
    shows: /compression\.zstd\.compressor/,
  },
  'envoy.listener.tls.minimumProtocolVersion': {
    edit: listener({ tls: { minimumProtocolVersion: '1.3' } }),
    shows: /"tls_minimum_protocol_version":"TLSv1_3"/,
  },
  'envoy.listener.tls.maximumProtocolVersion': {
    edit: listener({ tls: { maximumProtocolVersion: '1.2' } }),
    shows: /"tls_maximum_protocol_version":"TLSv1_2"/,
  },
  'envoy.listener.tls.cipherSuites': {
    edit: listener({ tls: { cipherSuites: ['ECDHE-RSA-AES256-SHA'] } }),
    shows: /"cipher_suites":\["ECDHE-RSA-AES256-SHA"\]/,
  },
  'envoy.listener.tls.ecdhCurves': {
    edit: listener({ tls: { ecdhCurves: ['P-384'] } }),
    shows: /"ecdh_curves":\["P-384"\]/,
  },
  'envoy.listener.tls.fingerprint.ja3': {
    edit: listener({ tls: { fingerprint: { ja3: true } } }),
    shows: /"enable_ja3_fingerprinting":true/,
  },
  'envoy.listener.tls.fingerprint.ja4': {
    edit: listener({ tls: { fingerprint: { ja4: true } } }),
    shows: /"enable_ja4_fingerprinting":true/,
  },
  'envoy.http.address': {
    edit: { envoy: { http: { address: '127.0.0.9' } } },
    shows: /"name":"ingress_http","address":\{"socket_address":\{"address":"127\.0\.0\.9"/,
  },
  'envoy.http.port': { edit: { envoy: { http: { port: 8181 } } }, shows: /"port_value":8181/ },
  'envoy.http.accessLog': { edit: { envoy: { http: { accessLog: '/log/http' } } }, shows: /"path":"\/log\/http"/ },
  'envoy.https.address': { edit: { envoy: { https: { address: '127.0.0.8' } } }, shows: /"address":"127\.0\.0\.8"/ },
  'envoy.https.port': { edit: { envoy: { https: { port: 8444 } } }, shows: /"port_value":8444/ },
  'envoy.https.accessLog': { edit: { envoy: { https: { accessLog: '/log/https' } } }, shows: /"path":"\/log\/https"/ },
  'envoy.metrics.address': {
    base: { envoy: { health: { port: 8102 } } },
    edit: { envoy: { metrics: { address: '127.0.0.7' } } },
    shows: /"name":"stats","address":\{"socket_address":\{"address":"127\.0\.0\.7"/,
  },
  'envoy.metrics.port': { edit: { envoy: { metrics: { port: 8112 } } }, shows: /"name":"stats".*"port_value":8112/ },
  'envoy.metrics.tls.certFile': {
    edit: { envoy: { metrics: { tls: METRICS_TLS, port: 8112 } } },
    shows: /"name":"metrics-tls-certificate"[^]*"filename":"\/m\/tls\.crt"/,
  },
  'envoy.metrics.tls.keyFile': {
    edit: { envoy: { metrics: { tls: METRICS_TLS, port: 8112 } } },
    shows: /"private_key":\{"filename":"\/m\/tls\.key"/,
  },
  'envoy.metrics.tls.caFile': {
    base: { envoy: { metrics: { tls: METRICS_TLS, port: 8112 } } },
    edit: { envoy: { metrics: { tls: { ...METRICS_TLS, caFile: '/m/ca.crt' }, port: 8112 } } },
    shows:
      /"require_client_certificate":true[^]*"filename":"\/m\/ca\.crt"|"filename":"\/m\/ca\.crt"[^]*"require_client_certificate":true/,
  },
  'envoy.health.address': {
    base: { envoy: { health: { port: 8102 } } },
    edit: { envoy: { health: { address: '127.0.0.6' } } },
    shows: /"name":"health","address":\{"socket_address":\{"address":"127\.0\.0\.6"/,
  },
  'envoy.health.port': { edit: { envoy: { health: { port: 8113 } } }, shows: /"name":"health".*"port_value":8113/ },
  'envoy.omEnforcedHealth.address': {
    edit: { envoy: { omEnforcedHealth: { address: '127.0.0.5', port: 8114 } } },
    shows: /"name":"health-om-enforced","address":\{"socket_address":\{"address":"127\.0\.0\.5"/,
  },
  'envoy.omEnforcedHealth.port': {
    edit: { envoy: { omEnforcedHealth: { port: 8114 } } },
    shows: /"name":"health-om-enforced".*"port_value":8114/,
  },
  'envoy.clientCertificate.name': {
    edit: { envoy: { clientCertificate: { name: 'client', namespace: 'default' } } },
    shows: /"tls_certificate_sds_secret_configs":\[\{"name":"default\/client"/,
  },
  'envoy.clientCertificate.namespace': {
    edit: { envoy: { clientCertificate: { name: 'client', namespace: 'other' } } },
    shows: /"name":"other\/client"/,
  },
  'envoy.network.numTrustedHops': {
    edit: { envoy: { network: { numTrustedHops: 2 } } },
    shows: /"xff_num_trusted_hops":2/,
  },
  'envoy.network.adminPort': {
    edit: { envoy: { network: { adminPort: 9101 } } },
    shows: /"name":"envoy-admin".*"port_value":9101/,
  },
  'envoy.network.stripTrailingHostDot': {
    edit: { envoy: { network: { stripTrailingHostDot: true } } },
    shows: /"strip_trailing_host_dot":true/,
  },
  'envoy.logging.accessLogFormat': {
    edit: { envoy: { logging: { accessLogFormat: 'json' } } },
    shows: /"log_format":\{[^]*"json_format"/,
  },
  'envoy.logging.accessLogFormatString': {
    edit: { envoy: { logging: { accessLogFormatString: '%PROTOCOL%\n' } } },
    shows: /"inline_string":"%PROTOCOL%\\n"/,
  },
  'envoy.logging.jsonFields': {
    base: { envoy: { logging: { accessLogFormat: 'json' } } },
    edit: { envoy: { logging: { accessLogFormat: 'json', jsonFields: ['proto=%PROTOCOL%'] } } },
    shows: /"json_format":\{"proto":"%PROTOCOL%"\}/,
  },
  'envoy.logging.accessLogLevel': {
    edit: { envoy: { logging: { accessLogLevel: 'critical' } } },
    shows: /"status_code_filter":[^]*"default_value":500/,
  },
  'envoy.defaultHTTPVersions': {
    edit: { envoy: { defaultHTTPVersions: ['HTTP/2'] } },
    shows: /"codec_type":"HTTP2"/,
  },
  'envoy.timeouts.requestTimeout': { edit: timeouts({ requestTimeout: '11s' }), shows: /"request_timeout":"11s"/ },
  'envoy.timeouts.connectionIdleTimeout': {
    edit: timeouts({ connectionIdleTimeout: '12s' }),
    shows: /"common_http_protocol_options":\{"idle_timeout":"12s"/,
  },
  'envoy.timeouts.streamIdleTimeout': {
    edit: timeouts({ streamIdleTimeout: '13s' }),
    shows: /"stream_idle_timeout":"13s"/,
  },
  'envoy.timeouts.maxConnectionDuration': {
    edit: timeouts({ maxConnectionDuration: '14s' }),
    shows: /"max_connection_duration":"14s"/,
  },
  'envoy.timeouts.delayedCloseTimeout': {
    edit: timeouts({ delayedCloseTimeout: '15s' }),
    shows: /"delayed_close_timeout":"15s"/,
  },
  'envoy.timeouts.connectionShutdownGracePeriod': {
    edit: timeouts({ connectionShutdownGracePeriod: '16s' }),
    shows: /"drain_timeout":"16s"/,
  },
  'envoy.timeouts.connectTimeout': { edit: timeouts({ connectTimeout: '3s' }), shows: /"connect_timeout":"3s"/ },
  'envoy.cluster.dnsLookupFamily': {
    base: { enableExternalNameService: true },
    edit: cluster({ dnsLookupFamily: 'v6' }),
    shows: /"dns_lookup_family":"V6_ONLY"/,
  },
  'envoy.cluster.maxRequestsPerConnection': {
    edit: cluster({ maxRequestsPerConnection: 21 }),
    shows: /"max_requests_per_connection":21/,
  },
  'envoy.cluster.perConnectionBufferLimitBytes': {
    edit: cluster({ perConnectionBufferLimitBytes: 8193 }),
    shows: /"per_connection_buffer_limit_bytes":8193/,
  },
  'envoy.cluster.circuitBreakers.maxConnections': {
    edit: cluster({ circuitBreakers: { maxConnections: 31 } }),
    shows: /"max_connections":31/,
  },
  'envoy.cluster.circuitBreakers.maxPendingRequests': {
    edit: cluster({ circuitBreakers: { maxPendingRequests: 32 } }),
    shows: /"max_pending_requests":32/,
  },
  'envoy.cluster.circuitBreakers.maxRequests': {
    edit: cluster({ circuitBreakers: { maxRequests: 33 } }),
    shows: /"max_requests":33/,
  },
  'envoy.cluster.circuitBreakers.maxRetries': {
    edit: cluster({ circuitBreakers: { maxRetries: 34 } }),
    shows: /"max_retries":34/,
  },
  'envoy.cluster.circuitBreakers.perHostMaxConnections': {
    edit: cluster({ circuitBreakers: { perHostMaxConnections: 35 } }),
    shows: /"per_host_thresholds":\[\{[^]*"max_connections":35/,
  },
  'envoy.cluster.upstreamTLS.minimumProtocolVersion': {
    edit: cluster({ upstreamTLS: { minimumProtocolVersion: '1.3' } }),
    shows: /"tls_minimum_protocol_version":"TLSv1_3"/,
  },
  'envoy.cluster.upstreamTLS.maximumProtocolVersion': {
    edit: cluster({ upstreamTLS: { maximumProtocolVersion: '1.2' } }),
    shows: /"tls_maximum_protocol_version":"TLSv1_2"/,
  },
  'envoy.cluster.upstreamTLS.cipherSuites': {
    edit: cluster({ upstreamTLS: { cipherSuites: ['ECDHE-RSA-AES128-SHA'] } }),
    shows: /"cipher_suites":\["ECDHE-RSA-AES128-SHA"\]/,
  },
  'envoy.cluster.upstreamTLS.ecdhCurves': {
    edit: cluster({ upstreamTLS: { ecdhCurves: ['P-521'] } }),
    shows: /"ecdh_curves":\["P-521"\]/,
  },
  'envoy.cluster.outlierDetection': {
    edit: cluster({ outlierDetection: { consecutiveServerErrors: 7 } }),
    shows: /"outlier_detection":\{"consecutive_5xx":7/,
  },
  'envoy.http3.enabled': {
    edit: { envoy: { http3: { enabled: true } } },
    shows: /^lds\/ingress_http3 .*"protocol":"UDP"/m,
  },
  'envoy.http3.advertisedPort': {
    base: { envoy: { http3: { enabled: true } } },
    edit: { envoy: { http3: { enabled: true, advertisedPort: 4433 } } },
    shows: /"value":"h3=\\":4433\\"; ma=86400"/,
  },
  'envoy.runtimeSettings': {
    edit: { envoy: { runtimeSettings: { 'overload.global_downstream_max_connections': '1000' } } },
    shows: /"overload\.global_downstream_max_connections":"1000"/,
  },
  'envoy.errorPages': {
    edit: { envoy: { errorPages: [{ statusCodes: [503], body: 'back soon' }] } },
    shows: /"name":"envoy\.filters\.http\.custom_response".*"inline_string":"back soon"/,
  },
  envoyPatches: {
    edit: {
      envoyPatches: [
        {
          name: 'buffer',
          type: 'Listener',
          resource: 'ingress_http',
          operations: [{ op: 'add', path: MAX_HEADERS, value: 96 }],
        },
      ],
    },
    shows: /"max_request_headers_kb":96/,
  },
  'httpproxy.disablePermitInsecure': {
    edit: { httpproxy: { disablePermitInsecure: true } },
    hides: /"domains":\["guarded\.test"\],"routes":\[\{"match":\{"prefix":"\/"\},"route"/,
  },
  'httpproxy.rootNamespaces': { edit: { httpproxy: { rootNamespaces: ['default'] } }, hides: /other\.test/ },
  'httpproxy.fallbackCertificate.name': {
    edit: { httpproxy: { fallbackCertificate: { name: 'fallback', namespace: 'default' } } },
    shows: /"name":"fallback-certificate"/,
  },
  'httpproxy.fallbackCertificate.namespace': {
    base: { httpproxy: { fallbackCertificate: { name: 'client', namespace: 'default' } } },
    edit: { httpproxy: { fallbackCertificate: { name: 'client', namespace: 'other' } } },
    shows: /"name":"other\/client"/,
  },
  enableExternalNameService: { edit: { enableExternalNameService: true }, shows: /"address":"external\.example\.com"/ },
  'globalExtAuth.extensionRef.name': {
    edit: auth({}),
    shows: /lds\/ingress_http [^\n]*ext_authz\.v3\.ExtAuthz[^\n]*"cluster_name":"extension\/default\/auth"/,
  },
  'globalExtAuth.extensionRef.namespace': {
    edit: auth({ extensionRef: { name: 'auth', namespace: 'other' } }),
    shows: /"cluster_name":"extension\/other\/auth"/,
  },
  'globalExtAuth.extensionRef.apiVersion': {
    edit: auth({ extensionRef: { ...AUTH.extensionRef, apiVersion: 'projectsesame.io/v1alpha1' } }),
    shows: /"cluster_name":"extension\/default\/auth"/,
  },
  'globalExtAuth.serviceType': {
    base: auth({}),
    edit: auth({ serviceType: 'http' }),
    shows: globalFilter('"http_service":'),
  },
  'globalExtAuth.httpSettings': {
    base: auth({ serviceType: 'http' }),
    edit: auth({ serviceType: 'http', httpSettings: { pathPrefix: '/check' } }),
    shows: /"path_prefix":"\/check"/,
  },
  'globalExtAuth.responseTimeout': { base: auth({}), edit: auth({ responseTimeout: '4s' }), shows: /"timeout":"4s"/ },
  'globalExtAuth.failOpen': {
    base: auth({}),
    edit: auth({ failOpen: true }),
    shows: globalFilter('"failure_mode_allow":true'),
  },
  'globalExtAuth.authPolicy.disabled': {
    base: auth({}),
    edit: auth({ authPolicy: { disabled: true } }),
    shows: /"domains":\["plain\.test"\][^\]]*ExtAuthzPerRoute","disabled":true/,
  },
  'globalExtAuth.authPolicy.context': {
    base: auth({}),
    edit: auth({ authPolicy: { context: { team: 'edge' } } }),
    shows: /"context_extensions":\{"team":"edge"\}/,
  },
  'globalExtAuth.withRequestBody.maxRequestBytes': {
    base: auth({}),
    edit: auth({ withRequestBody: { maxRequestBytes: 99 } }),
    shows: /"max_request_bytes":99/,
  },
  'globalExtAuth.withRequestBody.allowPartialMessage': {
    base: auth({}),
    edit: auth({ withRequestBody: { allowPartialMessage: true } }),
    shows: /"allow_partial_message":true/,
  },
  'globalExtAuth.withRequestBody.packAsBytes': {
    base: auth({}),
    edit: auth({ withRequestBody: { packAsBytes: true } }),
    shows: /"pack_as_bytes":true/,
  },
  'rateLimitService.extensionService': {
    edit: limits(),
    shows: /ratelimit\.v3\.RateLimit[^]*"cluster_name":"extension\/default\/limits"/,
  },
  'rateLimitService.domain': { base: limits(), edit: limits({ domain: 'shop' }), shows: /"domain":"shop"/ },
  'rateLimitService.failOpen': { base: limits(), edit: limits({ failOpen: true }), hides: /"failure_mode_deny":true/ },
  'rateLimitService.enableXRateLimitHeaders': {
    base: limits(),
    edit: limits({ enableXRateLimitHeaders: true }),
    shows: /"enable_x_ratelimit_headers":"DRAFT_VERSION_03"/,
  },
  'rateLimitService.enableResourceExhaustedCode': {
    base: limits(),
    edit: limits({ enableResourceExhaustedCode: true }),
    shows: /"rate_limited_as_resource_exhausted":true/,
  },
  'rateLimitService.defaultGlobalRateLimitPolicy': {
    base: limits(),
    edit: limits({
      defaultGlobalRateLimitPolicy: { descriptors: [{ entries: [{ genericKey: { value: 'everything' } }] }] },
    }),
    shows: /"rate_limits":[^]*"descriptor_value":"everything"/,
  },
  'policy.requestHeaders.set': {
    edit: { policy: { requestHeaders: { set: { 'X-Edge': 'one' } } } },
    shows: /"key":"X-Edge","value":"one"/,
  },
  'policy.requestHeaders.remove': {
    edit: { policy: { requestHeaders: { remove: ['X-Secret'] } } },
    shows: /"request_headers_to_remove":\["X-Secret"\]/,
  },
  'policy.responseHeaders.set': {
    edit: { policy: { responseHeaders: { set: { 'X-Frame': 'deny' } } } },
    shows: /"response_headers_to_add":[^]*"key":"X-Frame","value":"deny"/,
  },
  'policy.responseHeaders.remove': {
    edit: { policy: { responseHeaders: { remove: ['X-Powered-By'] } } },
    shows: /"response_headers_to_remove":\["X-Powered-By"\]/,
  },
  'policy.applyToIngress': {
    base: { policy: { requestHeaders: { set: { 'X-Edge': 'one' } } } },
    edit: { policy: { requestHeaders: { set: { 'X-Edge': 'one' } }, applyToIngress: true } },
    shows: /"domains":\["ingress\.test"\],"routes":\[[^\]]*"X-Edge"/,
  },
  'tracing.extensionService': {
    edit: tracing(),
    shows: /OpenTelemetryConfig[^]*"cluster_name":"extension\/default\/traces"/,
  },
  'tracing.serviceName': { base: tracing(), edit: tracing({ serviceName: 'edge' }), shows: /"service_name":"edge"/ },
  'tracing.includePodDetail': { base: tracing(), edit: tracing({ includePodDetail: false }), hides: /"podName"/ },
  'tracing.overallSampling': {
    base: tracing(),
    edit: tracing({ overallSampling: '41' }),
    shows: /"overall_sampling":\{"value":41\}/,
  },
  'tracing.clientSampling': {
    base: tracing(),
    edit: tracing({ clientSampling: '42' }),
    shows: /"client_sampling":\{"value":42\}/,
  },
  'tracing.randomSampling': {
    base: tracing(),
    edit: tracing({ randomSampling: '43' }),
    shows: /"random_sampling":\{"value":43\}/,
  },
  'tracing.maxPathTagLength': {
    base: tracing(),
    edit: tracing({ maxPathTagLength: 44 }),
    shows: /"max_path_tag_length":44/,
  },
  'tracing.customTags': {
    base: tracing(),
    edit: tracing({ customTags: [{ tagName: 'zone', literal: 'eu' }] }),
    shows: /"tag":"zone","literal":\{"value":"eu"\}/,
  },
};

const SERVE = 'operators/sesame/test/serve/serve.test.ts';
const OWN = 'operators/sesame/test/serve/own-settings.test.ts';
const DEPLOYMENT = 'operators/sesame/test/deployment/deployment.test.ts';
const moves: Elsewhere = {
  file: SERVE,
  title: 'moves its servers when their address changes, and answers what they are for',
};
const xds: Elsewhere = { file: OWN, title: 'the xDS server follows its address, port and certificates' };
const metricsTls: Elsewhere = { file: OWN, title: 'metrics are served over TLS, to clients with a certificate' };
const election: Elsewhere = { file: OWN, title: 'the Lease that is contended for follows the configuration' };
const addresses: Elsewhere = {
  file: OWN,
  title: 'statuses have the address of Envoy’s Service, or the configured one',
};
const level: Elsewhere = { file: OWN, title: 'log levels follow the configuration' };
const pods: Elsewhere = {
  file: DEPLOYMENT,
  title: 'runs pods that an ordinary user could not break out of, with ports and flags that fit',
};
const accepted: Elsewhere = { file: OWN, title: 'fields that nothing acts on are accepted, and say so' };
const gateway: Elsewhere = { file: OWN, title: 'gateways are those of the configuration' };

export const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  'xdsServer.type': accepted,
  'xdsServer.address': xds,
  'xdsServer.port': xds,
  'xdsServer.insecure': xds,
  'xdsServer.tls.caFile': xds,
  'xdsServer.tls.certFile': xds,
  'xdsServer.tls.keyFile': xds,
  'ingress.statusAddress': addresses,
  'envoy.service.name': addresses,
  'envoy.service.namespace': addresses,
  'debug.address': moves,
  'debug.port': moves,
  'health.address': moves,
  'health.port': moves,
  'metrics.address': moves,
  'metrics.port': moves,
  'metrics.tls.caFile': metricsTls,
  'metrics.tls.certFile': metricsTls,
  'metrics.tls.keyFile': metricsTls,
  'debug.logLevel': level,
  'debug.kubernetesLogLevel': level,
  'envoy.managed.networkPublishing.type': pods,
  'envoy.managed.networkPublishing.externalTrafficPolicy': pods,
  'envoy.managed.networkPublishing.ipFamilyPolicy': pods,
  'envoy.managed.networkPublishing.serviceAnnotations': pods,
  'envoy.managed.nodePlacement.nodeSelector': pods,
  'envoy.managed.nodePlacement.tolerations': pods,
  'gateway.controllerName': gateway,
  'gateway.gatewayRef.name': gateway,
  'gateway.gatewayRef.namespace': gateway,
  'leaderElection.configmap.name': election,
  'leaderElection.configmap.namespace': election,
  'leaderElection.disableLeaderElection': election,
  'leaderElection.leaseDuration': election,
  'leaderElection.renewDeadline': election,
  'leaderElection.retryPeriod': election,
  featureFlags: accepted,
};
