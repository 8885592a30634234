// Clients that do not read their answers. An answer waits for them for a while, and then its stream (over HTTP/1.1 its connection) is
// ended.
import type { ServerResponse } from 'node:http';
import type { Clock } from '@capstan/kube';

export interface Patience {
  readonly clock: Clock;
  /** How long a client may take nothing of an answer. */
  readonly drainMs: number;
}

/** A client that takes less than this in `drainMs` takes nothing. */
const MIN_BYTES = 64 * 1024;

/** Resolves when there is room again, or when the client is gone; one that takes nothing for too long is cut. */
export function drained(
  out: NodeJS.WritableStream,
  response: ServerResponse,
  { clock, drainMs }: Patience,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(drainMs, () => response.destroy());
    const done = () => {
      timer.cancel();
      out.off('drain', done);
      response.off('close', done);
      resolve();
    };
    out.once('drain', done);
    response.once('close', done);
    if (response.destroyed) done();
  });
}

/** Watches over an answer that has been written whole: it is cut when its client takes nothing of it for too long. */
export function expectRead(
  response: ServerResponse,
  { clock, drainMs }: Patience,
  unread: () => number = () => response.writableLength,
): void {
  let left = unread();
  if (left === 0 || response.destroyed) return;
  const check = () => {
    const now = unread();
    if (left - now < Math.min(left, MIN_BYTES)) {
      response.destroy();
      return;
    }
    left = now;
    if (left > 0) timer = clock.after(drainMs, check);
  };
  let timer = clock.after(drainMs, check);
  response.once('close', () => timer.cancel());
}
