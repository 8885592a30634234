// Lines of a byte stream. Works on bytes, so that a character cut in two by a chunk boundary comes out whole, copies
// only the line that spans chunks, and never holds more than the limit.

const NEWLINE = 0x0a;

export interface LineSplitter {
  /** The lines that this chunk completes, in order, without empty ones. */
  push(chunk: Buffer): string[];
  /** Bytes of a line that has not ended yet. */
  readonly pendingBytes: number;
  /** True once a line was longer than the limit: that line and everything after it is dropped. */
  readonly isOverflown: boolean;
}

/** `maxLineBytes` is the limit of one line, without its end. */
export function createLineSplitter(maxLineBytes: number): LineSplitter {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let isOverflown = false;

  /** The pending line, completed; undefined when it is too long. */
  function complete(end: Buffer): string | undefined {
    const bytes = pendingBytes + end.length;
    const line = pendingBytes === 0 ? end : Buffer.concat([...pending, end], Math.min(bytes, maxLineBytes));
    pending = [];
    pendingBytes = 0;
    isOverflown ||= bytes > maxLineBytes;
    return isOverflown ? undefined : line.toString('utf8');
  }

  return {
    push(chunk) {
      const lines: string[] = [];
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0 && !isOverflown; end = chunk.indexOf(NEWLINE, start)) {
        const line = complete(chunk.subarray(start, end));
        if (line !== undefined && line !== '' && line !== '\r') lines.push(line);
        start = end + 1;
      }
      if (start < chunk.length && !isOverflown) {
        pending.push(chunk.subarray(start));
        pendingBytes += chunk.length - start;
        if (pendingBytes > maxLineBytes) {
          isOverflown = true;
          pending = [];
        }
      }
      return lines;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    get isOverflown() {
      return isOverflown;
    },
  };
}
