/** Enough for most objects. */
const FIRST_BYTES = 4096;
const PIECE_BYTES = 256 * 1024;
/** Up to here, writing characters one by one takes less time than a call of Buffer's. */
const SHORT_TEXT = 48;
const [VARINT, FIXED64, LENGTH] = [0, 1, 2];

/**
 * Writes the protobuf wire format from its end to its beginning: fields that come last are written first. What is written stays where it
 * is: a long message is a list of pieces.
 */
export class BackwardWriter {
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

  bytes(content: Uint8Array): void {
    this.#reserve(content.length);
    this.#buffer.set(content, this.#at);
  }

  integer(value: number | bigint, number: number): void {
    this.#varint(value);
    this.#varint(number * 8 + VARINT);
  }

  double(value: number, number: number): void {
    this.#reserve(8);
    this.#buffer.writeDoubleLE(value, this.#at);
    this.#varint(number * 8 + FIXED64);
  }

  text(value: string, number: number): void {
    const end = this.length;
    if (value.length > SHORT_TEXT || !this.#ascii(value)) {
      this.#reserve(Buffer.byteLength(value));
      this.#buffer.write(value, this.#at, 'utf8');
    }
    this.close(number, end);
  }

  content(value: Uint8Array, number: number): void {
    this.bytes(value);
    this.#varint(value.length);
    this.#varint(number * 8 + LENGTH);
  }

  /** Makes a field of everything that was written since the writer had that length. */
  close(number: number, end: number): void {
    this.#varint(this.length - end);
    this.#varint(number * 8 + LENGTH);
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

  #varint(value: number | bigint): void {
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

  /** Makes room before what is written, and moves there. */
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
