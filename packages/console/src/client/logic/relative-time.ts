/** The time since a moment in one unit, as rows show it: `now`, `40 s`, `3 min`, `5 h`, `4 d`. */
export function age(since: string | undefined, now: number): string {
  const at = since === undefined ? Number.NaN : Date.parse(since);
  if (Number.isNaN(at)) return '';
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 2) return 'now';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** `10:09:25` in the user's time zone; with the date where that is not today's. */
export function clockTime(at: string | undefined, now: number): string {
  const date = new Date(at ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${time}`;
}

/** The time until credentials or a certificate expire: `expire in 364 days`, `expire in 5 h`, `expired 2 d ago`. */
export function expiry(at: string, now: number): string {
  const left = Date.parse(at) - now;
  if (Number.isNaN(left)) return '';
  if (left < 0) return `expired ${age(at, now)} ago`;
  const days = Math.floor(left / DAY_MS);
  if (days > 1) return `expire in ${days} days`;
  return `expire in ${Math.ceil(left / HOUR_MS)} h`;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** `1 object`, `2 objects`; `2,000` has its separator. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${groupDigits(number)} ${number === 1 ? one : many}`;
}

export function groupDigits(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}
