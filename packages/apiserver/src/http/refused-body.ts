import type { IncomingMessage } from 'node:http';
import type { Clock } from '@capstan/kube';

/** Go's HTTP server waits as long before it closes such a connection; a client on the same machine needs milliseconds. */
const HOLD_MS = 500;

/**
 * Keeps an HTTP/1.1 connection open after an answer that came before the end of the body, so that the client can read the
 * answer. A socket that is closed with unread input is reset, and the answer is lost. Discards the rest of the body.
 */
export function holdUntilRead(message: IncomingMessage, clock: Clock): void {
  if (message.complete || message.destroyed) return;
  const { socket } = message;
  const close = socket.destroySoon.bind(socket);
  // Node.js calls this once the answer is written.
  socket.destroySoon = () => {
    const timer = clock.after(HOLD_MS, close);
    socket.once('close', () => timer.cancel());
    socket.end();
  };
  message.resume();
}
