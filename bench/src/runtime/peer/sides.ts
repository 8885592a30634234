// The two operators as processes: Capstan's, and the one on controller-runtime that `npm run setup:real` builds. Each works in
// a namespace of its own, so that both can run at the same time on one server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { childStarted } from '../../measure/child-started.ts';

/** One of the two programs. */
export interface Side {
  readonly name: 'capstan' | 'controller-runtime';
  command(kubeconfig: string): readonly [program: string, ...args: string[]];
}

export interface RunningSide {
  readonly pid: number;
  /** By SIGTERM, then SIGKILL when it takes too long. */
  stop(): Promise<void>;
}

export const PEER = 'controller-runtime';

/** Capstan's; each reconcile takes so many milliseconds more. */
export function capstanSide(workMs = 0): Side {
  return {
    name: 'capstan',
    command: (kubeconfig) => [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      ...(process.env['CAPSTAN_BENCH_NODE_FLAGS']?.split(' ').filter(Boolean) ?? []),
      join(import.meta.dirname, 'page-process.ts'),
      kubeconfig,
      'capstan',
      String(workMs),
    ],
  };
}

export const SIDES: readonly Side[] = [
  capstanSide(),
  { name: PEER, command: (kubeconfig) => [goProgram(), '-config', kubeconfig, '-namespace', PEER] },
];

/** What is missing for a measurement beside the peer, and how to get it. */
export function missingPeer(): string | undefined {
  return existsSync(goProgram())
    ? undefined
    : 'the operator on controller-runtime is not built; run npm run setup:real -- controller-runtime';
}

/** Resolves when its caches are full. */
export async function startSide({ name, command }: Side, kubeconfig: string): Promise<RunningSide> {
  const [program, ...args] = command(kubeconfig);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = async () => {
    if (isOver(child)) return;
    const over = once(child, 'close');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await over;
    clearTimeout(timer);
  };
  try {
    await childStarted(name, child, START_LIMIT_MS);
    return { pid: child.pid ?? 0, stop };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 10_000;

function goProgram(): string {
  const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
  return join(real, 'controller-runtime', 'page-operator');
}

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
