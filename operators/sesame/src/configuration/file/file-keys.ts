// The keys of the configuration file, each with the field that it became. The spelling of every key is fixed (kebab-case and camelCase
// are mixed, as they always were), and an unknown key is an error, as upstream has it.

import { CUSTOM_TAG, HTTP_SETTINGS, RATE_LIMIT_POLICY, type ShapeType, toFileForm } from './struct-shapes.ts';

export type FileType = 'string' | 'boolean' | 'integer' | 'number' | 'strings' | 'texts' | 'struct';

export interface FileKey {
  readonly type: FileType;
  /** The keys of a struct. */
  readonly shape?: ShapeType;
  /** The field of the resource; undefined for a key that stays a flag. */
  readonly field?: string;
  /** The flag that it stays. */
  readonly flag?: string;
  /** A key that is still read, with a warning: its replacement. */
  readonly deprecated?: string;
  /** From the file's value to the field's, and back. */
  readonly toField?: (value: unknown) => unknown;
  readonly toFile?: (value: unknown) => unknown;
  /** Read only: another key is written for the field. */
  readonly isAlias?: boolean;
}

const key = (type: FileType, field: string, more: Omit<FileKey, 'type' | 'field'> = {}): FileKey => ({
  type,
  field,
  ...more,
});
const struct = (field: string, shape: ShapeType): FileKey =>
  key('struct', field, { shape, toFile: (value) => toFileForm(value, shape) });
const stays = (type: FileType, flag: string): FileKey => ({ type, flag });

const upper = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((version) => String(version).toUpperCase()) : value;

function metricsKeys(name: string, field: string, isAlias = false): Record<string, FileKey> {
  const alias = isAlias ? { isAlias } : {};
  return {
    [`metrics.${name}.address`]: key('string', `${field}.address`, alias),
    [`metrics.${name}.port`]: key('integer', `${field}.port`, alias),
    [`metrics.${name}.server-certificate-path`]: key('string', `${field}.tls.certFile`, alias),
    [`metrics.${name}.server-key-path`]: key('string', `${field}.tls.keyFile`, alias),
    [`metrics.${name}.ca-certificate-path`]: key('string', `${field}.tls.caFile`, alias),
  };
}

