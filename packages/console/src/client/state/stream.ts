// One stream for all tabs: browsers allow six connections to an origin. The tab that holds the lock reads the stream and forwards it.
import { signal } from '@preact/signals';
import type { StreamEvents } from '../../api-types.ts';
import { followEvents, type StreamMessage, type StreamState } from '../logic/event-source.ts';
import { openEvents, refuse } from './api.ts';

export type Connection = { readonly state: 'opening' } | (StreamState & { readonly since: number });

export const connection = signal<Connection>({ state: 'opening' });

type Handler = (data: unknown) => void;
const handlers = new Map<string, Set<Handler>>();
let lastId: string | undefined;
let tryNow: (() => void) | undefined;

/** Calls the function for each event of the type; returns the function that ends it. */
export function onEvent<K extends keyof StreamEvents>(type: K, handle: (data: StreamEvents[K]) => void): () => void {
  const known = handlers.get(type) ?? new Set<Handler>();
  handlers.set(type, known.add(handle as Handler));
  return () => known.delete(handle as Handler);
}

/** Ends the wait before the next attempt. */
export function reconnectNow(): void {
  tryNow?.();
}

type Forwarded = { readonly message: StreamMessage } | { readonly state: StreamState } | { readonly ask: true };

export function openStream(): void {
  const channel = new BroadcastChannel('capstan-events');
  // A channel has no target: only pages of this origin can hear it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const tell = (data: Forwarded) => channel.postMessage(data);
  let isReader = false;
  channel.addEventListener('message', ({ data }: MessageEvent<Forwarded>) => {
    if ('message' in data) take(data.message);
    else if ('state' in data) setState(data.state);
    else if (isReader && connection.value.state === 'live') tell({ state: { state: 'live' } });
  });
  const read = async () => {
    isReader = true;
    await followEvents({
      open: (id, signal) => openEvents(id ?? lastId, signal),
      onMessage(message) {
        tell({ message });
        take(message);
      },
      onState(state) {
        tell({ state });
        setState(state);
      },
      wait,
      random: Math.random,
      signal: new AbortController().signal,
    });
    isReader = false;
  };
  tell({ ask: true });
  if (navigator.locks === undefined) void read();
  else void navigator.locks.request('capstan-events', read);
}

function take({ id, type, data }: StreamMessage): void {
  lastId = id === '' ? lastId : id;
  for (const handle of handlers.get(type) ?? []) handle(data);
}

function setState(state: StreamState): void {
  const before = connection.value;
  const since = before.state === state.state && 'since' in before ? before.since : Date.now();
  connection.value = { ...state, since };
  if (state.state === 'refused') refuse();
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      tryNow = undefined;
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    tryNow = done;
    signal.addEventListener('abort', done, { once: true });
  });
}
