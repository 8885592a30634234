// The console of `capstan up`. Until its first page is open it is a listening socket; then it reads the cluster with a runtime of its own,
// because plans need whole objects and the caches of the operators hold the declared fields alone.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type Clock, connect, createClient, type Logger, type Random, silentLogger } from '@capstan/kube';
import type { Operator, Runtime } from '@capstan/reconcile';
import { type CodeSocket, serveCodes } from '../console/code-socket.ts';
import type { OpenedSource } from '../console/open-source.ts';
import type { ReadyFields } from './ready-text.ts';
import { CONSOLE_CODE } from './running-cluster.ts';
import type { UpSettings } from './up-options.ts';

export interface UpConsoleOptions {
  readonly settings: Pick<UpSettings, 'data' | 'allowWrites' | 'kubeconfig'>;
  readonly operators: readonly Operator[];
  readonly context: string;
  /** The contexts of the other logical clusters. */
  readonly others: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly io: { readonly env: Readonly<Record<string, string | undefined>> };
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** The one of the operators, which has the history of writes. */
  runtime(): Runtime | undefined;
}

export interface UpConsole {
  readonly fields: Required<Pick<ReadyFields, 'console' | 'consoleCodeFile'>>;
  close(): Promise<void>;
}

const FILL_MS = 30_000;

export async function startUpConsole(options: UpConsoleOptions): Promise<UpConsole> {
  const { settings, clock, context, host, port, signal, io, logger } = options;
  const { startConsole } = await import('@capstan/console');
  let opened: OpenedSource | undefined;
  let clients: readonly Client[] = [];
  const source = async () => {
    const { openSource } = await import('../console/open-source.ts');
    // As any client of the cluster, so that the page has the rights of its user and reaches pods as users do.
    const clientOf = async (name: string) => {
      const transport = await connect({ env: {}, kubeconfig: settings.kubeconfig, context: name });
      return createClient({ transport, clock, logger: silentLogger, userAgent: 'capstan-console' });
    };
    const client = await clientOf(context);
    const others = await Promise.all(options.others.map(async (name) => ({ name, client: await clientOf(name) })));
    clients = [client, ...others.map((one) => one.client)];
    opened = await openSource({
      ...options,
      client,
      others,
      namespace: 'default',
      // The operators of this process have reported the same already.
      logger: silentLogger,
      signal,
      timeoutMs: FILL_MS,
      writes: settings.allowWrites,
      delivering: options.runtime,
    });
    return { ...opened.source, historyOf: (name: string) => options.runtime()?.history.of(name) ?? [] };
  };
  const server = await startConsole({ source, clock, logger, host, port });
  const codes: CodeSocket | undefined = await serveCodes(io.env, server.port, () => ({
    context,
    address: `${server.url}#code=${server.createCode()}`,
  })).catch((error: unknown) => {
    logger.warn('capstan console --code cannot find the console of this cluster', { error });
    return undefined;
  });
  const consoleCodeFile = join(settings.data, CONSOLE_CODE);
  rmSync(consoleCodeFile, { force: true });
  writeFileSync(consoleCodeFile, `${server.createCode()}\n`, { mode: 0o600 });
  return {
    fields: { console: server.url, consoleCodeFile },
    async close() {
      await codes?.close();
      await server.close();
      await opened?.stop();
      await Promise.all(clients.map((one) => one.close()));
      rmSync(consoleCodeFile, { force: true });
    },
  };
}
