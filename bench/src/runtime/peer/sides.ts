// The two operators as processes: Capstan's, and the one on controller-runtime that `npm run setup:real` builds. Each works in
// a namespace of its own, so that both can run at the same time on one server.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { childStarted } from '../../measure/child-started.ts';
import { IMAGE_ENVIRONMENT } from '../../measure/image-environment.ts';

/** One of the two programs. */
export interface Side {
  readonly name: 'capstan' | 'capstan-open' | 'controller-runtime';
  command(kubeconfig: string): readonly [program: string, ...args: string[]];
  /** Besides that of the bench. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningSide {
  readonly pid: number;
  /** By SIGTERM, then SIGKILL when it takes too long. */
  stop(): Promise<void>;
}

export const PEER = 'controller-runtime';

/**
 * Capstan's side, bundled as `npm run build` bundles the programs and an image has them. Each reconcile takes `workMs` milliseconds more.
 * The open one does not freeze shared values.
 */
export function capstanSide(workMs = 0, isOpen = false): Side {
  const name = isOpen ? 'capstan-open' : 'capstan';
  return {
    name,
    env: IMAGE_ENVIRONMENT,
    command: (kubeconfig) => [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      ...(process.env['CAPSTAN_BENCH_NODE_FLAGS']?.split(' ').filter(Boolean) ?? []),
      builtProgram(),
      kubeconfig,
      name,
      String(workMs),
      ...(isOpen ? ['open'] : []),
    ],
  };
}

export const SIDES: readonly Side[] = [
  capstanSide(),
  { name: PEER, command: (kubeconfig) => [goProgram(), '-config', kubeconfig, '-namespace', PEER] },
];

/** Names the programs that a measurement beside the peer lacks, and how to get them. */
export function missingPeer(): string | undefined {
  return existsSync(goProgram())
    ? undefined
    : 'the operator on controller-runtime is not built; run npm run setup:real -- controller-runtime';
}

/** Resolves when its caches are full. */
export async function startSide({ name, command, env = {} }: Side, kubeconfig: string): Promise<RunningSide> {
  const [program, ...args] = command(kubeconfig);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
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

/** Built once in a process; the folder goes with it. */
function builtProgram(): string {
  if (built !== undefined) return built;
  const folder = mkdtempSync(join(tmpdir(), 'capstan-bench-page-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const root = join(import.meta.dirname, '../../../..');
  const args = ['--program', join(import.meta.dirname, 'page-process.ts'), '--to', folder];
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), ...args], { cwd: root, stdio: 'pipe' });
  built = join(folder, 'page-process.js');
  return built;
}

let built: string | undefined;

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
