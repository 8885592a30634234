// The small texts of which cells are made, as Kubernetes prints them.
import { compileLabelSelector, type LabelSelector, type ObjectMeta, parseTime } from '@capstan/kube';

const SECOND = 1000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A length of time in two or three figures: `45s`, `3m12s`, `5h`, `2d4h`, `3y40d`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND);
  // Clocks differ a little between machines; further in the future than that is a mistake.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return two(seconds, MINUTE, 'm', 1, 's');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return two(seconds, HOUR, 'h', MINUTE, 'm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return two(seconds, DAY, 'd', HOUR, 'h');
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return two(seconds, YEAR, 'y', DAY, 'd');
  return `${Math.floor(seconds / YEAR)}y`;
}

function two(seconds: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const rest = Math.floor((seconds % unit) / smaller);
  const whole = `${Math.floor(seconds / unit)}${name}`;
  return rest === 0 ? whole : `${whole}${rest}${smallerName}`;
}

/** Returns the age of a time; an invalid time is unknown. */
export function since(time: string | null | undefined, now: number): string {
  const at = timeOf(time);
  return at === undefined ? '<unknown>' : humanDuration(now - at);
}

export const age = ({ metadata }: { metadata: ObjectMeta }, now: number) => since(metadata.creationTimestamp, now);

export function timeOf(time: string | null | undefined): number | undefined {
  if (typeof time !== 'string' || time === '') return undefined;
  try {
    return parseTime(time);
  } catch {
    return undefined;
  }
}

export const nameOf = ({ metadata }: { metadata: ObjectMeta }) => metadata.name ?? '';

export const orNone = (text: string | undefined) => (text === undefined || text === '' ? '<none>' : text);

export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return orNone(pairs.sort().join(','));
}

export function selectorText(selector: LabelSelector | undefined): string {
  try {
    return orNone(selector === undefined ? '' : compileLabelSelector(selector).canonical);
  } catch {
    return '<invalid>';
  }
}

export const containerNames = (containers: readonly { name: string }[] | undefined) =>
  (containers ?? []).map(({ name }) => name).join(',');

export const containerImages = (containers: readonly { image?: string }[] | undefined) =>
  (containers ?? []).map(({ image = '' }) => image).join(',');

/** The first three, and how many more there are. */
export function firstOf(list: readonly string[], limit = 3, separator = ','): string {
  const shown = list.slice(0, limit).join(separator);
  return list.length > limit ? `${shown} + ${list.length - limit} more...` : shown;
}

/** `host:port`, with brackets around an IPv6 address. */
export const hostPort = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
