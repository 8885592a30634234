// The programs of a soak: real processes of the command line, with their logs in files.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RunningProgram {
  readonly name: string;
  readonly pid: number;
  readonly log: string;
  /** The address of its metrics; undefined where it serves none. */
  readonly metrics: string | undefined;
  /** Describes how it ended; undefined while it runs. */
  readonly ended: string | undefined;
  /** Resolves at the first event of this name. Rejects if the program ends before, or takes too long. */
  event(name: string, limitMs: number, stopping: AbortSignal): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it by SIGTERM, and by SIGKILL if it takes too long. */
  end(): Promise<void>;
}

export interface ProgramOptions {
  readonly name: string;
  /** The arguments of `capstan`. */
  readonly args: readonly string[];
  readonly logs: string;
  readonly metrics?: string;
}

const CAPSTAN = join(import.meta.dirname, '../../../apps/capstan/src/main.ts');
const END_LIMIT_MS = 40_000;

export function startCapstan({ name, args, logs, metrics }: ProgramOptions): RunningProgram {
  const log = join(logs, `${name}.log`);
  const file = createWriteStream(log, { flags: 'a' });
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CAPSTAN, ...args, '-o', 'json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.pipe(file);
  const events = new Set<string>();
  const lines = createInterface(child.stdout).on('line', (line) => {
    const name = /"event":"(\w+)"/.exec(line)?.[1];
    if (name === undefined) return;
    events.add(name);
    lines.emit(`event ${name}`);
  });
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = `ended by ${signal ?? `exit code ${code ?? 'none'}`}`;
    lines.emit('ended');
  });
  return {
    name,
    pid: child.pid ?? 0,
    log,
    metrics,
    get ended() {
      return ended;
    },
    async event(wanted, limitMs, stopping) {
      if (events.has(wanted)) return;
      const signal = { signal: AbortSignal.any([stopping, AbortSignal.timeout(limitMs)]) };
      await Promise.race([once(lines, `event ${wanted}`, signal), once(lines, 'ended', signal)]).catch(() => undefined);
      if (!events.has(wanted))
        throw new Error(`${name}: ${ended ?? 'took too long'} before the event ${wanted}: ${lastLines(log)}`);
    },
    signal: (signal) => void (ended === undefined && child.kill(signal)),
    end: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS);
  await over;
  clearTimeout(timer);
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-6).join(' | ');
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
