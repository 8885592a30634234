// The effect of an edit of each field. The classes are the vocabulary of `capstan plan`, of the Applied condition and of the documentation;
// every leaf of the configuration has at least one.

export type ChangeClass =
  /** One of Sesame's own sockets is closed and reopened. */
  | 'Rebind'
  /** Controllers are stopped, rebuilt with the new values and started. */
  | 'Restart'
  /** The value is swapped in memory, and routes and clusters are computed again. */
  | 'Routes'
  /** Listeners are generated again: connections on changed filter chains drain. */
  | 'Listeners'
  /** The socket of a listener changes: Envoy opens the new one and drains the old one. */
  | 'ListenerSockets'
  /** The status of every object is written again. */
  | 'Status'
  /** Lives in Envoy's bootstrap or pod: its pods must be replaced. */
  | 'EnvoyRollout'
  /** Sesame's log alone. */
  | 'Log'
  /** Acted on by the operator, which updates Kubernetes objects. */
  | 'Operator'
  /** Nothing acts on it. */
  | 'None';

/** The server that a rebind concerns. */
export type ServerName = 'xds' | 'health' | 'metrics' | 'debug';

/** The first prefix that fits counts. */
const CHANGES: readonly (readonly [prefix: string, ...classes: ChangeClass[]])[] = [
  ['xdsServer.type', 'None'],
  ['xdsServer.port', 'Rebind', 'EnvoyRollout'],
  ['xdsServer.insecure', 'Rebind', 'EnvoyRollout'],
  ['xdsServer', 'Rebind'],
  ['ingress.className', 'Restart'],
  ['ingress.statusAddress', 'Status'],
  ['debug.address', 'Rebind'],
  ['debug.port', 'Rebind'],
  ['debug', 'Log'],
  ['health', 'Rebind'],
  ['metrics', 'Rebind'],
  ['envoy.listener.socketOptions', 'ListenerSockets'],
  ['envoy.listener', 'Listeners'],
  ['envoy.service', 'Status'],
  ['envoy.http.accessLog', 'Listeners'],
  ['envoy.https.accessLog', 'Listeners'],
  ['envoy.http', 'ListenerSockets', 'EnvoyRollout'],
  ['envoy.https', 'ListenerSockets', 'EnvoyRollout'],
  ['envoy.http3.advertisedPort', 'Routes'],
  ['envoy.http3', 'ListenerSockets', 'Routes', 'EnvoyRollout'],
  ['envoy.metrics.tls', 'Listeners'],
  ['envoy.metrics', 'ListenerSockets', 'EnvoyRollout'],
  ['envoy.health', 'ListenerSockets', 'EnvoyRollout'],
  ['envoy.omEnforcedHealth', 'ListenerSockets'],
  ['envoy.clientCertificate', 'Routes'],
  ['envoy.network.adminPort', 'ListenerSockets'],
  ['envoy.network', 'Listeners'],
  ['envoy.managed.networkPublishing', 'Operator'],
  ['envoy.managed.nodePlacement', 'EnvoyRollout'],
  ['envoy.logging', 'Listeners'],
  ['envoy.defaultHTTPVersions', 'Listeners'],
  ['envoy.timeouts.connectTimeout', 'Routes'],
  ['envoy.timeouts', 'Listeners'],
  ['envoy.cluster', 'Routes'],
  ['envoy.runtimeSettings', 'Listeners'],
  ['envoy.errorPages', 'Listeners'],
  ['gateway', 'Restart'],
  ['httpproxy.rootNamespaces', 'Restart'],
  ['httpproxy', 'Routes'],
  ['leaderElection', 'Restart'],
  ['enableExternalNameService', 'Routes'],
  ['globalExtAuth', 'Listeners', 'Routes'],
  ['rateLimitService.defaultGlobalRateLimitPolicy', 'Routes'],
  ['rateLimitService', 'Listeners'],
  ['policy', 'Routes'],
  ['tracing', 'Listeners'],
  ['featureFlags', 'Restart'],
  ['envoyPatches', 'Listeners', 'Routes'],
];

/** Returns the effects of an edit of the field; none for a path that is no field. */
export function changeClassesOf(path: string): readonly ChangeClass[] {
  const [, ...classes] = CHANGES.find(([prefix]) => path === prefix || path.startsWith(`${prefix}.`)) ?? [''];
  return classes;
}

/** The server of a field whose class is Rebind. */
export function serverOf(path: string): ServerName | undefined {
  if (path.startsWith('xdsServer.')) return 'xds';
  if (path.startsWith('debug.')) return 'debug';
  if (path.startsWith('health.')) return 'health';
  return path.startsWith('metrics.') ? 'metrics' : undefined;
}

/** Describes the disturbance of an edit, for a plan. */
export function disturbanceOf(change: ChangeClass): string {
  switch (change) {
    case 'Rebind':
      return 'rebinds a socket of Sesame';
    case 'Restart':
      return 'restarts the controllers of Sesame';
    case 'Routes':
      return 'computes routes and clusters again';
    case 'Listeners':
      return 'updates listeners; connections on changed filter chains drain';
    case 'ListenerSockets':
      return 'opens a new listener socket and drains the old one';
    case 'Status':
      return 'writes the status of objects again';
    case 'EnvoyRollout':
      return 'needs a rollout of Envoy’s pods';
    case 'Log':
      return 'changes the log of Sesame';
    case 'Operator':
      return 'updates objects of the operator';
    case 'None':
      return 'disturbs nothing';
  }
}
