// Splits a byte stream into lines. It works on bytes, so that a character that spans two chunks stays whole. It copies only a line that
// spans chunks, and never holds more than the limit.

const NEWLINE = 0x0a;

export interface LineSplitter {
  /** Returns the lines that this chunk completes, in order, without empty lines. */
  push(chunk: Buffer): string[];
  /** The number of bytes of the unfinished line. */
  readonly pendingBytes: number;
  /** True after a line that was longer than the limit. That line and everything after it is dropped. */
  readonly isOverflown: boolean;
}

/** `maxLineBytes` is the limit of one line without its line end. */
export function createLineSplitter(maxLineBytes: number): LineSplitter {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let isOverflown = false;

  /** Returns the completed pending line, or undefined if it is too long. */
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
