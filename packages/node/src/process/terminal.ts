// A terminal for a program that wants one. Node.js cannot open one itself; `script` of util-linux does, and copies between it and pipes.

import { spawn } from 'node:child_process';
import { access, readdir, readFile, readlink } from 'node:fs/promises';
import type { TerminalSize } from '@capstan/apiserver';

const PROGRAM = '/usr/bin/script';

/** The same program in a terminal of its own; undefined where there is no way to open one. */
export async function inTerminal(argv: readonly string[]): Promise<string[] | undefined> {
  if (process.platform !== 'linux') return undefined;
  const isThere = await access(PROGRAM).then(
    () => true,
    () => false,
  );
  return isThere ? [PROGRAM, '-qfec', argv.map(quoted).join(' '), '/dev/null'] : undefined;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Sets the size of the terminal below `pid` whenever that of the client changes. */
export async function followSizes(pid: number, sizes: AsyncIterable<TerminalSize>): Promise<void> {
  try {
    for await (const size of sizes) await resizeTerminal(pid, size);
  } catch {
    // The client has gone.
  }
}

/** Sets the size of the terminal that the program below `pid` has; nothing happens where it has none (any more). */
async function resizeTerminal(pid: number, { columns, rows }: TerminalSize): Promise<void> {
  const device = await terminalBelow(pid);
  if (device === undefined) return;
  const stty = spawn('stty', ['-F', device, 'cols', String(columns), 'rows', String(rows)], { stdio: 'ignore' });
  await new Promise<void>((resolve) => {
    stty.once('error', () => resolve());
    stty.once('exit', () => resolve());
  });
}

const TRIES = 20;
const TRY_MS = 25;

/** The child is there a moment after its parent. */
async function terminalBelow(pid: number): Promise<string | undefined> {
  for (let left = TRIES; left > 0; left -= 1) {
    for (const child of await childrenOf(pid)) {
      const device = await readlink(`/proc/${child}/fd/0`).catch(() => '');
      if (device.startsWith('/dev/pts/')) return device;
    }
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
  return undefined;
}

async function childrenOf(pid: number): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.split(' ').filter((child) => child !== ''));
}
