// Cron expressions with a time zone, for windows in which credentials may change. Five fields: minute, hour, day of month,
// month, day of week; `*`, lists, ranges, steps, and names of months and days. As cron has it, a day counts when either of its
// two fields matches, where both are restricted.
//
// Clocks that are put forward skip local times: those come as much later as was skipped. Clocks that are put back have local
// times twice: the first of them counts. So every start that is written down happens, and happens once.
import type { Parsed } from '../backend/fields.ts';

export interface Cron {
  /** Starts at or after an instant, in order, milliseconds since the epoch. Ends where none follows within five years. */
  startsFrom(instant: number): Iterable<number>;
}

interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Whether the field was anything but `*`. */
  readonly hasDays: boolean;
  readonly hasWeekdays: boolean;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** Reads an expression; a fault shows which field is wrong. */
export function parseCron(text: string, timeZone: string): Parsed<Cron> {
  const zone = zoneOf(timeZone);
  if (zone === undefined) return { fault: `"${timeZone}" is no time zone; use one like Europe/Berlin` };
  const parts = (NICKNAMES[text.trim().toLowerCase()] ?? text).trim().split(/\s+/);
  if (parts.length !== 5) return { fault: `"${text}" has ${parts.length} fields, and a cron expression has five` };
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = parts;
  const read = [
    valuesOf('minute', minute, 0, 59),
    valuesOf('hour', hour, 0, 23),
    valuesOf('day of month', day, 1, 31),
    valuesOf('month', month, 1, 12, MONTHS, 1),
    valuesOf('day of week', weekday, 0, 7, WEEKDAYS, 0),
  ];
  const values: number[][] = [];
  for (const one of read) {
    if ('fault' in one) return one;
    values.push(one.value);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = values;
  const fields: Fields = {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    // Both 0 and 7 are Sunday.
    weekdays: new Set(weekdays.map((one) => one % 7)),
    hasDays: !isAny(day),
    hasWeekdays: !isAny(weekday),
  };
  return { value: { startsFrom: (instant) => starts(fields, zone, instant) } };
}

const isAny = (text: string) => text === '*' || text === '?';

function valuesOf(
  what: string,
  text: string,
  least: number,
  most: number,
  names: readonly string[] = [],
  firstName = 0,
): Parsed<number[]> {
  const numberOf = (word: string): number => {
    const named = names.indexOf(word.toLowerCase());
    if (named >= 0) return named + firstName;
    return /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN;
  };
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const [, range = '', step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    const [from = '', to, ...rest] = isAny(range) ? [String(least), String(most)] : range.split('-');
    const first = numberOf(from);
    // `5/15` is `5-59/15`.
    const last = to === undefined ? (step === undefined ? first : most) : numberOf(to);
    const by = step === undefined ? 1 : Number(step);
    const isRange = rest.length === 0 && first >= least && last <= most && first <= last && by > 0;
    if (!isRange) return { fault: `the ${what} "${text}" cannot be understood: it goes from ${least} to ${most}` };
    for (let value = first; value <= last; value += by) found.add(value);
  }
  return { value: [...found].toSorted((a, b) => a - b) };
}

const DAY_MS = 86_400_000;
const FAR_DAYS = 366 * 5;

function* starts(fields: Fields, zone: Zone, instant: number): Iterable<number> {
  const local = new Date(instant + zone.offsetAt(instant));
  // Start a day earlier: a time that is skipped there may come after the instant.
  const first = Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()) - DAY_MS;
  let last = Number.NEGATIVE_INFINITY;
  let idle = 0;
  for (let day = first; idle < FAR_DAYS; day += DAY_MS) {
    idle++;
    if (!matches(fields, new Date(day))) continue;
    const walls = fields.hours.flatMap((hour) => fields.minutes.map((minute) => day + (hour * 60 + minute) * 60_000));
    for (const start of walls.map(zone.instantOf).toSorted((a, b) => a - b)) {
      if (start < instant || start <= last) continue;
      idle = 0;
      last = start;
      yield start;
    }
  }
}

function matches({ days, months, weekdays, hasDays, hasWeekdays }: Fields, day: Date): boolean {
  if (!months.has(day.getUTCMonth() + 1)) return false;
  const isDay = days.has(day.getUTCDate());
  const isWeekday = weekdays.has(day.getUTCDay());
  return hasDays && hasWeekdays ? isDay || isWeekday : isDay && isWeekday;
}

interface Zone {
  /** The offset of local time from UTC, in milliseconds. */
  offsetAt(instant: number): number;
  /** When a local time is, given as if it were UTC. */
  instantOf(wall: number): number;
}

function zoneOf(timeZone: string): Zone | undefined {
  const format = formatOf(timeZone);
  if (format === undefined) return undefined;
  const offsetAt = (instant: number) => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    const wall = Date.UTC(year, month - 1, day, hour, minute, second);
    return wall - Math.floor(instant / 1000) * 1000;
  };
  return {
    offsetAt,
    instantOf(wall) {
      // No zone moves its clocks twice within two days.
      const before = offsetAt(wall - DAY_MS);
      const after = offsetAt(wall + DAY_MS);
      const fits = [wall - before, wall - after].filter((instant) => instant + offsetAt(instant) === wall);
      return fits.length > 0 ? Math.min(...fits) : wall - before;
    },
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}
