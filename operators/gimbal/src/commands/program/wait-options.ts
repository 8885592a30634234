import { type Flags, type FlagValues, positiveDuration } from '@capstan/reconcile/command-line';

export const WAIT_OPTIONS = {
  wait: { type: 'boolean', help: 'Wait until it is done, and report progress.' },
  timeout: { type: 'string', value: 'DURATION', default: '5m', parse: positiveDuration, help: 'How long to wait.' },
} as const satisfies Flags;

/** Undefined: not at all. */
export function waitMs({ wait, timeout }: FlagValues<typeof WAIT_OPTIONS>): number | undefined {
  return wait === true ? timeout : undefined;
}
