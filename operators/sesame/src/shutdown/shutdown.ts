// `sesame envoy shutdown`: fails Envoy's health checks, waits until its connections are gone, and lets the pod end.
import { backOff, type Clock, type Logger, type Random, reasonOf, sleep } from '@capstan/kube/cluster';
import { askAdmin, CONNECTIONS_PATH, openConnections } from './admin.ts';

export interface ShutdownOptions {
  readonly adminAddress: string;
  readonly readyFile: string;
  readonly drainDelayMs: number;
  readonly checkDelayMs: number;
  readonly checkIntervalMs: number;
  readonly minOpenConnections: number;
}

export const SHUTDOWN_DEFAULTS: ShutdownOptions = {
  adminAddress: '/admin/admin.sock',
  readyFile: '/admin/ok',
  drainDelayMs: 0,
  checkDelayMs: 0,
  checkIntervalMs: 5000,
  minOpenConnections: 0,
};

export interface ShutdownContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Creates the ready file. */
  createFile(path: string): Promise<void>;
}

/** Resolves when the ready file is there. */
export async function shutdownEnvoy(options: ShutdownOptions, context: ShutdownContext): Promise<void> {
  const { clock, logger, signal } = context;
  await sleep(clock, options.drainDelayMs, signal);
  await failHealthCheck(options.adminAddress, context);
  await sleep(clock, options.checkDelayMs, signal);
  for (;;) {
    const open = await connectionsOf(options.adminAddress, context);
    if (open !== undefined && open <= options.minOpenConnections) break;
    logger.info('waiting for connections to close', { open, minimum: options.minOpenConnections });
    await sleep(clock, options.checkIntervalMs, signal);
  }
  logger.info('connections are closed; the pod may end', { file: options.readyFile });
  await context.createFile(options.readyFile);
}

const TRIES = 4;
const BACK_OFF = { firstMs: 200, longestMs: 5_000, factor: 5 };

/** Envoy that cannot be reached any more has no connections to drain: then the wait goes on with the statistics. */
async function failHealthCheck(address: string, { clock, random, logger, signal }: ShutdownContext): Promise<void> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      const { status } = await askAdmin(address, 'POST', '/healthcheck/fail', signal);
      if (status === 200) return;
      logger.warn('Envoy did not take the request to fail its health checks', { attempt, status });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('Envoy’s admin interface cannot be reached', { attempt, reason: reasonOf(error) });
    }
    if (attempt === TRIES) return;
    await sleep(clock, backOff(attempt, BACK_OFF, random), signal);
  }
}

async function connectionsOf(address: string, { logger, signal }: ShutdownContext): Promise<number | undefined> {
  try {
    const { status, body } = await askAdmin(address, 'GET', CONNECTIONS_PATH, signal);
    if (status === 200) return openConnections(body) ?? 0;
    logger.warn('Envoy did not answer with its statistics', { status });
  } catch (error) {
    signal.throwIfAborted();
    logger.warn('Envoy’s statistics cannot be read', { reason: reasonOf(error) });
  }
  return undefined;
}
