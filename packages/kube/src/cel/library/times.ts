// Points in time to the nanosecond, and their parts in a time zone.
import { CelError } from '../errors.ts';
import { method, type Overload } from '../typing/overload.ts';
import type { Duration, Timestamp } from '../values.ts';

const BILLION = 1_000_000_000n;

/** Parses RFC 3339 with the years 1 to 9999. The time zone is kept for the text. */
export function parseTimestamp(text: string): Timestamp {
  const match = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d:\d\d)$/.exec(text);
  const [, year, month, day, hour, minute, second, fraction = '', zone = ''] = match ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  const isTime = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  if (!match || !isDate || !isTime) {
    const shown = JSON.stringify(text);
    throw new CelError(`parsing time ${shown} as "2006-01-02T15:04:05Z07:00": cannot parse ${shown} as RFC 3339`);
  }
  const offset = zone.toUpperCase() === 'Z' ? 0 : offsetMinutes(zone);
  const seconds = BigInt(date.getTime() / 1000 + Number(hour) * 3600 + (Number(minute) - offset) * 60 + Number(second));
  const nanos = seconds * BILLION + BigInt(fraction.slice(0, 9).padEnd(9, '0') || '0');
  return { kind: 'timestamp', nanos, ...(offset !== 0 && { offset }) };
}

function offsetMinutes(zone: string): number {
  const [, sign, hours, minutes] = /^([+-]?)(\d\d):(\d\d)$/.exec(zone) ?? [];
  const size = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -size : size;
}

export function formatTimestamp({ nanos, offset = 0 }: Timestamp): string {
  const { date, below } = split(nanos + BigInt(offset) * 60n * BILLION);
  const fraction = String(below).padStart(9, '0').replace(/0+$/, '');
  const text = date.toISOString().replace(/\.\d+Z$/, '');
  const size = Math.abs(offset);
  const zone = `${offset < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
  return `${text}${fraction === '' ? '' : `.${fraction}`}${offset === 0 ? 'Z' : zone}`;
}

const pad = (number: number): string => String(number).padStart(2, '0');

function split(nanos: bigint): { date: Date; below: bigint } {
  const below = ((nanos % BILLION) + BILLION) % BILLION;
  return { date: new Date(Number((nanos - below) / BILLION) * 1000), below };
}

/** Returns the local time of the zone, in the UTC fields of the Date. */
function inZone(nanos: bigint, zone: string): Date {
  const { date } = split(nanos);
  if (zone === '' || zone === 'UTC') return date;
  if (/^[+-]?\d\d:\d\d$/.test(zone)) return new Date(date.getTime() + offsetMinutes(zone) * 60_000);
  let parts: Intl.DateTimeFormatPart[];
  try {
    parts = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }).formatToParts(date);
  } catch {
    throw new CelError(`unknown time zone ${zone}`);
  }
  const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value);
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')));
}

const DAY = 86_400_000;
const TIMESTAMP_PARTS: Readonly<Record<string, (date: Date, nanos: bigint) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (_, nanos) => Number(split(nanos).below / 1_000_000n),
};

const DURATION_PARTS: Readonly<Record<string, (nanos: bigint) => bigint>> = {
  getHours: (nanos) => nanos / (3600n * BILLION),
  getMinutes: (nanos) => nanos / (60n * BILLION),
  getSeconds: (nanos) => nanos / BILLION,
  getMilliseconds: (nanos) => nanos / 1_000_000n,
};

export const times: readonly Overload[] = [
  ...Object.entries(TIMESTAMP_PARTS).flatMap(([name, part]) => [
    method(name, '(timestamp) -> int', `timestamp_to_${name}`, ({ nanos }: Timestamp) =>
      BigInt(part(split(nanos).date, nanos)),
    ),
    method(name, '(timestamp, string) -> int', `timestamp_to_${name}_with_tz`, ({ nanos }: Timestamp, zone: string) =>
      BigInt(part(inZone(nanos, zone), nanos)),
    ),
  ]),
  ...Object.entries(DURATION_PARTS).map(([name, part]) =>
    method(name, '(duration) -> int', `duration_to_${name}`, ({ nanos }: Duration) => part(nanos)),
  ),
];
