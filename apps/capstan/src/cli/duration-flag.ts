import { parseDuration } from '@capstan/kube';
import { UsageErrors } from './errors.ts';

/** A duration as Go writes it (15s, 1m30s), in milliseconds; undefined when the flag was not given. */
export function durationFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch {
    // Told below, by the name of the flag.
  }
  throw UsageErrors.BadValue(flag, text, 'write a duration above 0, as in 500ms, 15s or 1m30s');
}
