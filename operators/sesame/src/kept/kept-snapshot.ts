// The last snapshot of a Sesame, kept in a file for the next process of its pod: the encoded resources with their versions. A container
// that is restarted serves it at once, while its caches fill, and sends the differences afterwards. It is used only under the
// configuration that it was written under.
import { type Clock, formatTime, type Logger, reasonOf, type Timer } from '@capstan/kube';
import { RESOURCE_TYPES } from '../envoy/index.ts';
import type { Resource, ResourceKey, ResourceStore } from '../xds/index.ts';
import { KeptErrors } from './errors.ts';
import { decodeFrames, encodeFrame, type Frame, type Frames } from './frames.ts';
import { appendKept, readKept, removeKept, replaceKept } from './kept-file.ts';
import { areTexts, type EncodedRecord, isRecord, type KnownRecord, recordOf, restoredResources } from './records.ts';

export interface KeptSnapshotOptions {
  readonly path: string;
  /** Changes with everything but the objects that the snapshot was computed from: the configuration in force, and the program. */
  readonly key: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KeptSnapshot {
  /** Serves the snapshot of the file, if there is one of the same key. It never throws. */
  restore(store: ResourceStore): Promise<void>;
  /** Keeps the file up to date with the store from now on. */
  follow(store: ResourceStore): void;
  /** Another key is in force: the file of the former one is removed, and a whole snapshot written. */
  move(key: string): Promise<void>;
  /** Resolves when no write is under way. */
  settled(): Promise<void>;
  /** Writes the missing differences, and ends. */
  close(): Promise<void>;
}

/** Differences are written together: the file may be behind by as much. */
const WRITE_AFTER_MS = 1_000;
/** The first snapshot is written after its clients have it. */
const FIRST_AFTER_MS = 3_000;
/** After an error, e.g. of a full volume. */
const RETRY_MS = 60_000;
/** Bytes in one frame of a whole snapshot. */
const FRAME_BYTES = 1024 * 1024;
/** Differences of fewer bytes are never worth a new file. */
const LEAST_DIFFERENCES = 4 * 1024 * 1024;

export function createKeptSnapshot({ path, key: initial, clock, logger }: KeptSnapshotOptions): KeptSnapshot {
  let key = initial;
  let store: ResourceStore | undefined;
  let unsubscribe = () => {};
  const changed = new Set<ResourceKey>();
  let timer: Timer | undefined;
  let writing: Promise<void> = Promise.resolve();
  /** Lengths of the file, and of the whole snapshot at its beginning; undefined: the file is not that of this process yet. */
  let written: { length: number; readonly whole: number } | undefined;
  let hasFailed = false;
  let isClosed = false;

  const later = (ms: number) => {
    if (!isClosed) timer ??= clock.after(ms, () => void flush());
  };

  const flush = (): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    writing = writing.then(write).catch(failed);
    return writing;
  };

  const failed = async (problem: unknown): Promise<void> => {
    if (!hasFailed) logger.warn('the snapshot cannot be kept for a restart', { path, reason: reasonOf(problem) });
    hasFailed = true;
    written = undefined;
    // An old snapshot is worse than none.
    try {
      await removeKept(path);
    } catch {
      // The volume is not there any more, or the next attempt finds the same problem.
    }
    later(RETRY_MS);
  };

  async function write(): Promise<void> {
    if (!store || store.mark !== undefined || !store.isComplete) return;
    const keys = [...changed];
    changed.clear();
    const isLarge = written && written.length - written.whole > Math.max(LEAST_DIFFERENCES, written.whole / 2);
    if (!written || isLarge) {
      const whole = await replaceKept(path, wholeFrames(store, key, clock.now()));
      written = { length: whole, whole };
      if (hasFailed) logger.info('the snapshot is kept again', { path });
      hasFailed = false;
    } else if (keys.length > 0) {
      const { whole, length } = written;
      written = { whole, length: await appendKept(path, length, differences(store, keys, clock.now())) };
    }
    if (changed.size > 0) later(WRITE_AFTER_MS);
  }

