const FIRST_BYTES = 1024;
const [VARINT, FIXED64, LENGTH] = [0, 1, 2];

/** Writes the protobuf wire format from its end to its beginning: fields that come last are written first. */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = FIRST_BYTES;

  result(): Uint8Array {
    return this.#buffer.subarray(this.#at);
  }

  bytes(content: Uint8Array): void {
    this.#reserve(content.length);
    this.#buffer.set(content, this.#at);
  }

  integer(value: number | bigint, number: number): void {
    this.#varint(value);
    this.#tag(number, VARINT);
  }

  double(value: number, number: number): void {
    this.#reserve(8);
    this.#buffer.writeDoubleLE(value, this.#at);
    this.#tag(number, FIXED64);
  }

  text(value: string, number: number): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#buffer.write(value, this.#at, 'utf8');
    this.#varint(length);
    this.#tag(number, LENGTH);
  }

  content(value: Uint8Array, number: number): void {
    this.bytes(value);
    this.#varint(value.length);
    this.#tag(number, LENGTH);
  }

  /** A field whose content is what `write` writes. */
  nested(number: number, write: () => void): void {
    const before = this.#buffer.length - this.#at;
    write();
    this.#varint(this.#buffer.length - this.#at - before);
    this.#tag(number, LENGTH);
  }

  #tag(number: number, type: number): void {
    this.#varint(number * 8 + type);
  }

  #varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value < 0x80) {
      this.#reserve(1);
      this.#buffer[this.#at] = value;
      return;
    }
    const groups: number[] = [];
    if (typeof value === 'number' && value >= 0 && value <= 0x7fffffff) {
      for (let left = value; ; left >>>= 7) {
        groups.push(left & 0x7f);
        if (left < 0x80) break;
      }
    } else {
      for (
        let left = BigInt.asUintN(64, BigInt(Math.trunc(Number(value)) === Number(value) ? value : 0));
        ;
        left >>= 7n
      ) {
        groups.push(Number(left & 0x7fn));
        if (left < 0x80n) break;
      }
    }
    this.#reserve(groups.length);
    const last = groups.length - 1;
    for (const [index, group] of groups.entries()) this.#buffer[this.#at + index] = index < last ? group | 0x80 : group;
  }

  /** Makes room before what is written, and moves there. */
  #reserve(length: number): void {
    if (length > this.#at) {
      const written = this.#buffer.length - this.#at;
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, written + length + FIRST_BYTES));
      this.#buffer.copy(larger, larger.length - written, this.#at);
      this.#buffer = larger;
      this.#at = larger.length - written;
    }
    this.#at -= length;
  }
}
