// `sesame envoy shutdown-manager`: holds the end of Envoy's container until `sesame envoy shutdown` has created the ready file.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, type Logger, reasonOf, sleep } from '@capstan/kube/cluster';
import { askAdmin } from './admin.ts';

export interface ShutdownManagerOptions {
  readonly address: string;
  readonly port: number;
  readonly readyFile: string;
  readonly adminAddress: string;
}

export const MANAGER_DEFAULTS: ShutdownManagerOptions = {
  address: '0.0.0.0',
  port: 8090,
  readyFile: '/admin/ok',
  adminAddress: '/admin/admin.sock',
};

export interface ShutdownManagerContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
}

export interface ShutdownManager {
  readonly port: number;
  /** Settles when the server has stopped. */
  readonly closed: Promise<void>;
}

const POLL_MS = 1000;

/** Serves /healthz and /shutdown; resolves when it listens. */
export async function serveShutdownManager(
  options: ShutdownManagerOptions,
  context: ShutdownManagerContext,
): Promise<ShutdownManager> {
  await undoDraining(options, context);
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/healthz') answer(response, 200, 'OK\n');
    else if (path === '/shutdown')
      waitForFile(options.readyFile, response, context).catch(() => answer(response, 503, 'stopped\n'));
    else answer(response, 404, 'not found\n');
  });
  const closed = closeWith(server, context.signal);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.address, resolve);
  });
  return { port: (server.address() as AddressInfo).port, closed };
}

/**
 * Undoes the marks of an earlier run of the container (the ready file, Envoy's failed health checks), or an Envoy whose neighbour was
 * restarted would drain for ever.
 */
async function undoDraining(
  { readyFile, adminAddress }: ShutdownManagerOptions,
  { logger, signal, exists, remove }: ShutdownManagerContext,
): Promise<void> {
  if (await exists(readyFile)) await remove(readyFile);
  if (!(await exists(adminAddress))) return;
  try {
    const { status } = await askAdmin(adminAddress, 'POST', '/healthcheck/ok', signal);
    logger.info('Envoy’s health checks are on', { status });
  } catch (error) {
    logger.info('Envoy’s admin interface cannot be reached yet', { reason: reasonOf(error) });
  }
}

async function waitForFile(path: string, response: ServerResponse, context: ShutdownManagerContext): Promise<void> {
  while (!(await context.exists(path))) {
    if (response.destroyed) return;
    await sleep(context.clock, POLL_MS, context.signal);
  }
  answer(response, 200, 'OK\n');
}

function answer(response: ServerResponse, status: number, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(body);
}

function closeWith(server: Server, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    server.once('close', resolve);
    const close = () => {
      server.close();
      server.closeAllConnections();
    };
    if (signal.aborted) close();
    else signal.addEventListener('abort', close, { once: true });
  });
}
