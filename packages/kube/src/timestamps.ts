// Times on the wire are RFC 3339 in UTC: metav1.Time to the second, metav1.MicroTime to the microsecond. In this package, a time is a
// number of milliseconds since the epoch, as a Clock returns it. Its fraction holds microseconds (exactly until the year 2109).
import { ValueErrors } from './errors.ts';

/** Formats a metav1.Time: whole seconds, cut and not rounded, so that it is never in the future. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  // Cache the last text: most times are close to now, and many are in the same second.
  if (second !== last.second) last = { second, text: `${iso(second * 1000).slice(0, 19)}Z` };
  return last.text;
}

let last = { second: 0, text: '1970-01-01T00:00:00Z' };

/** Formats a metav1.MicroTime, always with six digits. */
export function formatMicroTime(ms: number): string {
  const micros = Math.round(ms * 1000);
  const seconds = Math.floor(micros / 1_000_000);
  return `${iso(seconds * 1000).slice(0, 19)}.${String(micros - seconds * 1_000_000).padStart(6, '0')}Z`;
}

/** Parses either form, and any other RFC 3339 time. Digits beyond microseconds are cut. */
export function parseTime(text: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/.exec(text);
  if (!match) throw ValueErrors.Time(text, 'it does not have the form of RFC 3339');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // Refuse a day that the month does not have: Date would silently use a day of the next month.
  const exists =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  const offsetHours = Number(match[9] ?? 0);
  const offsetMinutes = Number(match[10] ?? 0);
  if (!exists || offsetHours > 23 || offsetMinutes > 59) throw ValueErrors.Time(text, 'there is no such day or hour');
  const micros = Number((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000;
  return date.getTime() - offset + micros / 1000;
}

function iso(ms: number): string {
  const date = new Date(ms);
  if (!(date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999)) {
    throw ValueErrors.Time(String(ms), 'its year does not have four digits');
  }
  return date.toISOString();
}
