// Time is a read that reports only whether a moment has come. A time that must be written down is found by asking for moments: twice as far
// each time, then by halves. The run wakes again when the next of these moments comes, so ask only for a time that is about to be written.
import type { Reader } from '@capstan/reconcile';

/** The last of the moments `since`, `since + step`, `since + 2 step`, … that has come; `since` itself must have. */
export function latestMoment(read: Pick<Reader, 'reached'>, since: number, step: number): number {
  let [low, high] = [0, 1];
  while (high < FAR && read.reached(since + high * step)) [low, high] = [high, high * 2];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (read.reached(since + middle * step)) low = middle;
    else high = middle;
  }
  return since + low * step;
}

const FAR = 2 ** 40;

/** How many of so many equal parts of a span have begun, the first at its start. */
export function partsBegun(read: Pick<Reader, 'reached'>, since: number, span: number, parts: number): number {
  let begun = 0;
  while (begun < parts && read.reached(since + (span * begun) / parts)) begun++;
  return begun;
}

/** When an object was created; one that is only proposed has no time yet, and then any past moment does. */
export function createdAt(creationTimestamp: string | undefined): number {
  return creationTimestamp === undefined || creationTimestamp === '' ? 0 : Date.parse(creationTimestamp);
}
