import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Transport } from '@capstan/kube';
import { commandHelp, type Io, parseCommandLine, UsageError } from '@capstan/reconcile/command-line';
import { COMMANDS } from '../../src/commands/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly written: ReadonlyMap<string, { text: string; mode: number }>;
}

export interface RunOptions {
  /** The cluster; without it there is none. */
  readonly transport?: () => Transport;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Runs a command in a folder of its own that has these files; `-` is standard input. */
export async function runCommand(
  line: string | readonly string[],
  files: Readonly<Record<string, string | Uint8Array>> = {},
  { transport, env = {}, signal = new AbortController().signal }: RunOptions = {},
): Promise<Ran> {
  const argv = typeof line === 'string' ? line.split(' ') : line;
  const cwd = mkdtempSync(join(tmpdir(), 'sesame-command-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), content);
  }
  let out = '';
  let err = '';
  const io: Io = {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    env,
    cwd,
    identity: 'test',
    signal,
    files: {
      read: (path) => Promise.resolve(readFileSync(path, 'utf8')),
      list: () => Promise.resolve(undefined),
      stdin: () => Promise.resolve(String(files['-'] ?? '')),
    },
    connect: async () => {
      if (transport === undefined) throw new Error('there is no cluster here');
      return { ...transport(), context: 'test', namespace: 'default' };
    },
    importModule: () => Promise.reject(new Error('no module is loaded here')),
  };
  try {
    const code = await run(argv, io);
    const written = new Map(
      readdirSync(cwd, { recursive: true, withFileTypes: true }).flatMap((entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = path.slice(cwd.length + 1);
        if (!entry.isFile() || name in files) return [];
        return [[name, { text: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 }] as const];
      }),
    );
    return { code, out, err, written };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** As the program does it. */
async function run(argv: readonly string[], io: Io): Promise<number> {
  const name = [2, 1].map((words) => argv.slice(0, words).join(' ')).find((words) => Object.hasOwn(COMMANDS, words));
  if (name === undefined) throw new Error(`there is no command in ${argv.join(' ')}`);
  const rest = argv.slice(name.split(' ').length);
  try {
    const { default: command } = (await COMMANDS[name]?.load()) ?? {};
    if (command === undefined) return 1;
    if ('forward' in command) return await command.forward(rest, io);
    if (rest.includes('--help')) {
      io.stdout(commandHelp('sesame', command));
      return 0;
    }
    return await command.run(parseCommandLine(`sesame ${name}`, command, rest, io.env), io);
  } catch (error) {
    io.stderr(`error: ${(error as Error).message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}
