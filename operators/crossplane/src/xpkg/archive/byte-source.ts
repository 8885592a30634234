/** Bytes from chunks of any size, in pieces of the size that is asked for. */
export interface ByteSource {
  /** Bytes that were taken so far. */
  readonly position: number;
  /** Exactly so many bytes, fewer only at the end. */
  take(count: number): Promise<Buffer>;
  /** Returns the bytes that have arrived, at most this many; none only at the end. */
  some(count: number): Promise<Buffer>;
  /** Reads the rest and drops it. */
  drain(): Promise<void>;
  /** Lets go of the chunks, whether they have ended or not. */
  close(): Promise<void>;
}

export function createByteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let isOver = false;
  let position = 0;

  async function some(count: number): Promise<Buffer> {
    while (held.length === 0 && !isOver) {
      const next = await iterator.next();
      if (next.done) isOver = true;
      else held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    const piece = held.subarray(0, count);
    held = held.subarray(piece.length);
    position += piece.length;
    return piece;
  }

  return {
    get position() {
      return position;
    },
    some,
    async take(count) {
      if (count === 0) return Buffer.alloc(0);
      const first = await some(count);
      if (first.length === count || first.length === 0) return first;
      const pieces = [first];
      let length = first.length;
      while (length < count) {
        const piece = await some(count - length);
        if (piece.length === 0) break;
        pieces.push(piece);
        length += piece.length;
      }
      return Buffer.concat(pieces, length);
    },
    async drain() {
      while ((await some(Number.MAX_SAFE_INTEGER)).length > 0);
    },
    async close() {
      isOver = true;
      held = Buffer.alloc(0);
      await iterator.return?.();
    },
  };
}
