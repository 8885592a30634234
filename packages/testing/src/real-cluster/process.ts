// A program that runs beside a test and never outlives it. It is started through a shell that keeps a watcher behind: the
// watcher holds the other end of a pipe to this process, and when that closes without a word, for whatever reason (kill -9 of the
// test run included), it ends the program and removes the folder of its data.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

export interface ProcessOptions {
  program: string;
  args: readonly string[];
  /** The folder is removed if this process dies without having closed the program. */
  folder: string;
}

export interface RunningProcess {
  readonly pid: number | undefined;
  /** Returns the last lines that it printed, for messages. */
  lastLines(count?: number): string[];
  readonly hasExited: boolean;
  readonly exited: Promise<void>;
  /** Asks it to end, insists after `graceMs` (default 5,000), resolves when it has. */
  stop(graceMs?: number): Promise<void>;
}

const KEPT_LINES = 400;

export function startProcess({ program, args, folder }: ProcessOptions): RunningProcess {
  const child = spawn('/bin/sh', ['-c', GUARDED, program, folder, program, ...args], {
    // The last is the watcher's: Node.js closes the first by itself when the program ends.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // In a group of its own: a signal to that of the test must leave the watcher to do its work.
    detached: true,
    // Nothing of the environment reaches a control plane: proxies, for one, would take its loopback traffic elsewhere.
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: folder },
  });
  const watcher = child.stdio[3] as Writable;
  watcher.on('error', () => {});
  const lines: string[] = [];
  for (const stream of [child.stdout as Readable, child.stderr as Readable]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      if (lines.length > 2 * KEPT_LINES) lines.splice(0, lines.length - KEPT_LINES);
    });
  }
  let hasExited = false;
  const exited = ended(child).then(() => {
    hasExited = true;
    // The watcher goes as well, and leaves the folder: the program may be started on it again.
    watcher.end('ended\n');
  });
  return {
    pid: child.pid,
    lastLines: (count = 20) => lines.slice(-count),
    get hasExited() {
      return hasExited;
    },
    exited,
    async stop(graceMs = 5_000) {
      if (hasExited) return;
      child.kill('SIGTERM');
      const insist = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(insist);
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  try {
    await once(child, 'exit');
  } catch {
    // It could not be started at all: that is an end too.
  }
}

// $1 is the folder, the rest the command. `exec` gives the program the pid of the shell, which the watcher knows as $$.
const GUARDED = `folder=$1; shift; { trap '' HUP INT TERM; read -r ended <&3 || { kill -KILL $$; rm -rf "$folder"; }; } >/dev/null 2>&1 & exec "$@" </dev/null 3<&-`;
