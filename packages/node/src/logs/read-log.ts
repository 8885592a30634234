// Reads the output of a container, as `kubectl logs` requests it.
import { open, readFile } from 'node:fs/promises';
import type { LogOptions } from '@capstan/apiserver';
import { type Clock, parseTime, sleep } from '@capstan/kube';

/** The options of a client: all of the output by default. */
export type { LogOptions };

export interface LogSource {
  path: string;
  /** Whether more may be written. */
  isOpen(): boolean;
  clock: Clock;
}

/** How often a log that is followed is checked. */
const POLL_MS = 100;

/** Pieces of text, each of whole lines. */
export async function* readLog(source: LogSource, options: LogOptions): AsyncGenerator<string> {
  const { limitBytes = Number.POSITIVE_INFINITY, signal } = options;
  let left = limitBytes;
  const cut = (text: string): string => {
    const bytes = Buffer.from(text);
    const part = bytes.length <= left ? text : bytes.subarray(0, left).toString();
    left -= Math.min(left, bytes.length);
    return part;
  };
  const { lines, position } = await present(source.path);
  const chosen = lines.filter((line) => isSince(line, options.since));
  const tail = options.tailLines === undefined ? chosen : chosen.slice(Math.max(0, chosen.length - options.tailLines));
  const first = cut(tail.map((line) => shown(line, options)).join(''));
  if (first !== '') yield first;
  if (!options.follow) return;
  const follower = createFollower(source.path, position);
  while (left > 0 && !signal?.aborted) {
    // Check before reading: output that is written until the close is still read.
    const isOpen = source.isOpen();
    const text = cut((await follower()).map((line) => shown(line, options)).join(''));
    if (text !== '') yield text;
    else if (!isOpen) return;
    else await sleep(source.clock, POLL_MS, signal).catch(() => {});
  }
}

/** Rotated files oldest first, then the current one, and how far that was read. */
async function present(path: string): Promise<{ lines: string[]; position: number }> {
  const texts: string[] = [];
  for (let number = 1; ; number++) {
    const text = await readFile(`${path}.${number}`, 'utf8').catch(() => undefined);
    if (text === undefined) break;
    texts.unshift(text);
  }
  const current = await readFile(path).catch(() => Buffer.alloc(0));
  const end = current.lastIndexOf(10) + 1;
  texts.push(current.subarray(0, end).toString());
  return { lines: texts.flatMap(linesOf), position: end };
}

/** New whole lines since the last call; a file that became shorter was rotated, and is read from its beginning. */
function createFollower(path: string, start: number): () => Promise<string[]> {
  let position = start;
  return async () => {
    const file = await open(path).catch(() => undefined);
    if (file === undefined) return [];
    try {
      const { size } = await file.stat();
      if (size < position) position = 0;
      const buffer = Buffer.alloc(Math.min(size - position, 2 ** 20));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
      const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
      position += end;
      return linesOf(buffer.subarray(0, end).toString());
    } finally {
      await file.close();
    }
  };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  lines.pop();
  return lines;
}

function isSince(line: string, since: number | undefined): boolean {
  return since === undefined || parseTime(line.slice(0, line.indexOf(' '))) >= since;
}

/** A partial line has no end of line yet. */
function shown(line: string, { timestamps = false }: LogOptions): string {
  const [time = '', , tag = ''] = line.split(' ', 3);
  const text = line.split(' ').slice(3).join(' ');
  return `${timestamps ? `${time} ` : ''}${text}${tag === 'P' ? '' : '\n'}`;
}
