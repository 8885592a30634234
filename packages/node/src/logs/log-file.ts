// The output of a container, in files: each line with its time and stream, as the container runtime interface has it. A file that has grown
// too large becomes `….1` and so on; the oldest is deleted.
import { appendFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, formatMicroTime } from '@capstan/kube';

export interface LogFileOptions {
  path: string;
  clock: Clock;
  /** Default 10 MiB. */
  maxBytes?: number;
  /** Files kept, the current one included; default 5. */
  keep?: number;
}

export interface LogFile {
  write(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** Writes the last line, even without an end of line. */
  close(): Promise<void>;
}

/** A line longer than this is written in parts. */
const MAX_LINE = 16_384;

export async function openLogFile({
  path,
  clock,
  maxBytes = 10 * 2 ** 20,
  keep = 5,
}: LogFileOptions): Promise<LogFile> {
  await mkdir(dirname(path), { recursive: true });
  let size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  const rest: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let last: Promise<void> = Promise.resolve();

  async function append(text: string): Promise<void> {
    if (text === '') return;
    if (size > 0 && size + text.length > maxBytes) await rotate();
    await appendFile(path, text, { mode: 0o600 });
    size += Buffer.byteLength(text);
  }

  async function rotate(): Promise<void> {
    await rm(`${path}.${keep - 1}`, { force: true });
    for (let number = keep - 2; number >= 1; number--) {
      await rename(`${path}.${number}`, `${path}.${number + 1}`).catch(() => {});
    }
    await (keep > 1 ? rename(path, `${path}.1`) : rm(path, { force: true }));
    size = 0;
  }

  /** Writes go one after the other: stdout and stderr share the file. */
  function queue(text: string): Promise<void> {
    last = last.then(() => append(text));
    return last;
  }

  function lineOf(stream: string, tag: 'F' | 'P', text: string): string {
    return `${formatMicroTime(clock.now())} ${stream} ${tag} ${text}\n`;
  }

  return {
    async write(stream, chunk) {
      const pieces = (rest[stream] + decoders[stream].decode(chunk, { stream: true })).split('\n');
      let open = pieces.pop() ?? '';
      let text = pieces.map((piece) => lineOf(stream, 'F', piece)).join('');
      while (open.length > MAX_LINE) {
        text += lineOf(stream, 'P', open.slice(0, MAX_LINE));
        open = open.slice(MAX_LINE);
      }
      rest[stream] = open;
      await queue(text);
    },
    async close() {
      let text = '';
      for (const stream of ['stdout', 'stderr'] as const) {
        if (rest[stream] !== '') text += lineOf(stream, 'F', rest[stream]);
        rest[stream] = '';
      }
      await queue(text);
    },
  };
}
