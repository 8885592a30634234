import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { pathToFileURL } from 'node:url';
import { VERSION } from '../version.ts';
import type { Io } from './io.ts';

/** The io of a real process. The first signal asks to stop, the second does not ask. */
export function processIo(process: NodeJS.Process): { io: Io; flushed(): Promise<void> } {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130);
      stopping.abort(new Error(`stopped by ${signal}`));
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Whoever read our output has seen enough (`| head`).
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
  const io: Io = {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    env: process.env,
    cwd: process.cwd(),
    files: {
      read: (path) => readFile(path, 'utf8'),
      async list(path) {
        try {
          return (await readdir(path)).toSorted();
        } catch (error) {
          if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined;
          throw error;
        }
      },
      async stdin() {
        const chunks: Buffer[] = [];
        for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
        return Buffer.concat(chunks).toString('utf8');
      },
    },
    signal: stopping.signal,
    userAgent: `capstan/${VERSION}`,
    // Loaded when it is used: help must not wait for an HTTP client.
    connect: async (options) => (await import('@capstan/kube')).connect(options),
    importModule: (path) => import(pathToFileURL(path).href) as Promise<Record<string, unknown>>,
    identity: `${hostname()}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`,
  };
  const drained = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()));
  return {
    io,
    async flushed() {
      await Promise.all([drained(process.stdout), drained(process.stderr)]);
    },
  };
}
