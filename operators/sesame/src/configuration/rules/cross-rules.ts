// Rules across fields: sockets that collide, namespaces that are not watched.
import { isIP } from 'node:net';
import type { FullConfiguration } from '../../kinds/configuration-spec.ts';
import { shown } from '../problem.ts';
import type { ValidationInput } from '../validate.ts';
import type { Findings } from './findings.ts';

export function crossRules(input: ValidationInput, findings: Findings): void {
  controllerSockets(input.value, findings);
  envoySockets(input.value, findings);
  watchedNamespaces(input, findings);
}

interface Socket {
  readonly path: string;
  readonly address: string;
  readonly port: number;
}

const hasTls = (tls: { certFile?: string } | undefined) => (tls?.certFile ?? '') !== '';

function controllerSockets({ xdsServer, debug, health, metrics }: FullConfiguration, findings: Findings): void {
  const sockets: Socket[] = [
    { path: 'xdsServer', ...xdsServer },
    { path: 'debug', ...debug },
    { path: 'health', ...health },
    { path: 'metrics', ...metrics },
  ];
  collisions(
    sockets,
    (left, right) => {
      if (left.path !== 'health' || right.path !== 'metrics') return undefined;
      return isSame(left, right) && !hasTls(metrics.tls) ? 'shared' : 'tls';
    },
    findings,
  );
}

function envoySockets({ envoy }: FullConfiguration, findings: Findings): void {
  const { http, https, metrics, health, omEnforcedHealth, network } = envoy;
  const sockets: Socket[] = [
    { path: 'envoy.http', ...http },
    { path: 'envoy.https', ...https },
    { path: 'envoy.metrics', ...metrics },
    { path: 'envoy.health', ...health },
    ...(omEnforcedHealth?.port === undefined
      ? []
      : [{ path: 'envoy.omEnforcedHealth', address: omEnforcedHealth.address, port: omEnforcedHealth.port }]),
    ...(network.adminPort === 0
      ? []
      : [{ path: 'envoy.network.admin', address: '127.0.0.1', port: network.adminPort }]),
  ];
  collisions(
    sockets,
    (left, right) => {
      if (left.path !== 'envoy.metrics' || right.path !== 'envoy.health') return undefined;
      return isSame(left, right) && !hasTls(metrics.tls) ? 'shared' : 'tls';
    },
    findings,
  );
}

/** Reports every pair that cannot be bound together, at the later of both; `share` shows whether a pair is one server. */
function collisions(
  sockets: readonly Socket[],
  share: (left: Socket, right: Socket) => 'shared' | 'tls' | undefined,
  findings: Findings,
): void {
  for (const [index, right] of sockets.entries())
    for (const left of sockets.slice(0, index)) {
      if (left.port !== right.port || !overlaps(left.address, right.address)) continue;
      const shared = share(left, right);
      if (shared === 'shared') continue;
      const path = right.path.endsWith('.admin') ? 'envoy.network.adminPort' : `${right.path}.port`;
      const note = shared === 'tls' && isSame(left, right) ? ' and cannot be shared with TLS' : '';
      findings.error(
        path,
        'PortConflict',
        `is also the port of ${left.path}${note} (${right.port}); choose another port`,
      );
    }
}

function isSame(left: Socket, right: Socket): boolean {
  return left.address === right.address && left.port === right.port;
}

/** Whether two addresses cannot have the same port. */
function overlaps(left: string, right: string): boolean {
  if (left === '' || right === '') return false;
  return left === right || covers(left, right) || covers(right, left);
}

/** `::` has the IPv4 addresses too. */
function covers(address: string, other: string): boolean {
  return address === '::' || (address === '0.0.0.0' && isIP(other) !== 6);
}

function watchedNamespaces({ value, watchNamespaces }: ValidationInput, findings: Findings): void {
  if (watchNamespaces === undefined || watchNamespaces.length === 0) return;
  const check = (path: string, namespace: string | undefined) => {
    if (namespace !== undefined && namespace !== '' && !watchNamespaces.includes(namespace))
      findings.error(
        path,
        'NotWatched',
        `is not a namespace that is watched (${shown(namespace)}); add it to --watch-namespaces`,
      );
  };
  for (const [index, namespace] of (value.httpproxy.rootNamespaces ?? []).entries())
    check(`httpproxy.rootNamespaces[${index}]`, namespace);
  check('httpproxy.fallbackCertificate.namespace', value.httpproxy.fallbackCertificate?.namespace);
  check('envoy.clientCertificate.namespace', value.envoy.clientCertificate?.namespace);
}