  return {
    async restore(into) {
      try {
        const bytes = await readKept(path);
        if (bytes === undefined) return;
        const frames = decodeFrames(bytes);
        if (typeof frames === 'string') throw KeptErrors.Damaged(path, frames);
        const found = snapshotOf(frames, key);
        if (typeof found === 'string') throw KeptErrors.Damaged(path, found);
        if (found === undefined) {
          logger.info('the kept snapshot is of another configuration and is not used', { path });
          return;
        }
        if (into.isComplete) return;
        const resources = restoredResources(found.known);
        const at = formatTime(found.at);
        into.restore(resources, `sesame: kept snapshot of ${at}`);
        written = { length: frames.length, whole: found.whole };
        logger.info('the kept snapshot is served until caches are filled', { path, of: at, resources: resources.length });
      } catch (error) {
        logger.warn('the kept snapshot is not used', { path, reason: reasonOf(error) });
        await removeKept(path).catch(() => undefined);
      }
    },
    follow(into) {
      store = into;
      unsubscribe = into.subscribe((changes) => {
        for (const each of changes) changed.add(each.key);
        if (into.mark !== undefined) return;
        if (!written) later(hasFailed ? RETRY_MS : FIRST_AFTER_MS);
        else if (changed.size > 0) later(WRITE_AFTER_MS);
      });
    },
    move(next) {
      if (next === key) return Promise.resolve();
      key = next;
      writing = writing
        .then(() => {
          // A write that was under way had the former key.
          written = undefined;
          return removeKept(path);
        })
        .catch(failed);
      later(WRITE_AFTER_MS);
      return writing;
    },
    settled: () => writing,
    async close() {
      unsubscribe();
      isClosed = true;
      await writing;
      // A whole snapshot would take the time of an end in order.
      if (written && changed.size > 0) await flush();
      timer?.cancel();
    },
  };
}

interface Head {
  readonly key?: unknown;
  readonly at?: unknown;
  readonly records?: unknown;
  readonly removed?: unknown;
  /** The frame is the last one of the whole snapshot. */
  readonly isWhole?: unknown;
}

async function* wholeFrames(store: ResourceStore, key: string, at: number): AsyncGenerator<Buffer[]> {
  yield encodeFrame({ key, at } satisfies Head, []);
  const resources = RESOURCE_TYPES.flatMap((type) => [...store.ofType(type).values()]);
  for (let from = 0; from < resources.length; ) {
    const part: EncodedRecord[] = [];
    for (let size = 0; from < resources.length && size < FRAME_BYTES; from++) {
      const encoded = recordOf(resources[from] as Resource);
      size += encoded.record.length;
      part.push(encoded);
    }
    yield recordsFrame(part, {});
  }
  yield encodeFrame({ isWhole: true } satisfies Head, []);
}

function differences(store: ResourceStore, keys: readonly ResourceKey[], at: number): Buffer[] {
  const there = keys.flatMap((key) => store.get(key) ?? []);
  return recordsFrame(there.map(recordOf), { at, removed: keys.filter((key) => !store.get(key)) });
}

function recordsFrame(encoded: readonly EncodedRecord[], head: Head): Buffer[] {
  return encodeFrame(
    { ...head, records: encoded.map(({ record }) => record) },
    encoded.flatMap(({ bytes }) => bytes),
  );
}

interface Found {
  readonly known: Map<ResourceKey, KnownRecord>;
  /** When it was brought up to date. */
  readonly at: number;
  /** The length of the whole snapshot at the beginning of the file. */
  readonly whole: number;
}

/** Undefined: a snapshot of another key; a text: the problem of the file. */
function snapshotOf({ frames }: Frames, key: string): Found | string | undefined {
  const [first, ...rest] = frames;
  const head = headOf(first);
  if (typeof head?.key !== 'string' || typeof head.at !== 'number') return 'its first frame names no configuration';
  if (head.key !== key) return undefined;
  const known = new Map<ResourceKey, KnownRecord>();
  let at = head.at;
  let whole = 0;
  for (const frame of rest) {
    const next = headOf(frame);
    const { records = [], removed = [] } = next ?? {};
    if (!next || !Array.isArray(records) || !Array.isArray(removed) || !areTexts(removed)) return 'a frame is of no known kind';
    let from = 0;
    for (const record of records as readonly unknown[]) {
      if (!isRecord(record) || from + record.length > frame.body.length) return 'a record is not whole';
      known.set(`${record.type}/${record.name}`, { record, bytes: frame.body.subarray(from, from + record.length) });
      from += record.length;
    }
    for (const each of removed as readonly string[]) known.delete(each);
    if (typeof next.at === 'number') at = next.at;
    if (next.isWhole === true) whole = frame.end;
  }
  return whole > 0 ? { known, at, whole } : 'its end is missing';
}

function headOf(frame: Frame | undefined): Head | undefined {
  const head = frame?.head;
  return typeof head === 'object' && head !== null ? head : undefined;
}
