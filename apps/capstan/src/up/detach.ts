// `capstan up --detach`: the same command in a process of its own, whose output goes to files in the data folder; this one waits
// until the cluster is ready.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '@capstan/kube';
import { CliErrors } from '../cli/errors.ts';
import type { ReadyFields } from './ready-text.ts';

export interface DetachOptions {
  /** The data folder; absolute. */
  data: string;
  /** The running program and its arguments, as in process.argv. */
  argv: readonly string[];
  execPath: string;
  execArgv: readonly string[];
  cwd: string;
  clock: Clock;
  signal: AbortSignal;
  /** A phase of the start that takes longer than a second. */
  onPhase(line: string): void;
}

export interface Detached {
  readonly pid: number;
  readonly log: string;
  readonly ready: ReadyFields;
}

/** In the environment of the process in the background: the phases of its start are events. */
export const REPORT_PHASES = 'CAPSTAN_REPORT_PHASES';
const POLL_MS = 100;
const LAST_LINES = 8;

/** Throws when it ends before it is ready, with the last lines of its log. */
export async function startDetached(options: DetachOptions): Promise<Detached> {
  const { data, argv, execPath, execArgv, cwd, clock, signal, onPhase } = options;
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const [log, events] = [join(data, 'up.log'), join(data, 'up.events')];
  const [logFile, eventFile] = [openSync(log, 'w', 0o600), openSync(events, 'w', 0o600)];
  const [, program = '', ...given] = argv;
  const args = given.filter((argument) => !/^--detach(?:=true)?$/.test(argument));
  const child = spawn(execPath, [...execArgv, program, ...args, '-o', 'json'], {
    cwd,
    detached: true,
    env: { ...process.env, [REPORT_PHASES]: 'true' },
    stdio: ['ignore', eventFile, logFile],
  });
  closeSync(logFile);
  closeSync(eventFile);
  let ended = false;
  child.once('exit', () => (ended = true));
  child.once('error', () => (ended = true));
  let seen = 0;
  for (;;) {
    const lines = eventsIn(readFileSync(events, 'utf8'));
    for (const line of lines.slice(seen)) if (line.event === 'phase') onPhase(line.title);
    seen = lines.length;
    const ready = lines.find((line) => line.event === 'ready');
    if (ready !== undefined && child.pid !== undefined) {
      child.unref();
      const { event: _event, ...fields } = ready;
      return { pid: child.pid, log, ready: fields };
    }
    if (ended) throw CliErrors.DetachedEnded(lastLines(readFileSync(log, 'utf8')), log);
    if (signal.aborted) {
      child.kill('SIGTERM');
      signal.throwIfAborted();
    }
    await sleep(clock, POLL_MS, signal).catch(() => undefined);
  }
}

type UpEvent = { event: 'phase'; title: string } | ({ event: 'ready' } & ReadyFields) | { event: 'started' };

function eventsIn(text: string): UpEvent[] {
  // What follows the last end of a line is being written.
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as UpEvent);
}

function lastLines(text: string): string {
  return text
    .trim()
    .split('\n')
    .slice(-LAST_LINES)
    .map((line) => line.replace(/^error: /, ''))
    .join('\n  ');
}
