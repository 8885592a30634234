import type { Options } from '../cli/command.ts';
import { durationFlag } from '../cli/duration-flag.ts';

export const WAIT_OPTIONS = {
  wait: { type: 'boolean', help: 'Stay until it has come about, and tell how far it is.' },
  timeout: { type: 'string', value: 'DURATION', help: 'How long to wait; default 5m.' },
} as const satisfies Options;

const DEFAULT_MS = 300_000;

/** Undefined: not at all. */
export function waitMs(flags: {
  readonly wait?: boolean | undefined;
  readonly timeout?: string | undefined;
}): number | undefined {
  const { wait, timeout } = flags;
  if (wait !== true) return undefined;
  return timeout === undefined ? DEFAULT_MS : durationFlag('--timeout', timeout);
}
