import type { LeaseTimes, LogLevel } from '@capstan/reconcile';
import type { Options, Values } from '../cli/command.ts';
import { durationFlag } from '../cli/duration-flag.ts';
import type { Io } from '../cli/io.ts';
import { splitList } from '../cli/load-operators.ts';
import { addressFlag } from './address-flag.ts';

export const RUN_OPTIONS = {
  'install-crds': { type: 'boolean', help: 'Install or update the CRDs of the operators first.' },
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
    help: 'Where the Lease is; default --namespace.',
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

export interface RunSettings {
  readonly installCrds: boolean;
  readonly watchNamespaces: readonly string[] | undefined;
  readonly election: ElectionSettings | undefined;
  readonly health: string | undefined;
  readonly metrics: string | undefined;
  readonly logFormat: 'json' | 'text';
  readonly logLevel: LogLevel;
}

export interface ElectionSettings {
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly times: Partial<LeaseTimes>;
}

export function runSettings(flags: Values<typeof RUN_OPTIONS>, io: Io): RunSettings {
  const isPod = Boolean(io.env['KUBERNETES_SERVICE_HOST']);
  const leaseMs = durationFlag('--leader-elect-lease-duration', flags['leader-elect-lease-duration']);
  const renewMs = durationFlag('--leader-elect-renew-deadline', flags['leader-elect-renew-deadline']);
  const retryMs = durationFlag('--leader-elect-retry-period', flags['leader-elect-retry-period']);
  const election: ElectionSettings = {
    name: flags['leader-elect-resource-name'],
    namespace: flags['leader-elect-resource-namespace'],
    times: {
      ...(leaseMs !== undefined && { leaseMs }),
      ...(renewMs !== undefined && { renewMs }),
      ...(retryMs !== undefined && { retryMs }),
    },
  };
  return {
    installCrds: flags['install-crds'] ?? false,
    watchNamespaces: splitList(flags['watch-namespaces']),
    election: flags['leader-elect'] === false ? undefined : election,
    health: addressFlag('--health-address', flags['health-address'] ?? (isPod ? ':8081' : '0')),
    metrics: addressFlag('--metrics-address', flags['metrics-address'] ?? (isPod ? ':8080' : '0')),
    // Both are checked against the values above when they are parsed.
    logFormat: (flags['log-format'] as 'json' | 'text' | undefined) ?? (isPod ? 'json' : 'text'),
    logLevel: (flags['log-level'] as LogLevel | undefined) ?? 'info',
  };
}
