import type { LogLevel, ManagerOptions } from '@capstan/reconcile';
import type { Options, Values } from '../cli/command.ts';
import { durationFlag } from '../cli/duration-flag.ts';
import type { Io } from '../cli/io.ts';
import { splitList } from '../cli/load-operators.ts';
import { addressFlag } from './address-flag.ts';

export const RUN_OPTIONS = {
  'install-crds': {
    type: 'boolean',
    help: 'Install or update the CRDs of the operators and create capstan-system first.',
  },
  'watch-namespaces': { type: 'string', value: 'LIST', help: 'Only these namespaces, with commas; default all.' },
  'leader-elect': {
    type: 'boolean',
    help: 'Write only while holding the Lease; default true, =false for one replica.',
  },
  'leader-elect-lease-duration': { type: 'string', value: 'DURATION', help: 'How long others wait; default 15s.' },
  'leader-elect-renew-deadline': {
    type: 'string',
    value: 'DURATION',
    help: 'How long it holds unrenewed; default 10s.',
  },
  'leader-elect-retry-period': { type: 'string', value: 'DURATION', help: 'Between two tries; default 2s.' },
  'leader-elect-resource-name': { type: 'string', value: 'NAME', help: 'The Lease; default capstan-OPERATOR.' },
  'leader-elect-resource-namespace': {
    type: 'string',
    value: 'NAME',
    help: 'Where the Lease and the digest key are; default capstan-system.',
  },
  'health-address': {
    type: 'string',
    value: 'HOST:PORT',
    help: 'Serves /healthz and /readyz; 0 is off; default :8081 in a pod, else off.',
  },
  'metrics-address': {
    type: 'string',
    value: 'HOST:PORT',
    help: 'Serves /metrics; 0 is off; default :8080 in a pod, else off.',
  },
  'log-format': { type: 'string', oneOf: ['json', 'text'], help: 'Default json in a pod, else text.' },
  'log-level': { type: 'string', oneOf: ['debug', 'info', 'warn', 'error'], help: 'Default info.' },
} as const satisfies Options;

type Managed =
  | 'installCrds'
  | 'watchNamespaces'
  | 'leaderElection'
  | 'systemNamespace'
  | 'healthAddress'
  | 'metricsAddress';

export interface RunSettings extends Pick<ManagerOptions, Managed> {
  readonly logFormat: 'json' | 'text';
  readonly logLevel: LogLevel;
}

export function runSettings(flags: Values<typeof RUN_OPTIONS>, io: Io): RunSettings {
  const watchNamespaces = splitList(flags['watch-namespaces']);
  const systemNamespace = flags['leader-elect-resource-namespace'];
  const leaseName = flags['leader-elect-resource-name'];
  const isPod = Boolean(io.env['KUBERNETES_SERVICE_HOST']);
  const leaseMs = durationFlag('--leader-elect-lease-duration', flags['leader-elect-lease-duration']);
  const renewMs = durationFlag('--leader-elect-renew-deadline', flags['leader-elect-renew-deadline']);
  const retryMs = durationFlag('--leader-elect-retry-period', flags['leader-elect-retry-period']);
  const leases = {
    ...(leaseName !== undefined && { name: leaseName }),
    times: {
      ...(leaseMs !== undefined && { leaseMs }),
      ...(renewMs !== undefined && { renewMs }),
      ...(retryMs !== undefined && { retryMs }),
    },
  };
  return {
    installCrds: flags['install-crds'] ?? false,
    ...(watchNamespaces && { watchNamespaces }),
    ...(systemNamespace !== undefined && { systemNamespace }),
    leaderElection: flags['leader-elect'] === false ? false : leases,
    healthAddress: addressFlag('--health-address', flags['health-address'] ?? (isPod ? ':8081' : '0')),
    metricsAddress: addressFlag('--metrics-address', flags['metrics-address'] ?? (isPod ? ':8080' : '0')),
    // Both are checked against the values above when they are parsed.
    logFormat: (flags['log-format'] as 'json' | 'text' | undefined) ?? (isPod ? 'json' : 'text'),
    logLevel: (flags['log-level'] as LogLevel | undefined) ?? 'info',
  };
}
