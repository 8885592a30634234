// The connections of the server. Those whose client has not shown who it is are ended when they stand idle, and are limited in number. The
// requests that a client pipelines over HTTP/1.1 are served one after the other, so that unread answers do not pile up.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@capstan/kube';

export interface Connections {
  /** Begins to watch over a connection; `end` ends it. */
  opened(socket: Socket, end: () => void): void;
  /** Counts a request until its response is closed. */
  begin(socket: Socket, response: ServerResponse): void;
  /**
   * Undefined: the request may be served. Otherwise a promise that resolves when the requests before it on an HTTP/1.1 connection have been
   * answered.
   */
  turn(socket: Socket, response: ServerResponse): Promise<void> | undefined;
  /** The client has shown who it is. */
  identified(socket: Socket): void;
}

interface State {
  readonly end: () => void;
  /** Requests under way. */
  open: number;
  isKnown: boolean;
  /** The last request of an HTTP/1.1 connection. */
  last: ServerResponse | undefined;
  idle: Timer | undefined;
}

/** How long a connection without credentials may stand idle; a client that has some sends them with its first request. */
const ANONYMOUS_IDLE_MS = 10_000;
/** Beyond it, the oldest connection without credentials is ended. */
const MAX_ANONYMOUS = 500;
/** Hardly any client pipelines; each request that waits takes some KiB. */
const MAX_PIPELINED = 500;

export function createConnections(clock: Clock, idleMs = ANONYMOUS_IDLE_MS): Connections {
  const states = new WeakMap<Socket, State>();
  /** In the order in which they were opened. */
  const anonymous = new Set<State>();

  const rest = (state: State) => {
    if (state.isKnown || state.open > 0) return;
    state.idle = clock.after(idleMs, state.end);
  };

  return {
    opened(socket, end) {
      const state: State = { end, open: 0, isKnown: false, last: undefined, idle: undefined };
      states.set(socket, state);
      anonymous.add(state);
      socket.once('close', () => {
        state.idle?.cancel();
        anonymous.delete(state);
      });
      rest(state);
      if (anonymous.size <= MAX_ANONYMOUS) return;
      const [oldest] = anonymous;
      if (!oldest) return;
      anonymous.delete(oldest);
      oldest.end();
    },
    begin(socket, response) {
      const state = states.get(socket);
      if (!state || state.isKnown) return;
      state.open += 1;
      state.idle?.cancel();
      response.once('close', () => {
        state.open -= 1;
        rest(state);
      });
    },
    turn(socket, response) {
      const state = states.get(socket);
      if (!state) return undefined;
      const before = state.last;
      state.last = response;
      if (!before || before.destroyed || before.writableFinished) return undefined;
      pipelined.set(response, (pipelined.get(before) ?? 0) + 1);
      if ((pipelined.get(response) ?? 0) > MAX_PIPELINED) state.end();
      return new Promise((resolve) => before.once('close', resolve));
    },
    identified(socket) {
      const state = states.get(socket);
      if (!state || state.isKnown) return;
      state.isKnown = true;
      state.idle?.cancel();
      anonymous.delete(state);
    },
  };
}

/** How many requests of the connection each response waits for. */
const pipelined = new WeakMap<ServerResponse, number>();
