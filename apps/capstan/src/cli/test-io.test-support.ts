// A machine for tests: the output of commands is kept, files are a record, and the test passes in the transport of the cluster.
import { type Clock, connect, type Transport } from '@capstan/kube';
import { runCommandLine } from '../cli.ts';
import type { Io } from './io.ts';

export interface TestIoOptions {
  /** A new one for each connection; without it, kubeconfigs are really read. */
  transport?: () => Transport;
  /** Text by absolute path. */
  files?: Readonly<Record<string, string>>;
  stdin?: string;
  env?: Readonly<Record<string, string>>;
  /** Exports by absolute path. */
  modules?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  clock?: Clock;
  signal?: AbortSignal;
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs one command line to its end. */
export async function runTest(argv: readonly string[], options: TestIoOptions = {}): Promise<Ran> {
  const { io, out, err } = testIo(options);
  const code = await runCommandLine(argv, io);
  return { code, out: out(), err: err() };
}

export function testIo(options: TestIoOptions = {}): { io: Io; out(): string; err(): string } {
  const { files = {}, transport, modules = {}, env = {} } = options;
  const printed = { out: '', err: '' };
  const io: Io = {
    stdout: (text) => void (printed.out += text),
    stderr: (text) => void (printed.err += text),
    env,
    cwd: '/home/user',
    files: {
      async read(path) {
        const text = files[path];
        if (text === undefined) throw missing(path);
        return text;
      },
      async list(path) {
        if (files[path] !== undefined) return undefined;
        const names = Object.keys(files).filter((file) => file.startsWith(`${path}/`));
        if (names.length === 0) throw missing(path);
        return names.map((file) => file.slice(path.length + 1)).toSorted();
      },
      stdin: async () => options.stdin ?? '',
    },
    signal: options.signal ?? new AbortController().signal,
    connect: async (to) =>
      transport === undefined
        ? connect({ ...to, homeDir: '/home/user' })
        : { ...transport(), context: 'test', namespace: 'default' },
    async importModule(path) {
      const found = modules[path];
      if (found === undefined)
        throw Object.assign(new Error(`Cannot find module '${path}'`), { code: 'ERR_MODULE_NOT_FOUND' });
      return found;
    },
    identity: 'test',
    ...(options.clock && { clock: options.clock }),
  };
  return { io, out: () => printed.out, err: () => printed.err };
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
}
