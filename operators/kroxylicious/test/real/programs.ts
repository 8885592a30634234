// The real programs of the end-to-end tests, which setup:real installed. None is left running after a test.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { realProxyIn } from '../../src/local/proxy-image.ts';

/** The folder of setup:real. */
export const folder = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'kroxylicious');
export const realProxy = realProxyIn(folder);
/** The reason why a test is skipped, or false. */
export const skip =
  realProxy === undefined ? 'the real proxy and broker are not there: npm run setup:real -- kroxylicious' : false;

export interface Program {
  /** All lines of its standard output so far. */
  readonly lines: readonly string[];
  readonly input: Writable;
  /** Returns its standard error, for messages. */
  errors(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Ends it, with SIGKILL after some seconds. */
  stop(): Promise<void>;
}

/** Starts Java with all jars of a folder of setup:real. */
export function java(jars: string, args: readonly string[]): Program {
  const options = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData', '-Xmx256m'];
  const path = ['-cp', join(folder, jars, '*')];
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    join(folder, 'java', 'bin', 'java'),
    [...options, ...path, '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', ...args],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const lines: string[] = [];
  const errors: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  child.stdin.on('error', () => {});
  // The test runner may end this process before it has cleaned up.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close').then(([code]) => {
    process.off('exit', kill);
    return code as number | null;
  });
  return {
    lines,
    input: child.stdin,
    errors: () => errors.slice(-40).join('\n'),
    ended,
    async stop() {
      child.kill('SIGTERM');
      const late = new AbortController();
      await Promise.race([ended, pause(5_000, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
      kill();
      await ended;
    },
  };
}

/** Waits for a condition. After the deadline the error contains the condition and the present state. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  { seconds = 40, instead = () => '' }: { seconds?: number; instead?: () => string | Promise<string> } = {},
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${seconds} s\n${await instead()}`);
    await pause(50);
  }
}
