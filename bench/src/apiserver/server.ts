// A server under test: a process with a data folder, reached as any client would, by the kubeconfig that it writes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { loadKubeconfig, selectContext } from '@capstan/kube';
import { childStarted } from '../measure/child-started.ts';
import type { Address } from './connection.ts';

export interface ServerUnderTest {
  /** The ids of all its processes; the first is the one that answers. */
  readonly pids: readonly number[];
  readonly address: Address;
  /** The administrator's file. */
  readonly kubeconfig: string;
  /** By SIGTERM, then SIGKILL when it takes too long; resolves when the process has gone. */
  stop(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

export interface ServerOptions {
  program: Program;
  /** Where Node keeps compiled modules, so that those of other programs are not used. It must be there. */
  folder: string;
  data: string;
}

/** The bare API server, `capstan up` without operators, or with all of them. */
export type Program = 'server' | 'up' | 'up with operators';

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;

/** Resolves when the server reports that it has started, and its address. */
export async function startServer({ program, folder, data }: ServerOptions): Promise<ServerUnderTest> {
  const kubeconfig = join(data, 'kubeconfig');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...programArguments(program, data, kubeconfig)],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: folder } },
  );
  const stop = async (signal: NodeJS.Signals) => {
    if (isOver(child)) return;
    const over = once(child, 'close');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await over;
    clearTimeout(timer);
  };
  try {
    await childStarted('the server', child, START_LIMIT_MS);
    return {
      pids: [child.pid ?? 0],
      address: await addressIn(kubeconfig),
      kubeconfig,
      stop: () => stop('SIGTERM'),
      kill: () => stop('SIGKILL'),
    };
  } catch (error) {
    await stop('SIGKILL');
    throw error;
  }
}

function programArguments(program: Program, data: string, kubeconfig: string): string[] {
  if (program === 'server') return [join(import.meta.dirname, 'server-process.ts'), data, kubeconfig];
  const main = join(import.meta.dirname, '../../../apps/capstan/src/main.ts');
  const flags = ['--listen', '127.0.0.1:0', '--log-level', 'error', '--data', data, '--kubeconfig-out', kubeconfig];
  // A list without a name in it: no operators.
  const operators = program === 'up' ? ['--operators', ','] : [];
  return [main, 'up', '-o', 'json', ...operators, ...flags];
}

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

/** Where a kubeconfig leads, and with which keys. */
export async function addressIn(kubeconfig: string): Promise<Address> {
  const { cluster, user } = selectContext(await loadKubeconfig({ kubeconfig }), undefined);
  const { hostname, port } = new URL(cluster.server);
  const decoded = (text = '') => Buffer.from(text, 'base64').toString();
  return {
    host: hostname,
    port: Number(port),
    ca: decoded(cluster.caData),
    cert: decoded(user?.certData),
    key: decoded(user?.keyData),
  };
}
