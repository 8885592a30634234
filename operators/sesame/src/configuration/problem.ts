// The problems of a configuration: one entry for each field, in the order of the fields.

/** The kind of a problem: the `type` of its entry in a condition's `errors` or `warnings`. */
export type ProblemType =
  | 'XDSServerError'
  | 'IngressError'
  | 'ListenerError'
  | 'TLSError'
  | 'TimeoutError'
  | 'LoggingError'
  | 'GatewayError'
  | 'HTTPProxyError'
  | 'RateLimitError'
  | 'ExtensionError'
  | 'PolicyError'
  | 'NetworkError'
  | 'ClusterError'
  | 'LeaderElectionError'
  | 'TracingError'
  | 'FeatureFlagError'
  | 'SchemaError'
  | 'PatchRefused'
  | 'FieldIgnored'
  | 'FieldNormalised'
  | 'RestartRequired'
  | 'ReferenceNotUsable';

export type ProblemReason =
  | 'Required'
  | 'InvalidValue'
  | 'OutOfRange'
  | 'NotSupported'
  | 'Conflict'
  | 'PortConflict'
  | 'Duplicate'
  | 'Incomplete'
  | 'NotWatched'
  | 'WrongType'
  | 'UnknownField'
  | 'Ignored'
  | 'Deprecated'
  | 'EnvoyRolloutNeeded'
  | 'NotFound'
  | 'LockNotUsable'
  | 'Protected'
  | 'RefusedByEnvoy';

export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly type: ProblemType;
  readonly reason: ProblemReason;
  /** From the root of the configuration: `envoy.http.port`. */
  readonly path: string;
  /** The problem, with the value in parentheses, and the remedy; the path is not part of it. */
  readonly message: string;
}

const TYPES: readonly (readonly [prefix: string, type: ProblemType])[] = [
  ['xdsServer', 'XDSServerError'],
  ['ingress', 'IngressError'],
  ['debug.', 'NetworkError'],
  ['health', 'NetworkError'],
  ['metrics.tls', 'TLSError'],
  ['metrics', 'NetworkError'],
  ['envoy.listener.tls', 'TLSError'],
  ['envoy.listener', 'ListenerError'],
  ['envoy.defaultHTTPVersions', 'ListenerError'],
  ['envoy.runtimeSettings', 'ListenerError'],
  ['envoy.errorPages', 'ListenerError'],
  ['envoy.metrics.tls', 'TLSError'],
  ['envoy.clientCertificate', 'TLSError'],
  ['envoy.logging', 'LoggingError'],
  ['envoy.timeouts', 'TimeoutError'],
  ['envoy.cluster.upstreamTLS', 'TLSError'],
  ['envoy.cluster', 'ClusterError'],
  ['envoyPatches', 'PatchRefused'],
  ['envoy', 'NetworkError'],
  ['gateway', 'GatewayError'],
  ['httpproxy.fallbackCertificate', 'TLSError'],
  ['httpproxy', 'HTTPProxyError'],
  ['leaderElection', 'LeaderElectionError'],
  ['globalExtAuth', 'ExtensionError'],
  ['rateLimitService', 'RateLimitError'],
  ['policy', 'PolicyError'],
  ['tracing', 'TracingError'],
  ['featureFlags', 'FeatureFlagError'],
];

/** The type of errors in a field. */
export function problemTypeOf(path: string): ProblemType {
  return TYPES.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'SchemaError';
}

export function errorAt(path: string, reason: ProblemReason, message: string): Problem {
  return { severity: 'error', type: problemTypeOf(path), reason, path, message };
}

export function warningAt(
  path: string,
  type: 'FieldIgnored' | 'FieldNormalised' | 'RestartRequired' | 'ReferenceNotUsable' | 'PatchRefused',
  reason: ProblemReason,
  message: string,
): Problem {
  return { severity: 'warning', type, reason, path, message };
}

/** The problem as one line: `spec.envoy.http.port: must be between 1 and 65535 (0); choose another port`. */
export function problemText({ path, message }: Problem, prefix = 'spec'): string {
  return `${[prefix, path].filter((part) => part !== '').join('.')}: ${message}`;
}

/** A value in a message: short, and never a whole object. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
