import { systemClock } from '@capstan/kube/values';
import { command, duration, wholeNumber } from '@capstan/reconcile/command-line';
import { createLogger } from '@capstan/reconcile/logging';
import { shutdownEnvoy } from '../shutdown/shutdown.ts';
import { socketPath } from '../shutdown/socket-path.ts';
import { machineFiles } from './machine-files.ts';
import { ADMIN_ADDRESS, READY_FILE } from './shutdown-flags.ts';

const DURATION = {
  type: 'string',
  value: 'DURATION',
  parse: duration({ remedy: 'use a duration such as 5s' }),
} as const;

export default command({
  usage: 'envoy shutdown',
  description:
    'Fails Envoy’s health checks, waits until its connections are closed, and creates the ready file. For the container’s preStop hook.',
  examples: ['sesame envoy shutdown --drain-delay=5s'],
  options: {
    'admin-port': { type: 'string', value: 'PORT', help: 'Deprecated: the admin interface is a unix socket.' },
    'admin-address': ADMIN_ADDRESS,
    'ready-file': READY_FILE,
    'check-interval': { ...DURATION, default: '5s', help: 'Interval between two checks of the connections.' },
    'check-delay': { ...DURATION, default: '0s', help: 'Delay before the first check.' },
    'drain-delay': { ...DURATION, default: '0s', help: 'Before health checks fail.' },
    'min-open-connections': {
      type: 'string',
      value: 'NUMBER',
      default: '0',
      parse: wholeNumber(0, 1_000_000),
      help: 'So many connections may be left.',
    },
  },
  async run({ flags }, io) {
    const { signal, clock = systemClock } = io;
    await shutdownEnvoy(
      {
        adminAddress: socketPath(flags['admin-address'], io.cwd),
        readyFile: flags['ready-file'],
        checkIntervalMs: flags['check-interval'],
        checkDelayMs: flags['check-delay'],
        drainDelayMs: flags['drain-delay'],
        minOpenConnections: flags['min-open-connections'],
      },
      {
        clock,
        signal,
        random: Math.random,
        logger: createLogger({ clock, format: 'text', write: io.stderr }),
        createFile: (path) => machineFiles(io).write(path, ''),
      },
    );
    return 0;
  },
});
