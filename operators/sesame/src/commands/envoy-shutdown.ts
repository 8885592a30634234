import { type Logger, parseDuration } from '@capstan/kube/cluster';
import { createLogger } from '@capstan/reconcile';
import { SHUTDOWN_DEFAULTS, shutdownEnvoy } from '../shutdown/shutdown.ts';
import { MANAGER_DEFAULTS, serveShutdownManager } from '../shutdown/shutdown-manager.ts';
import type { CommandArguments, CommandIo, SesameCommand } from './command-io.ts';
import { UsageErrors } from './errors.ts';

const readyFile = {
  type: 'string',
  value: 'FILE',
  help: 'Created when connections are closed; default /admin/ok.',
} as const;
const adminAddress = {
  type: 'string',
  value: 'PATH',
  help: 'Unix socket of Envoy’s admin interface; default /admin/admin.sock.',
} as const;

export const shutdownManager: SesameCommand = {
  usage: 'envoy shutdown-manager',
  description:
    'Holds the end of Envoy’s container until its connections are closed: GET /shutdown answers when the ready file is there.',
  examples: ['sesame envoy shutdown-manager'],
  options: {
    'serve-port': { type: 'integer', value: 'PORT', help: 'Port; default 8090.' },
    'serve-address': { type: 'string', value: 'ADDRESS', help: 'Address; default 0.0.0.0.' },
    'ready-file': readyFile,
    'admin-address': adminAddress,
  },
  async run(args, io) {
    const { closed, port } = await serveShutdownManager(
      {
        address: args.text('serve-address') ?? MANAGER_DEFAULTS.address,
        port: args.integer('serve-port') ?? MANAGER_DEFAULTS.port,
        readyFile: args.text('ready-file') ?? MANAGER_DEFAULTS.readyFile,
        adminAddress: args.text('admin-address') ?? MANAGER_DEFAULTS.adminAddress,
      },
      { clock: io.clock, signal: io.signal, logger: loggerOf(io), exists: io.files.exists, remove: io.files.remove },
    );
    loggerOf(io).info('the shutdown manager listens', { port });
    await closed;
    return 0;
  },
};

export const shutdown: SesameCommand = {
  usage: 'envoy shutdown',
  description:
    'Fails Envoy’s health checks, waits until its connections are closed, and creates the ready file. For the container’s preStop hook.',
  examples: ['sesame envoy shutdown --drain-delay=5s'],
  options: {
    'admin-port': { type: 'integer', help: 'Deprecated: the admin interface is a unix socket.' },
    'admin-address': adminAddress,
    'ready-file': readyFile,
    'check-interval': { type: 'string', value: 'DURATION', help: 'Between looks at the connections; default 5s.' },
    'check-delay': { type: 'string', value: 'DURATION', help: 'Before the first look; default 0s.' },
    'drain-delay': { type: 'string', value: 'DURATION', help: 'Before health checks fail; default 0s.' },
    'min-open-connections': { type: 'integer', help: 'So many connections may be left; default 0.' },
  },
  async run(args, io) {
    await shutdownEnvoy(
      {
        adminAddress: args.text('admin-address') ?? SHUTDOWN_DEFAULTS.adminAddress,
        readyFile: args.text('ready-file') ?? SHUTDOWN_DEFAULTS.readyFile,
        checkIntervalMs: duration(args, 'check-interval') ?? SHUTDOWN_DEFAULTS.checkIntervalMs,
        checkDelayMs: duration(args, 'check-delay') ?? SHUTDOWN_DEFAULTS.checkDelayMs,
        drainDelayMs: duration(args, 'drain-delay') ?? SHUTDOWN_DEFAULTS.drainDelayMs,
        minOpenConnections: args.integer('min-open-connections') ?? SHUTDOWN_DEFAULTS.minOpenConnections,
      },
      {
        clock: io.clock,
        random: Math.random,
        signal: io.signal,
        logger: loggerOf(io),
        createFile: (path) => io.files.write(path, ''),
      },
    );
    return 0;
  },
};

function duration(args: CommandArguments, flag: string): number | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms >= 0) return ms;
  } catch {
    // Reported below.
  }
  throw UsageErrors.BadValue(`--${flag}`, text, 'use a duration such as 5s');
}

function loggerOf({ stderr, clock }: CommandIo): Logger {
  return createLogger({ clock, format: 'text', write: stderr });
}
