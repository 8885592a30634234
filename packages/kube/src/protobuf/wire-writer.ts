/** Enough for most objects. */
const FIRST_BYTES = 4096;
const PIECE_BYTES = 256 * 1024;
/** Up to here, writing characters one by one takes less time than a call of Buffer's. */
const SHORT_TEXT = 48;
const [VARINT, FIXED64, LENGTH] = [0, 1, 2];

/**
 * Writes the protobuf wire format from its end to its beginning: the last field is written first. Written bytes never move: a long message
 * is a list of pieces. The length of a nested message is known when it is needed, so nothing is measured first.
 */
export class WireWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = FIRST_BYTES;
  /** Full pieces, the last of the message first. */
  #full: Uint8Array[] = [];
  #fullBytes = 0;

  /** How many bytes have been written. */
  get length(): number {
    return this.#fullBytes + this.#buffer.length - this.#at;
  }

  pieces(): Uint8Array[] {
    return [this.#buffer.subarray(this.#at), ...this.#full.toReversed()];
  }

  result(): Uint8Array {
    return this.#full.length === 0 ? this.#buffer.subarray(this.#at) : Buffer.concat(this.pieces());
  }

  /** The capacity of the current buffer. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** Discards the written bytes and reuses the buffer. */
  reset(): void {
    this.#at = this.#buffer.length;
    this.#full = [];
    this.#fullBytes = 0;
  }

  /** Copies the written bytes to the start of a buffer of at least their length. */
  copyTo(target: Uint8Array): void {
    let at = 0;
    for (const piece of this.pieces()) {
      target.set(piece, at);
      at += piece.length;
    }
  }

  bytes(content: Uint8Array): void {
    this.#reserve(content.length);
    this.#buffer.set(content, this.#at);
  }

  integer(value: number | bigint, number: number): void {
    this.varint(value);
    this.varint(number * 8 + VARINT);
  }

  double(value: number, number: number): void {
    this.float64(value);
    this.varint(number * 8 + FIXED64);
  }

  text(value: string, number: number): void {
    const end = this.length;
    this.characters(value);
    this.close(number, end);
  }

  /** Eight bytes without a tag, as the four of `float32`. */
  float64(value: number): void {
    this.#reserve(8);
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  float32(value: number): void {
    this.#reserve(4);
    this.#buffer.writeFloatLE(value, this.#at);
  }

  /** The bytes of a text, without its length and its tag. */
  characters(value: string): void {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return;
    this.#reserve(Buffer.byteLength(value));
    this.#buffer.write(value, this.#at, 'utf8');
  }

  content(value: Uint8Array, number: number): void {
    this.bytes(value);
    this.varint(value.length);
    this.varint(number * 8 + LENGTH);
  }

  /** Makes a field of everything that was written since the writer had that length. */
  close(number: number, end: number): void {
    this.varint(this.length - end);
    this.varint(number * 8 + LENGTH);
  }

  /** False, and nothing is written, where a character is not ASCII. */
  #ascii(value: string): boolean {
    this.#reserve(value.length);
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) {
        this.#at += value.length;
        return false;
      }
      this.#buffer[this.#at + index] = code;
    }
    return true;
  }

  /** A number without a tag; a negative one takes ten bytes. */
  varint(value: number | bigint): void {
    if (typeof value !== 'number' || value < 0 || value > 0x7fffffff) {
      this.#longVarint(value);
      return;
    }
    // The bits that decide how many groups of seven there are.
    const groups = value < 0x80 ? 1 : Math.ceil((32 - Math.clz32(value)) / 7);
    this.#reserve(groups);
    let left = value;
    for (let index = 0; index < groups - 1; index += 1, left >>>= 7) this.#buffer[this.#at + index] = left | 0x80;
    this.#buffer[this.#at + groups - 1] = left;
  }

  #longVarint(value: number | bigint): void {
    const groups: number[] = [];
    const whole = BigInt(Math.trunc(Number(value)) === Number(value) ? value : 0);
    for (let left = BigInt.asUintN(64, whole); ; left >>= 7n) {
      groups.push(Number(left & 0x7fn));
      if (left < 0x80n) break;
    }
    this.#reserve(groups.length);
    const last = groups.length - 1;
    for (const [index, group] of groups.entries()) this.#buffer[this.#at + index] = index < last ? group | 0x80 : group;
  }

  /** Reserves space before the written bytes, and moves there. */
  #reserve(length: number): void {
    if (length > this.#at) {
      this.#fullBytes += this.#buffer.length - this.#at;
      this.#full.push(this.#buffer.subarray(this.#at));
      this.#buffer = Buffer.allocUnsafe(Math.max(length, Math.min(4 * this.#buffer.length, PIECE_BYTES)));
      this.#at = this.#buffer.length;
    }
    this.#at -= length;
  }
}
