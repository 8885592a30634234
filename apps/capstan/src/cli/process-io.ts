import { execFile } from 'node:child_process';
import { fstatSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { pathToFileURL } from 'node:url';
import { VERSION } from '../version.ts';
import type { Executed, Io } from './io.ts';

/**
 * The io of a real process. The first signal asks to stop, a later one ends the process. One Ctrl-C may arrive several times: npm, timeout
 * and shells pass on to a program a signal that its process group has received already.
 */
export function processIo(process: NodeJS.Process): { io: Io; flushed(): Promise<void> } {
  const stopping = new AbortController();
  let askedAt = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) {
        if (performance.now() - askedAt > SAME_SIGNAL_MS) process.exit(130);
        return;
      }
      askedAt = performance.now();
      stopping.abort(new Error(`stopped by ${signal}`));
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader of our output has seen enough (`| head`).
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
  const io: Io = {
    stdout: writerOf(process.stdout),
    stderr: writerOf(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    files: {
      read: async (path) => textOf(await readFile(path), path),
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
        return textOf(Buffer.concat(chunks), 'standard input');
      },
    },
    isTerminal: process.stdout.isTTY,
    // It may be made wider while the program runs.
    get columns() {
      return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
    },
    ...(process.stdin.isTTY && { confirm: (question: string) => confirm(question, process, stopping.signal) }),
    fetchText: (url) => fetchText(url, stopping.signal),
    execute,
    signal: stopping.signal,
    userAgent: `capstan/${VERSION}`,
    // Loaded when it is used: help must not wait for an HTTP client.
    async connect(options) {
      const { connectWithHint } = await import('./local-cluster-hint.ts');
      const read = (path: string) => readFile(path, 'utf8').catch(() => undefined);
      return connectWithHint(options, { cwd: process.cwd(), read });
    },
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

/**
 * Writes to a terminal, a pipe or a file. A file on a disk that is full takes no lines for a while: they are lost, and the program goes on.
 * A stream of Node.js would take nothing after the first of them.
 */
function writerOf(stream: NodeJS.WriteStream & { fd: number }): (text: string) => void {
  if (!isFile(stream.fd)) return (text) => void stream.write(text);
  return (text) => {
    try {
      writeSync(stream.fd, text);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && DISK_IS_FULL.has(String(error.code)))) throw error;
    }
  };
}

const DISK_IS_FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // It is closed.
    return false;
  }
}

async function confirm(question: string, { stdin, stderr }: NodeJS.Process, signal: AbortSignal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await terminal.question(`${question} [y/N] `, { signal });
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

// Loaded when it is used, as above.
async function textOf(bytes: Buffer, name: string): Promise<string> {
  const { decodeText } = await import('@capstan/reconcile/command-line');
  return decodeText(bytes, name);
}

const SAME_SIGNAL_MS = 1000;
const FETCH_MS = 15_000;
/** More than any set of manifests has. */
const MAX_TEXT = 64 * 1024 * 1024;

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]) });
  if (!answer.ok) throw new Error(`the server answered ${answer.status} ${answer.statusText}`.trim());
  const text = await answer.text();
  if (text.length > MAX_TEXT) throw new Error(`it has more than ${MAX_TEXT} characters`);
  return text;
}

function execute(program: string, args: readonly string[]): Promise<Executed | undefined> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: MAX_TEXT, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error !== null && error.code === 'ENOENT') resolve(undefined);
      else if (error !== null && typeof error.code !== 'number')
        reject(new Error(`${program} could not be run: ${error.message}`, { cause: error }));
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}
