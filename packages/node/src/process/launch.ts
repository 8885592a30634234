// Starting a program as the leader of a process group of its own, so that it can be ended with all that it started, and
// writing down who it is, so that it can be ended after a crash of ours too.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { identityOf } from './identity.ts';

export interface LaunchOptions {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Where the process is written down while it runs; default nowhere. */
  recordFile?: string;
  /** Gets the output of the process as it arrives; a pending promise holds the process back. */
  /** The input of the process; default nothing. */
  stdin?: Readable;
  output?: (stream: 'stdout' | 'stderr', chunk: Buffer) => Promise<void> | void;
}

export interface Exit {
  /** As a container has it: 128 and the signal's number for a process that was ended by one. */
  code: number;
  signal?: string;
}

export interface RunningProcess {
  readonly pid: number;
  /** Settles when the process has ended, its output is written, and nothing of its group is left. */
  readonly exited: Promise<Exit>;
  /** Sends a signal to the whole group; nothing happens once it has ended. */
  kill(signal: NodeJS.Signals): void;
}

export type Launch = (options: LaunchOptions) => Promise<RunningProcess>;

/** Rejects when the program cannot be started. */
export const launch: Launch = async ({ argv, env, cwd, recordFile, stdin, output }) => {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const ended = exitOf(child);
  const pid = await started(child);
  if (stdin !== undefined && child.stdin !== null) {
    // A process need not read all of it.
    child.stdin.on('error', () => {});
    stdin.pipe(child.stdin);
  }
  const drained = Promise.all([drain(child.stdout, 'stdout', output), drain(child.stderr, 'stderr', output)]);
  let hasEnded = false;
  endWithUs(pid);

  const kill = (signal: NodeJS.Signals): void => {
    if (hasEnded) return;
    sendToGroup(pid, signal);
  };
  if (recordFile !== undefined) await record(recordFile, pid);
  const exited = (async () => {
    const exit = await ended;
    // End the remaining children of the program with it, as in a container.
    sendToGroup(pid, 'SIGKILL');
    hasEnded = true;
    running.delete(pid);
    await Promise.race([drained, patience(child)]);
    if (recordFile !== undefined) await rm(recordFile, { force: true });
    return exit;
  })();
  return { pid, exited, kill };
};

function started(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      child.off('error', reject);
      child.on('error', () => {});
      resolve(child.pid ?? -1);
    });
  });
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { code: code ?? 0 } : { code: 128 + (SIGNALS[signal] ?? 0), signal });
    });
  });
}

const SIGNALS: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

async function drain(
  stream: Readable | null,
  name: 'stdout' | 'stderr',
  output: LaunchOptions['output'],
): Promise<void> {
  if (stream === null) return;
  try {
    for await (const chunk of stream) await output?.(name, Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
  } catch {
    // The pipe broke with the process: earlier output is written.
  }
}

/** A grandchild that left the group may hold the pipes open for ever. */
function patience(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve();
    }, DRAIN_MS);
    timer.unref();
  });
}

const DRAIN_MS = 1000;

async function record(file: string, pid: number): Promise<void> {
  const identity = await identityOf(pid);
  // Gone already, or a system that does not tell: then there is nothing that could be ended later.
  if (identity === undefined) return;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(identity), { mode: 0o600 });
}

/** The groups that would go on without this process: it has only one end, so there is one list. */
const running = new Set<number>();

/** When this process ends out of order (a second signal, an error that was not caught), its pods' processes do not go on. */
function endWithUs(pid: number): void {
  if (!process.listeners('exit').includes(endAll)) process.on('exit', endAll);
  running.add(pid);
}

function endAll(): void {
  for (const pid of running) sendToGroup(pid, 'SIGKILL');
}

export function sendToGroup(pid: number, signal: NodeJS.Signals): void {
  if (pid <= 1) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing is left in it.
  }
}
