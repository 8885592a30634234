// `capstan up --detach`: the same command in a process of its own, whose log is a file in the data folder. It reports its events by a
// channel and not by a file, because the disk may be full. This process waits until the cluster is ready.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, reasonOf, sleep } from '@capstan/kube';
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
  const log = join(data, 'up.log');
  const logFile = openLog(data, log);
  const [, program = '', ...given] = argv;
  const args = given.filter((argument) => !/^--detach(?:=true)?$/.test(argument));
  const child = spawn(execPath, [...execArgv, program, ...args, '-o', 'json'], {
    cwd,
    detached: true,
    env: { ...process.env, [REPORT_PHASES]: 'true' },
    stdio: ['ignore', 'ignore', logFile, 'ipc'],
  });
  closeSync(logFile);
  let ended = false;
  child.once('exit', () => (ended = true));
  child.once('error', () => (ended = true));
  let ready: ReadyFields | undefined;
  child.on('message', (message) => {
    // The same program wrote it a moment ago.
    const event = message as UpEvent;
    if (event.event === 'phase') onPhase(event.title);
    if (event.event !== 'ready') return;
    const { event: _event, ...fields } = event;
    ready = fields;
  });
  for (;;) {
    if (ready !== undefined && child.pid !== undefined) {
      child.disconnect();
      child.unref();
      return { pid: child.pid, log, ready };
    }
    if (ended) throw CliErrors.DetachedEnded(lastLines(readFileSync(log, 'utf8')), log);
    if (signal.aborted) {
      child.kill('SIGTERM');
      signal.throwIfAborted();
    }
    await sleep(clock, POLL_MS, signal).catch(() => undefined);
  }
}

function openLog(data: string, log: string): number {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    return openSync(log, 'w', 0o600);
  } catch (error) {
    throw CliErrors.NoLog(log, reasonOf(error));
  }
}

/** Reports an event to the process that started this one in the background; it may have ended since. */
export function reportToStarter(event: object): void {
  if (process.connected) process.send?.(event, undefined, undefined, () => undefined);
}

type UpEvent = { event: 'phase'; title: string } | ({ event: 'ready' } & ReadyFields) | { event: 'started' };

function lastLines(text: string): string {
  return text
    .trim()
    .split('\n')
    .slice(-LAST_LINES)
    .map((line) => line.replace(/^error: /, ''))
    .join('\n  ');
}
