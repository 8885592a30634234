// Commands that change a backend and wait until the change is complete. They poll its status and report each news.
import { type Client, type Clock, sleep } from '@capstan/kube';
import type { DiscoveryBackend } from '../kinds/index.ts';
import type { FoundBackend } from './find-backends.ts';

export interface CommandContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** One line, without its end. */
  report(line: string): void;
}

/** The line to print for a status, and whether the change is complete. */
export interface Progress {
  readonly line: string;
  /** The exit code; undefined: it goes on. */
  readonly code?: number;
}

/** Exit codes of commands that wait. */
export const DONE = 0;
export const TIMED_OUT = 1;
/** Waiting does not help: a user has to act. */
export const BLOCKED = 3;

const POLL_MS = 300;

export async function follow(
  { kind, object }: FoundBackend,
  { client, clock, signal, report }: CommandContext,
  timeoutMs: number,
  judge: (backend: DiscoveryBackend, isNews: boolean) => Progress,
): Promise<number> {
  const { namespace = '', name = '', generation = 0 } = object.metadata;
  const deadline = clock.now() + timeoutMs;
  let reported: string | undefined;
  for (;;) {
    const seen = (await client.get(kind, { namespace, name }, { signal })) as DiscoveryBackend;
    const { line, code } = judge(seen, (seen.status?.observedGeneration ?? 0) >= generation);
    if (line !== reported) report(line);
    reported = line;
    if (code !== undefined) return code;
    if (clock.now() >= deadline) {
      report(
        `${name}: not finished within ${Math.round(timeoutMs / 1000)} s; the operator continues, see gimbal backends`,
      );
      return TIMED_OUT;
    }
    await sleep(clock, POLL_MS, signal);
  }
}
