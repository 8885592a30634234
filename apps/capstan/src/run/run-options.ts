import type { LogLevel, ManagerOptions } from '@capstan/reconcile';
import { duration, type Flags, type FlagValues, list, positiveDuration } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { addressOf, listenAddress } from './address-flag.ts';

export const RUN_OPTIONS = {
  'install-crds': {
    type: 'boolean',
    help: 'Install or update the CRDs of the operators and create capstan-system first.',
  },
  'watch-namespaces': {
    type: 'string',
    value: 'LIST',
    parse: list,
    help: 'Only these namespaces, with commas; default all.',
  },
  namespaced: {
    type: 'boolean',
    help: 'Run only what works with Roles in the watched namespaces.',
  },
  'leader-elect': {
    type: 'boolean',
    default: true,
    help: 'Write only while holding the Lease; =false for one replica.',
  },
  'leader-elect-lease-duration': {
    type: 'string',
    value: 'DURATION',
    default: '15s',
    parse: positiveDuration,
    help: 'How long others wait.',
  },
  'leader-elect-renew-deadline': {
    type: 'string',
    value: 'DURATION',
    default: '10s',
    parse: positiveDuration,
    help: 'How long it holds unrenewed.',
  },
  'leader-elect-retry-period': {
    type: 'string',
    value: 'DURATION',
    default: '2s',
    parse: positiveDuration,
    help: 'Between two tries.',
  },
  'leader-elect-stale-limit': {
    type: 'string',
    value: 'DURATION',
    default: '2m',
    parse: duration({ minMs: 60_000, remedy: 'write a duration of at least 60s' }),
    help: 'How long caches may be stale before the Lease is given up.',
  },
  'leader-elect-resource-name': { type: 'string', value: 'NAME', help: 'The Lease; default capstan-OPERATOR.' },
  'leader-elect-resource-namespace': {
    type: 'string',
    value: 'NAME',
    help: 'Where the Lease and the digest key are; default capstan-system.',
  },
  'health-address': {
    type: 'string',
    value: 'HOST:PORT',
    parse: listenAddress,
    help: 'Serves /healthz and /readyz; 0 is off; default :8081 in a pod, else off.',
  },
  'metrics-address': {
    type: 'string',
    value: 'HOST:PORT',
    parse: listenAddress,
    help: 'Serves /metrics; 0 is off; default :8080 in a pod, else off.',
  },
  'check-purity': {
    type: 'boolean',
    help: 'Run every reconcile twice and report reconcilers that are not pure; for development.',
  },
  record: {
    type: 'string',
    value: 'FOLDER',
    help: 'Record every input there, for capstan replay: at most 256 MB and 24 h. Secrets are replaced.',
  },
  'with-secrets': { type: 'boolean', help: 'Record the content of Secrets too, encrypted with --key.' },
  key: { type: 'string', value: 'FILE', help: 'The key of --with-secrets: 32 bytes, also in hex or base64.' },
  'log-format': { type: 'string', oneOf: ['json', 'text'], help: 'Default json in a pod, else text.' },
  'log-level': {
    type: 'string',
    oneOf: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    help: 'The least that is logged.',
  },
} as const satisfies Flags;

type Managed =
  | 'installCrds'
  | 'watchNamespaces'
  | 'leaderElection'
  | 'systemNamespace'
  | 'healthAddress'
  | 'metricsAddress'
  | 'checkPurity';

export interface RunSettings extends Pick<ManagerOptions, Managed> {
  readonly logFormat: 'json' | 'text';
  readonly logLevel: LogLevel;
}

export function runSettings(flags: FlagValues<typeof RUN_OPTIONS>, io: Io): RunSettings {
  const watchNamespaces = flags['watch-namespaces'];
  const systemNamespace = flags['leader-elect-resource-namespace'];
  const leaseName = flags['leader-elect-resource-name'];
  const isPod = Boolean(io.env['KUBERNETES_SERVICE_HOST']);
  // Pods that run as processes of one machine share its interfaces.
  const bind = io.env['CAPSTAN_BIND_ADDRESS'] ?? '';
  const leases = {
    ...(leaseName !== undefined && { name: leaseName }),
    times: {
      leaseMs: flags['leader-elect-lease-duration'],
      renewMs: flags['leader-elect-renew-deadline'],
      retryMs: flags['leader-elect-retry-period'],
    },
    staleLimitMs: flags['leader-elect-stale-limit'],
  };
  return {
    installCrds: flags['install-crds'] ?? false,
    ...(watchNamespaces && { watchNamespaces }),
    ...(systemNamespace !== undefined && { systemNamespace }),
    leaderElection: flags['leader-elect'] ? leases : false,
    healthAddress: addressOf(flags['health-address'], isPod ? `${bind}:8081` : undefined),
    metricsAddress: addressOf(flags['metrics-address'], isPod ? `${bind}:8080` : undefined),
    checkPurity: flags['check-purity'] ?? false,
    logFormat: flags['log-format'] ?? (isPod ? 'json' : 'text'),
    logLevel: flags['log-level'],
  };
}
