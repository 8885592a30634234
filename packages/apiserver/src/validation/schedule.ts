// The schedules of CronJobs: five fields, or a word for a frequent one.

interface Bounds {
  least: number;
  most: number;
  names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: MONTHS },
  { least: 0, most: 6, names: DAYS },
];

const WORDS = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);
const EVERY = '@every ';
const DURATION = /^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;

/** Returns the problem of a schedule, in Kubernetes' words, or undefined. */
export function scheduleProblem(schedule: string): string | undefined {
  const text = schedule.replace(/^(CRON_)?TZ=\S+ +/, '');
  if (text.startsWith(EVERY)) {
    const duration = text.slice(EVERY.length);
    if (DURATION.test(duration)) return undefined;
    return `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`;
  }
  if (text.startsWith('@')) return WORDS.has(text) ? undefined : `unrecognized descriptor: ${text}`;
  const fields = text.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]`;
  }
  for (const [index, bounds] of FIELDS.entries()) {
    for (const range of (fields[index] ?? '').split(',')) {
      const problem = range === '' ? undefined : rangeProblem(range, bounds);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function rangeProblem(text: string, bounds: Bounds): string | undefined {
  const [range = '', ...steps] = text.split('/');
  const ends = range.split('-');
  const { least, most } = bounds;
  let [start, end]: [number | string, number | string] = [least, most];
  if (ends[0] !== '*' && ends[0] !== '?') {
    start = numberOf(ends[0] ?? '', bounds);
    if (typeof start === 'string') return start;
    if (ends.length > 2) return `too many hyphens: ${text}`;
    end = ends[1] === undefined ? start : numberOf(ends[1], bounds);
    if (typeof end === 'string') return end;
  }
  if (steps.length > 1) return `too many slashes: ${text}`;
  const step = steps[0] === undefined ? 1 : numberOf(steps[0]);
  if (typeof step === 'string') return step;
  if (steps.length === 1 && ends.length === 1) end = most;
  if (start < least) return `beginning of range (${start}) below minimum (${least}): ${text}`;
  if (end > most) return `end of range (${end}) above maximum (${most}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return step === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

/** Returns the number, or its problem. */
function numberOf(text: string, bounds?: Bounds): number | string {
  const place = bounds?.names?.indexOf(text.toLowerCase()) ?? -1;
  if (bounds && place >= 0) return bounds.least + place;
  if (!/^[+-]?\d+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = Number(text);
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
