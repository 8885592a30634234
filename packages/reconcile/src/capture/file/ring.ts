// A folder with the recording of a running program: files of some minutes each, of which the oldest are removed. Each begins with a
// snapshot, so that the rest can be replayed without those before it.
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, formatTime, type Logger, reasonOf, sleep } from '@capstan/kube/cluster';
import type { HistoryHeader, HistoryLine } from '../history.ts';
import { frameOf, headBytes, keyName } from './frames.ts';

export interface RingOptions {
  folder: string;
  header: HistoryHeader;
  /** Tells this start of the program from others. */
  run: string;
  clock: Clock;
  logger: Logger;
  /** The snapshot that a new file begins with. */
  snapshot(): Iterator<HistoryLine>;
  /** Everything is encrypted with it. */
  key?: Uint8Array;
  /** The sum of all files; default 256 MB. */
  maxBytes?: number;
  /** How long a file is kept; default 24 h. */
  maxAgeMs?: number;
  /** A file is followed by another one after so long, or so many bytes. Default 10 min and 16 MB. */
  fileMs?: number;
  fileBytes?: number;
}

export interface Ring {
  /** Takes a line; never waits. */
  line(line: HistoryLine): void;
  /** Writes the lines that are left; resolves when all are in the file. */
  close(): Promise<void>;
}

export const FILE_SUFFIX = '.recording';

const DEFAULTS = { maxBytes: 256 * 2 ** 20, maxAgeMs: 86_400_000, fileMs: 600_000, fileBytes: 16 * 2 ** 20 };
/** How long lines are gathered before they are written, and how much is written at once. */
const GATHER_MS = 1000;
const FRAME_CHARACTERS = 256 * 1024;
/** A disk that is so far behind is given up until the next file. */
const MOST_WAITING = 64 * 2 ** 20;
/** Lines of a snapshot are written down for so long at a time. */
const TURN_MS = 4;

interface Part {
  readonly name: string;
  readonly header: Buffer;
  readonly snapshot: Iterator<HistoryLine> | undefined;
  texts: string[];
}

export function createRing(options: RingOptions): Ring {
  const { folder, clock, logger, key, run } = options;
  const limits = { ...DEFAULTS, ...options };
  const parts: Part[] = [];
  let current: Part | undefined;
  let segment = 0;
  let begun = 0;
  let bytes = 0;
  let waiting = 0;
  let hasGivenUp = false;
  let isClosed = false;
  let writing: Promise<void> | undefined;
  const closing = new AbortController();

  function begin(snapshot: Iterator<HistoryLine> | undefined): void {
    begun = clock.now();
    bytes = 0;
    hasGivenUp = false;
    segment++;
    const header = { ...options.header, run, segment, begun: formatTime(begun), ...(key && { key: keyName(key) }) };
    const name = `${formatTime(begun).replaceAll(/[:.]/g, '-')}-${run}-${String(segment).padStart(6, '0')}${FILE_SUFFIX}`;
    current = { name, header: headBytes(header), snapshot, texts: [] };
    parts.push(current);
  }

  function line(one: HistoryLine): void {
    if (isClosed) return;
    if (current === undefined) begin(undefined);
    if (!hasGivenUp) {
      const text = JSON.stringify(one);
      waiting += text.length;
      current?.texts.push(text);
    }
    if (waiting > MOST_WAITING && !hasGivenUp) {
      hasGivenUp = true;
      logger.warn('the recording cannot be written fast enough; it goes on with the next file', { folder });
    }
    // The wave is over: the next file begins with the present state.
    if ('wave' in one && !('snapshot' in one) && (clock.now() - begun >= limits.fileMs || bytes >= limits.fileBytes)) {
      const snapshot = options.snapshot();
      begin(snapshot);
    }
    writing ??= write().finally(() => {
      writing = undefined;
    });
  }

  /** Writes until nothing is left, then rests until the next line. */
  async function write(): Promise<void> {
    await sleep(clock, GATHER_MS, closing.signal).catch(() => {});
    while (parts.length > 0) {
      const part = parts[0] as Part;
      try {
        await writePart(part);
      } catch (error) {
        logger.error('the recording cannot be written; it is tried again with the next file', {
          folder,
          error: reasonOf(error),
        });
        hasGivenUp = true;
        part.texts = [];
      }
      if (part !== current) parts.shift();
      else if (part.texts.length === 0) return;
    }
  }

  const files = new WeakMap<Part, FileHandle>();

  async function writePart(part: Part): Promise<void> {
    let file = files.get(part);
    if (file === undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await trim();
      file = await open(join(folder, part.name), 'ax', 0o600);
      files.set(part, file);
      await file.appendFile(part.header);
      if (part.snapshot !== undefined) await writeSnapshot(file, part.snapshot);
    }
    while (part.texts.length > 0) {
      const { texts } = part;
      part.texts = [];
      waiting -= texts.reduce((sum, { length }) => sum + length, 0);
      await writeFrame(file, `${texts.join('\n')}\n`);
    }
    if (part !== current || isClosed) await file.close();
  }

  async function writeSnapshot(file: FileHandle, lines: Iterator<HistoryLine>): Promise<void> {
    let texts: string[] = [];
    let length = 0;
    let until = clock.now() + TURN_MS;
    for (let step = lines.next(); !step.done; step = lines.next()) {
      const text = JSON.stringify(step.value);
      texts.push(text);
      length += text.length;
      if (length >= FRAME_CHARACTERS) {
        await writeFrame(file, `${texts.join('\n')}\n`);
        texts = [];
        length = 0;
      }
      if (clock.now() < until) continue;
      await clock.yield();
      until = clock.now() + TURN_MS;
    }
    if (texts.length > 0) await writeFrame(file, `${texts.join('\n')}\n`);
  }

  async function writeFrame(file: FileHandle, text: string): Promise<void> {
    const frame = await frameOf(text, key);
    bytes += frame.length;
    await file.appendFile(frame);
  }

  /** Removes files that are too old, and the oldest where all are too large. */
  async function trim(): Promise<void> {
    const names = (await readdir(folder)).filter((name) => name.endsWith(FILE_SUFFIX)).toSorted();
    const found = await Promise.all(
      names.map(async (name) => ({
        path: join(folder, name),
        ...(await stat(join(folder, name)).then(({ size, mtimeMs }) => ({ size, mtimeMs }))),
      })),
    );
    let sum = found.reduce((total, { size }) => total + size, 0);
    for (const { path, size, mtimeMs } of found) {
      if (sum <= limits.maxBytes - limits.fileBytes && clock.now() - mtimeMs <= limits.maxAgeMs) break;
      await rm(path, { force: true });
      sum -= size;
    }
  }

  return {
    line,
    async close() {
      isClosed = true;
      closing.abort();
      await writing;
      // Lines that came while the last frame was written.
      if (parts.length > 0) await write();
    },
  };
}
