// The stream of events, read by fetch: EventSource cannot send the header with the token. It resumes by the id of the last message,
// and waits longer after each failure.

export interface StreamMessage {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

export type StreamState =
  | { readonly state: 'live' }
  /** `attempt` counts failures in a row; the next try follows after `delay` milliseconds. */
  | { readonly state: 'waiting'; readonly attempt: number; readonly delay: number }
  /** The token is of another process: a new code is needed. */
  | { readonly state: 'refused' };

export interface EventSourceOptions {
  readonly open: (lastId: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly onMessage: (message: StreamMessage) => void;
  readonly onState: (state: StreamState) => void;
  /** Resolves after the time, or at once when the signal aborts or the user asks to try now. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;

/** Reads until the signal aborts or the token is refused. */
export async function followEvents(options: EventSourceOptions): Promise<void> {
  const { open, onMessage, onState, wait, random, signal } = options;
  let lastId: string | undefined;
  let attempt = 0;
  while (!signal.aborted) {
    try {
      const response = await open(lastId, signal);
      if (response.status === 401) return onState({ state: 'refused' });
      if (response.ok && response.body !== null) {
        onState({ state: 'live' });
        const parser = createEventParser();
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        const decoder = new TextDecoder();
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          for (const message of parser.take(decoder.decode(part.value, { stream: true }))) {
            attempt = 0;
            lastId = message.id === '' ? lastId : message.id;
            onMessage(message);
          }
        }
      }
    } catch {
      // A lost connection and a server that is not there are the same to the page: it tries again.
    }
    if (signal.aborted) return;
    attempt++;
    const delay = backOff(attempt, random());
    onState({ state: 'waiting', attempt, delay });
    await wait(delay, signal);
  }
}

/** Doubles from half a second to 15 seconds, with a quarter of it random, so that tabs do not return together. */
export function backOff(attempt: number, random: number): number {
  const most = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 10), MAX_DELAY_MS);
  return Math.round(most * (0.75 + 0.25 * random));
}

export interface EventParser {
  /** Takes a piece of text; returns the messages that are complete. */
  take(text: string): readonly StreamMessage[];
}

/** Parses `text/event-stream`. A message whose data is not JSON is skipped. */
export function createEventParser(): EventParser {
  let rest = '';
  let id = '';
  let type = '';
  let data: string[] = [];
  return {
    take(text) {
      const found: StreamMessage[] = [];
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const ended of lines) {
        const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
        if (line === '') {
          const message = data.length === 0 ? undefined : parsed(id, type, data.join('\n'));
          if (message !== undefined) found.push(message);
          type = '';
          data = [];
          continue;
        }
        const colon = line.indexOf(':');
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'id') id = value;
        else if (field === 'event') type = value;
        else if (field === 'data') data.push(value);
      }
      return found;
    },
  };
}

function parsed(id: string, type: string, data: string): StreamMessage | undefined {
  try {
    return { id, type: type === '' ? 'message' : type, data: JSON.parse(data) as unknown };
  } catch {
    return undefined;
  }
}
