// The one stream of events. Messages are numbered, and the last ones are kept: a reader that reconnects gets the missed messages, or `gap`.
// Rows are coalesced, at most ten messages a second. A reader that does not keep up is dropped: it reconnects and resumes.
import type { Clock } from '@capstan/kube';
import type { ObjectChange } from '@capstan/reconcile';
import type { Row } from './rows.ts';

export interface StreamReader {
  /** Sends text; returns the number of bytes that wait to be sent. */
  write(text: string): number;
  end(): void;
}

export interface EventStream {
  /** Collects changes; they are sent a little later. */
  changed(update: { rows: readonly Row[]; removed: readonly string[]; changes: readonly ObjectChange[] }): void;
  send(type: string, data: unknown): void;
  /** Calls `onSent` after a while, also if nothing changes until then. */
  soon(milliseconds: number): void;
  /** `lastId`: of the last message that the reader got. Returns the function that takes the reader out. */
  open(reader: StreamReader, lastId: string | undefined): () => void;
  readonly readers: number;
  /** Sends `bye` to all readers. */
  close(): void;
}

export interface EventStreamOptions {
  readonly clock: Clock;
  readonly epoch: string;
  /** Called after rows were sent, and soon after a reader came. */
  onSent?(): void;
}

const INTERVAL_MS = 100;
const MAX_ROWS = 500;
const KEPT_MESSAGES = 200;
const MAX_WAITING_BYTES = 1024 * 1024;

export function createEventStream({ clock, epoch, onSent }: EventStreamOptions): EventStream {
  const readers = new Set<StreamReader>();
  const kept: { readonly number: number; readonly text: string }[] = [];
  const rows = new Map<string, Row>();
  const removed = new Set<string>();
  let changes: ObjectChange[] = [];
  let number = 0;
  /** Messages up to this one are not kept, because no reader was there. */
  let lostUntil = 0;
  let cancelTimer: (() => void) | undefined;
  let timerAt = 0;

  function send(type: string, data: unknown): void {
    number++;
    const text = messageOf(`${epoch}-${number}`, type, data);
    kept.push({ number, text });
    if (kept.length > KEPT_MESSAGES) kept.shift();
    for (const reader of readers) {
      if (reader.write(text) <= MAX_WAITING_BYTES) continue;
      readers.delete(reader);
      reader.end();
    }
  }

  function flush(): void {
    cancelTimer = undefined;
    if (rows.size + removed.size > MAX_ROWS) send('gap', { rows: rows.size, removed: removed.size });
    else if (rows.size + removed.size > 0) send('objects', { rows: [...rows.values()], removed: [...removed] });
    if (changes.length > 0)
      send('changes', { changes: changes.slice(-MAX_ROWS), more: Math.max(0, changes.length - MAX_ROWS) });
    forget();
    onSent?.();
  }

  /** A later call does not delay an earlier one. */
  function flushAfter(milliseconds: number): void {
    const dueAt = clock.now() + milliseconds;
    if (cancelTimer !== undefined && dueAt >= timerAt) return;
    cancelTimer?.();
    const timer = clock.after(milliseconds, flush);
    timerAt = dueAt;
    cancelTimer = () => timer.cancel();
  }

  function forget(): void {
    rows.clear();
    removed.clear();
    changes = [];
  }

  return {
    changed(update) {
      // Nothing is collected while no page is open: those that come back get a gap.
      if (readers.size === 0) {
        lostUntil = ++number;
        kept.length = 0;
        return;
      }
      for (const row of update.rows) {
        rows.set(row.id, row);
        removed.delete(row.id);
      }
      for (const id of update.removed) {
        rows.delete(id);
        removed.add(id);
      }
      changes.push(...update.changes);
      changes.splice(0, changes.length - 10 * MAX_ROWS);
      flushAfter(INTERVAL_MS);
    },
    send,
    soon(milliseconds) {
      if (readers.size > 0) flushAfter(milliseconds);
    },
    open(reader, lastId) {
      const last = numberOf(lastId, epoch);
      const oldest = kept[0]?.number ?? number + 1;
      if (lastId === undefined) reader.write(messageOf(`${epoch}-${number}`, 'hello', {}));
      else if (last === undefined || last > number || last < lostUntil || last + 1 < oldest)
        reader.write(messageOf(`${epoch}-${number}`, 'gap', {}));
      else for (const message of kept) if (message.number > last) reader.write(message.text);
      readers.add(reader);
      // Caches may be filling without any change.
      flushAfter(INTERVAL_MS);
      return () => {
        readers.delete(reader);
        if (readers.size > 0) return;
        cancelTimer?.();
        cancelTimer = undefined;
        if (rows.size + removed.size + changes.length > 0) lostUntil = ++number;
        forget();
      };
    },
    get readers() {
      return readers.size;
    },
    close() {
      cancelTimer?.();
      const text = messageOf(`${epoch}-${number}`, 'bye', {});
      for (const reader of readers) {
        reader.write(text);
        reader.end();
      }
      readers.clear();
    },
  };
}

/** JSON has no line breaks of its own, so that data is one line. */
function messageOf(id: string, type: string, data: unknown): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function numberOf(id: string | undefined, epoch: string): number | undefined {
  if (id === undefined || !id.startsWith(`${epoch}-`)) return undefined;
  const text = id.slice(epoch.length + 1);
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