/** Every key by its path, in the order in which a file is written. */
export const FILE_KEYS: Readonly<Record<string, FileKey>> = {
  debug: key('boolean', 'debug.logLevel', {
    toField: (value) => (value === true ? 'debug' : 'info'),
    toFile: (value) => value === 'debug',
  }),
  incluster: stays('boolean', 'incluster'),
  kubeconfig: stays('string', 'kubeconfig'),
  kubernetesClientQPS: stays('number', 'kubernetes-client-qps'),
  kubernetesClientBurst: stays('integer', 'kubernetes-client-burst'),
  'server.xds-server-type': key('string', 'xdsServer.type', {
    deprecated: 'there is one xDS server',
    toField: (value) => (value === 'contour' ? 'sesame' : value),
  }),
  'gateway.controllerName': key('string', 'gateway.controllerName'),
  'gateway.name': key('string', 'gateway.gatewayRef.name', {
    deprecated: 'use gateway.gatewayRef.name',
    isAlias: true,
  }),
  'gateway.namespace': key('string', 'gateway.gatewayRef.namespace', {
    deprecated: 'use gateway.gatewayRef.namespace',
    isAlias: true,
  }),
  'gateway.gatewayRef.name': key('string', 'gateway.gatewayRef.name'),
  'gateway.gatewayRef.namespace': key('string', 'gateway.gatewayRef.namespace'),
  'ingress-status-address': key('string', 'ingress.statusAddress'),
  'accesslog-format': key('string', 'envoy.logging.accessLogFormat'),
  'accesslog-format-string': key('string', 'envoy.logging.accessLogFormatString'),
  'json-fields': key('strings', 'envoy.logging.jsonFields'),
  'accesslog-level': key('string', 'envoy.logging.accessLogLevel'),
  'tls.minimum-protocol-version': key('string', 'envoy.listener.tls.minimumProtocolVersion'),
  'tls.maximum-protocol-version': key('string', 'envoy.listener.tls.maximumProtocolVersion'),
  'tls.cipher-suites': key('strings', 'envoy.listener.tls.cipherSuites'),
  'tls.ecdh-curves': key('strings', 'envoy.listener.tls.ecdhCurves'),
  'tls.fingerprint.ja3': key('boolean', 'envoy.listener.tls.fingerprint.ja3'),
  'tls.fingerprint.ja4': key('boolean', 'envoy.listener.tls.fingerprint.ja4'),
  'tls.fallback-certificate.name': key('string', 'httpproxy.fallbackCertificate.name'),
  'tls.fallback-certificate.namespace': key('string', 'httpproxy.fallbackCertificate.namespace'),
  'tls.envoy-client-certificate.name': key('string', 'envoy.clientCertificate.name'),
  'tls.envoy-client-certificate.namespace': key('string', 'envoy.clientCertificate.namespace'),
  disablePermitInsecure: key('boolean', 'httpproxy.disablePermitInsecure'),
  disableAllowChunkedLength: key('boolean', 'envoy.listener.disableAllowChunkedLength'),
  disableMergeSlashes: key('boolean', 'envoy.listener.disableMergeSlashes'),
  serverHeaderTransformation: key('string', 'envoy.listener.serverHeaderTransformation'),
  'compression.algorithm': key('string', 'envoy.listener.compression.algorithm'),
  enableExternalNameService: key('boolean', 'enableExternalNameService'),
  'timeouts.request-timeout': key('string', 'envoy.timeouts.requestTimeout'),
  'timeouts.connection-idle-timeout': key('string', 'envoy.timeouts.connectionIdleTimeout'),
  'timeouts.stream-idle-timeout': key('string', 'envoy.timeouts.streamIdleTimeout'),
  'timeouts.max-connection-duration': key('string', 'envoy.timeouts.maxConnectionDuration'),
  'timeouts.delayed-close-timeout': key('string', 'envoy.timeouts.delayedCloseTimeout'),
  'timeouts.connection-shutdown-grace-period': key('string', 'envoy.timeouts.connectionShutdownGracePeriod'),
  'timeouts.connect-timeout': key('string', 'envoy.timeouts.connectTimeout'),
  'request-timeout': key('string', 'envoy.timeouts.requestTimeout', {
    deprecated: 'use timeouts.request-timeout',
    isAlias: true,
  }),
  'policy.request-headers.set': key('texts', 'policy.requestHeaders.set'),
  'policy.request-headers.remove': key('strings', 'policy.requestHeaders.remove'),
  'policy.response-headers.set': key('texts', 'policy.responseHeaders.set'),
  'policy.response-headers.remove': key('strings', 'policy.responseHeaders.remove'),
  'policy.applyToIngress': key('boolean', 'policy.applyToIngress'),
  'envoy-service-name': key('string', 'envoy.service.name'),
  'envoy-service-namespace': key('string', 'envoy.service.namespace'),
  'default-http-versions': key('strings', 'envoy.defaultHTTPVersions', { toField: upper }),
  'cluster.dns-lookup-family': key('string', 'envoy.cluster.dnsLookupFamily'),
  'cluster.max-requests-per-connection': key('integer', 'envoy.cluster.maxRequestsPerConnection'),
  'cluster.per-connection-buffer-limit-bytes': key('integer', 'envoy.cluster.perConnectionBufferLimitBytes'),
  'cluster.circuit-breakers.max-connections': key('integer', 'envoy.cluster.circuitBreakers.maxConnections'),
  'cluster.circuit-breakers.max-pending-requests': key('integer', 'envoy.cluster.circuitBreakers.maxPendingRequests'),
  'cluster.circuit-breakers.max-requests': key('integer', 'envoy.cluster.circuitBreakers.maxRequests'),
  'cluster.circuit-breakers.max-retries': key('integer', 'envoy.cluster.circuitBreakers.maxRetries'),
  'cluster.circuit-breakers.per-host-max-connections': key(
    'integer',
    'envoy.cluster.circuitBreakers.perHostMaxConnections',
  ),
  'cluster.upstream-tls.minimum-protocol-version': key('string', 'envoy.cluster.upstreamTLS.minimumProtocolVersion'),
  'cluster.upstream-tls.maximum-protocol-version': key('string', 'envoy.cluster.upstreamTLS.maximumProtocolVersion'),
  'cluster.upstream-tls.cipher-suites': key('strings', 'envoy.cluster.upstreamTLS.cipherSuites'),
  'cluster.upstream-tls.ecdh-curves': key('strings', 'envoy.cluster.upstreamTLS.ecdhCurves'),
  'network.num-trusted-hops': key('integer', 'envoy.network.numTrustedHops'),
  'network.admin-port': key('integer', 'envoy.network.adminPort'),
  'network.strip-trailing-host-dot': key('boolean', 'envoy.network.stripTrailingHostDot'),
  'listener.connection-balancer': key('string', 'envoy.listener.connectionBalancer'),
  'listener.max-requests-per-connection': key('integer', 'envoy.listener.maxRequestsPerConnection'),
  'listener.per-connection-buffer-limit-bytes': key('integer', 'envoy.listener.perConnectionBufferLimitBytes'),
  'listener.socket-options.tos': key('integer', 'envoy.listener.socketOptions.tos'),
  'listener.socket-options.traffic-class': key('integer', 'envoy.listener.socketOptions.trafficClass'),
  'listener.max-requests-per-io-cycle': key('integer', 'envoy.listener.maxRequestsPerIOCycle'),
  'listener.http2-max-concurrent-streams': key('integer', 'envoy.listener.httpMaxConcurrentStreams'),
  'listener.max-connections-per-listener': key('integer', 'envoy.listener.maxConnectionsPerListener'),
  'listener.max-connections-to-accept-per-socket-event': key(
    'integer',
    'envoy.listener.maxConnectionsToAcceptPerSocketEvent',
  ),
  'rateLimitService.extensionService': key('string', 'rateLimitService.extensionService'),
  'rateLimitService.domain': key('string', 'rateLimitService.domain'),
  'rateLimitService.failOpen': key('boolean', 'rateLimitService.failOpen'),
  'rateLimitService.enableXRateLimitHeaders': key('boolean', 'rateLimitService.enableXRateLimitHeaders'),
  'rateLimitService.enableResourceExhaustedCode': key('boolean', 'rateLimitService.enableResourceExhaustedCode'),
  'rateLimitService.defaultGlobalRateLimitPolicy': struct(
    'rateLimitService.defaultGlobalRateLimitPolicy',
    RATE_LIMIT_POLICY,
  ),
  'globalExtAuth.extensionService': key('string', 'globalExtAuth.extensionRef', {
    toField: referenceOf,
    toFile: referenceText,
  }),
  'globalExtAuth.serviceType': key('string', 'globalExtAuth.serviceType'),
  'globalExtAuth.httpSettings': struct('globalExtAuth.httpSettings', HTTP_SETTINGS),
  'globalExtAuth.responseTimeout': key('string', 'globalExtAuth.responseTimeout'),
  'globalExtAuth.failOpen': key('boolean', 'globalExtAuth.failOpen'),
  'globalExtAuth.authPolicy.disabled': key('boolean', 'globalExtAuth.authPolicy.disabled'),
  'globalExtAuth.authPolicy.context': key('texts', 'globalExtAuth.authPolicy.context'),
  'globalExtAuth.withRequestBody.maxRequestBytes': key('integer', 'globalExtAuth.withRequestBody.maxRequestBytes'),
  'globalExtAuth.withRequestBody.allowPartialMessage': key(
    'boolean',
    'globalExtAuth.withRequestBody.allowPartialMessage',
  ),
  'globalExtAuth.withRequestBody.packAsBytes': key('boolean', 'globalExtAuth.withRequestBody.packAsBytes'),
  'tracing.includePodDetail': key('boolean', 'tracing.includePodDetail'),
  'tracing.serviceName': key('string', 'tracing.serviceName'),
  'tracing.overallSampling': key('string', 'tracing.overallSampling'),
  'tracing.clientSampling': key('string', 'tracing.clientSampling'),
  'tracing.randomSampling': key('string', 'tracing.randomSampling'),
  'tracing.maxPathTagLength': key('integer', 'tracing.maxPathTagLength'),
  'tracing.customTags': struct('tracing.customTags', [CUSTOM_TAG]),
  'tracing.extensionService': key('string', 'tracing.extensionService'),
  featureFlags: key('strings', 'featureFlags'),
  'omEnforcedHealthListener.address': key('string', 'envoy.omEnforcedHealth.address'),
  'omEnforcedHealthListener.port': key('integer', 'envoy.omEnforcedHealth.port'),
  'runtime-settings': key('texts', 'envoy.runtimeSettings'),
  ...metricsKeys('sesame', 'metrics'),
  ...metricsKeys('contour', 'metrics', true),
  ...metricsKeys('envoy', 'envoy.metrics'),
  'leaderelection.lease-duration': key('string', 'leaderElection.leaseDuration'),
  'leaderelection.renew-deadline': key('string', 'leaderElection.renewDeadline'),
  'leaderelection.retry-period': key('string', 'leaderElection.retryPeriod'),
  'leaderelection.configmap-name': key('string', 'leaderElection.configmap.name'),
  'leaderelection.configmap-namespace': key('string', 'leaderElection.configmap.namespace'),
};

