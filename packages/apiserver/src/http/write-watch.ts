import type { ServerResponse } from 'node:http';
import type { Clock, WatchEvent, WatchStream } from '@capstan/kube';

const PIECE_EVENTS = 200;
/** Of the texts of events, which watchers take within moments of each other. */
const KEPT_CHARACTERS = 4 * 1024 * 1024;

/**
 * Writes watches: one line of JSON an event. The text of an event that many watchers share is made once and kept for a while. A watcher that
 * does not read is waited for; its events gather in the server's stream, which ends when they are too many, and the
 * connection is cut when it takes nothing for `drainMs`.
 */
export function createWatchWriter(clock: Clock, drainMs: number) {
  const texts = new Map<WatchEvent, string>();
  let kept = 0;
  const textOf = (event: WatchEvent): string => {
    let text = texts.get(event);
    if (text === undefined) {
      text = `${JSON.stringify(event)}\n`;
      texts.set(event, text);
      kept += text.length;
      // The oldest first: whoever is that far behind makes the text again.
      for (const [old, { length }] of texts) {
        if (kept <= KEPT_CHARACTERS) break;
        texts.delete(old);
        kept -= length;
      }
    }
    return text;
  };

  return async (response: ServerResponse, stream: WatchStream): Promise<void> => {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    response.flushHeaders();
    try {
      for await (const events of stream) {
        if (!(await write(response, events))) break;
      }
      response.end();
    } catch {
      // The stream broke, so the connection does: a client must not take it for an orderly end.
      response.destroy();
    }
  };

  /** In pieces: the first events of a watch may be a whole large list. False when nobody takes them. */
  async function write(response: ServerResponse, events: readonly WatchEvent[]): Promise<boolean> {
    for (let at = 0; at < events.length; at += PIECE_EVENTS) {
      if (response.destroyed) return false;
      let text = '';
      for (const event of events.slice(at, at + PIECE_EVENTS)) text += textOf(event);
      if (!response.write(text) && !(await hasRoom(response))) return false;
    }
    return true;
  }

  /** False when the client took nothing for too long, or is gone. */
  function hasRoom(response: ServerResponse): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isDrained: boolean) => () => {
        timer.cancel();
        response.off('drain', onDrain);
        response.off('close', onClose);
        if (!isDrained) response.destroy();
        resolve(isDrained);
      };
      const onDrain = done(true);
      const onClose = done(false);
      const timer = clock.after(drainMs, onClose);
      response.once('drain', onDrain);
      response.once('close', onClose);
    });
  }
}
