// Collects the messages of a gRPC stream: a prefix of five bytes with the length, then the message. The cost is linear in the
// bytes, however small the buffers are in which they arrive.

const PREFIX = 5;

export type Collected =
  | { readonly message: Buffer }
  | { readonly problem: 'compressed' }
  | { readonly problem: 'too large'; readonly length: number };

export class RequestBuffer {
  readonly #maxLength: number;
  /** The beginning of the next message; its capacity doubles as it fills. */
  #bytes: Buffer | undefined;
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Bytes of a message that has not arrived completely. */
  get incomplete(): number {
    return this.#length;
  }

  /** Adds bytes, and yields each message that they complete. It ends after a problem. */
  *collect(chunk: Buffer): Generator<Collected> {
    let bytes = this.#length === 0 ? chunk : this.#append(chunk);
    while (bytes.length >= PREFIX) {
      const length = bytes.readUInt32BE(1);
      const problem = bytes[0] !== 0 ? 'compressed' : length > this.#maxLength ? 'too large' : undefined;
      if (problem !== undefined) {
        this.clear();
        yield problem === 'compressed' ? { problem } : { problem, length };
        return;
      }
      if (bytes.length < PREFIX + length) break;
      yield { message: bytes.subarray(PREFIX, PREFIX + length) };
      bytes = bytes.subarray(PREFIX + length);
    }
    this.#keep(bytes);
  }

  clear(): void {
    this.#bytes = undefined;
    this.#length = 0;
  }

  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (!this.#bytes || length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#length));
      this.#bytes?.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    chunk.copy(this.#bytes, this.#length);
    this.#length = length;
    return this.#bytes.subarray(0, length);
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) this.clear();
    // The same bytes as before: no message was complete.
    else if (rest.buffer === this.#bytes?.buffer && rest.byteOffset === this.#bytes.byteOffset)
      this.#length = rest.length;
    else {
      this.#bytes = Buffer.from(rest);
      this.#length = rest.length;
    }
  }
}
