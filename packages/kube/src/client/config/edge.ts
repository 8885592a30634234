// The functions of the machine that a connection needs, as arguments. The defaults are the real ones.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import { type Clock, systemClock } from '../../clock.ts';
import { type Logger, silentLogger } from '../../logger.ts';

export interface Edge {
  env: Readonly<Record<string, string | undefined>>;
  /** Rejects with an error whose `code` is ENOENT if the file does not exist. */
  readFile: (path: string) => Promise<string>;
  homeDir: string;
  run: RunProgram;
  /** A user can answer questions on standard input. */
  isTerminal: boolean;
  clock: Clock;
  logger: Logger;
}

export interface Program {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** The program may read from our standard input. It always inherits our standard error. */
  isInteractive: boolean;
  signal: AbortSignal;
}

/** Resolves with any exit code when the program has ended. Rejects with ENOENT if it does not exist. */
export type RunProgram = (program: Program) => Promise<{ code: number | null; stdout: string }>;

export function createEdge(parts: Partial<Edge> = {}): Edge {
  return {
    env: parts.env ?? process.env,
    readFile: parts.readFile ?? ((path) => readFile(path, 'utf8')),
    homeDir: parts.homeDir ?? homedir(),
    run: parts.run ?? runProgram,
    isTerminal: parts.isTerminal ?? isatty(0),
    clock: parts.clock ?? systemClock,
    logger: parts.logger ?? silentLogger,
  };
}

// Credentials are small. A longer output is refused.
const MAX_OUTPUT = 1024 * 1024;

function runProgram({ command, args, env, isInteractive, signal }: Program): ReturnType<RunProgram> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...env },
      signal,
      stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_OUTPUT) chunks.push(chunk);
      else child.kill();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(chunks).toString('utf8') }));
  });
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
