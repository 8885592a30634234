// The format of the kept snapshot: a magic text, and frames. A frame has its length, its checksum, a head in JSON, and bytes that the head
// describes. A frame that is not whole at the end of the file is the trace of a process that was killed while it wrote; any other
// difference is damage, and none of the file is used then.
import { crc32 } from 'node:zlib';

export interface Frame {
  readonly head: unknown;
  readonly body: Buffer;
  /** Its end in the file. */
  readonly end: number;
}

export interface Frames {
  readonly frames: readonly Frame[];
  /** The length of the file up to the end of its last whole frame. */
  readonly length: number;
}

export const MAGIC = Buffer.from('sesame-kept-snapshot-1\n');

/** Length, checksum, and the length of the head. */
const PREFIX = 12;

export function encodeFrame(head: unknown, body: readonly Uint8Array[]): Buffer[] {
  const text = Buffer.from(JSON.stringify(head));
  const prefix = Buffer.alloc(PREFIX);
  let length = text.length;
  for (const { length: each } of body) length += each;
  prefix.writeUInt32BE(length, 0);
  prefix.writeUInt32BE(text.length, 8);
  const content = [text, ...body];
  let sum = crc32(prefix.subarray(8, PREFIX));
  for (const each of content) sum = crc32(each, sum);
  prefix.writeUInt32BE(sum, 4);
  return [prefix, ...(content as Buffer[])];
}

/** Reads all frames; the text is the problem of a file that cannot be used. */
export function decodeFrames(file: Buffer): Frames | string {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return 'it does not begin as a kept snapshot does';
  const frames: Frame[] = [];
  let at = MAGIC.length;
  while (at + PREFIX <= file.length) {
    const start = at + PREFIX;
    const end = start + file.readUInt32BE(at);
    if (end > file.length) break;
    if (crc32(file.subarray(at + 8, end)) !== file.readUInt32BE(at + 4)) return `the frame at byte ${at} is damaged`;
    const body = start + file.readUInt32BE(at + 8);
    if (body > end) return `the frame at byte ${at} has a head that is longer than it is`;
    const head = parsed(file.toString('utf8', start, body));
    if (head === undefined) return `the frame at byte ${at} has a head that is not JSON`;
    frames.push({ head, body: file.subarray(body, end), end });
    at = end;
  }
  return { frames, length: at };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
