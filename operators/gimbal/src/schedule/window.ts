// Decides when changed credentials may come into force: not before a time, within windows that a cron expression opens, or at once. Time is
// a read that reports only whether a moment has come, so the present is found by asking for full hours first.
import { parseDuration } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { Parsed } from '../backend/fields.ts';
import type { EffectiveBackend } from '../kinds/index.ts';
import { type Cron, parseCron } from './cron.ts';
import { latestMoment } from './moments.ts';

export interface Window {
  readonly cron: Cron;
  readonly durationMs: number;
}

/** Reads `0 2 * * 6/3h`: a cron expression, a slash, and how long. */
export function parseWindow(text: string, timeZone = 'UTC'): Parsed<Window> {
  const [, expression, duration] = /^(.*)\/((?:\d+(?:\.\d+)?(?:h|m|s))+)$/s.exec(text.trim()) ?? [];
  if (expression === undefined || duration === undefined)
    return { fault: `"${text}" is no window: write a cron expression, a slash and a duration, as in "0 2 * * 6/3h"` };
  const durationMs = parseDuration(duration);
  if (durationMs < 60_000) return { fault: `a window of ${duration} is too short: give it a minute or more` };
  const cron = parseCron(expression, timeZone);
  if ('fault' in cron) return cron;
  for (const _start of cron.value.startsFrom(0)) return { value: { cron: cron.value, durationMs } };
  return { fault: `"${expression}" never comes` };
}

/** Whether a change is due; if not, when it will be, as far as that is known. */
export type Due = { readonly isDue: true } | { readonly isDue: false; readonly at: number | undefined };

const HOUR_MS = 3_600_000;

/** `since` is any moment that has come. */
export function dueOf(read: Pick<Reader, 'reached'>, rotation: EffectiveBackend['rotation'], since: number): Due {
  const { notBefore, window: text, timeZone } = rotation ?? {};
  const earliest = notBefore === undefined ? undefined : Date.parse(notBefore);
  const isEarly = earliest !== undefined && !read.reached(earliest);
  const window = text === undefined ? undefined : parseWindow(text, timeZone);
  // A window that cannot be read is a fault of the backend, and never gets here.
  if (window === undefined || 'fault' in window) return isEarly ? { isDue: false, at: earliest } : { isDue: true };
  const { cron, durationMs } = window.value;
  const from = isEarly ? earliest : latestMoment(read, since, HOUR_MS);
  for (const start of cron.startsFrom(from - durationMs)) {
    const end = start + durationMs;
    if (isEarly && end > earliest) return { isDue: false, at: Math.max(start, earliest) };
    if (isEarly) continue;
    if (!read.reached(start)) return { isDue: false, at: start };
    if (!read.reached(end)) return { isDue: true };
  }
  return { isDue: false, at: undefined };
}