/** The key that a field is written under. */
export const KEY_OF_FIELD: ReadonlyMap<string, string> = new Map(
  Object.entries(FILE_KEYS).flatMap(([name, { field, isAlias }]): [string, string][] =>
    field === undefined || isAlias === true ? [] : [[field, name]],
  ),
);

/** Names of keys that may stand below a path of keys; `''` is the root. */
export const KEYS_BELOW: ReadonlyMap<string, ReadonlySet<string>> = keysBelow();

function keysBelow(): Map<string, Set<string>> {
  const below = new Map<string, Set<string>>();
  for (const path of Object.keys(FILE_KEYS)) {
    const parts = path.split('.');
    for (let depth = 0; depth < parts.length; depth++) {
      const parent = parts.slice(0, depth).join('.');
      const names = below.get(parent) ?? new Set();
      below.set(parent, names.add(parts[depth] ?? ''));
    }
  }
  return below;
}

function referenceOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const [namespace = '', ...rest] = value.split('/');
  const name = rest.length === 0 ? undefined : rest.join('/');
  return name === undefined ? { name: namespace, namespace: 'default' } : { name, namespace };
}

function referenceText(value: unknown): unknown {
  const { name = '', namespace = '' } = value as { name?: string; namespace?: string };
  return `${namespace}/${name}`;
}
