/**
 * Writes protobuf from the end to the start: when the length of a nested message is needed, its bytes are already there, so
 * nothing is measured first and nothing is moved.
 */
export class Writer {
  #buffer: Buffer;
  #at: number;

  constructor(capacity = 4096) {
    this.#buffer = Buffer.allocUnsafe(capacity);
    this.#at = capacity;
  }

  /** Number of bytes that are written. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  get capacity(): number {
    return this.#buffer.length;
  }

  /** What is written, without a copy: it holds until the writer is used again, and the writer is empty afterwards. */
  view(): Uint8Array {
    const bytes = this.#buffer.subarray(this.#at);
    this.#at = this.#buffer.length;
    return bytes;
  }

  /** A copy of what is written; the writer is empty afterwards. */
  take(): Buffer {
    const bytes = allocateKept(this.length);
    this.#buffer.copy(bytes, 0, this.#at);
    this.#at = this.#buffer.length;
    return bytes;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  text(text: string): void {
    const { length } = text;
    if (length < 48) {
      this.#reserve(length);
      let at = this.#at;
      let index = length;
      while (index > 0) {
        const code = text.charCodeAt(index - 1);
        if (code > 0x7f) break;
        index -= 1;
        at -= 1;
        this.#buffer[at] = code;
      }
      if (index === 0) {
        this.#at = at;
        return;
      }
    }
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#buffer.write(text, this.#at, size, 'utf8');
  }

  varint(value: number): void {
    if (value < 0 || value > 0x7fff_ffff) {
      this.#bigVarint(BigInt.asUintN(64, BigInt(value)));
      return;
    }
    const size = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
    this.#reserve(size);
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) {
      this.#buffer[at] = (rest & 0x7f) | 0x80;
      at += 1;
    }
    this.#buffer[at] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#at -= 4;
    this.#buffer.writeFloatLE(value, this.#at);
  }

  #bigVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.bytes(Uint8Array.from(bytes));
  }

  #reserve(size: number): void {
    if (this.#at >= size) return;
    const { length } = this;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, length + size));
    this.#buffer.copy(grown, grown.length - length, this.#at);
    this.#at = grown.length - length;
    this.#buffer = grown;
  }
}

/** Small ones share slabs: each buffer of its own costs the collector more than its bytes. */
const SLAB = 65_536;
const SMALL = 4096;
let slab = Buffer.alloc(0);
let used = 0;

/** A buffer of a slab that has nothing in it but what is kept: those that Node.js shares are mostly full of what is not. */
function allocateKept(length: number): Buffer {
  if (length > SMALL) return Buffer.allocUnsafeSlow(length);
  if (used + length > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB);
    used = 0;
  }
  used += length;
  return slab.subarray(used - length, used);
}

const idle: Writer[] = [];
/** A writer that has grown beyond this is not kept. */
const MAX_KEPT = 1024 * 1024;

/** Lends a writer; calls may be nested. */
export function withWriter(write: (writer: Writer) => void): Buffer {
  const writer = idle.pop() ?? new Writer();
  write(writer);
  const isKept = writer.capacity <= MAX_KEPT;
  const bytes = writer.take();
  if (isKept) idle.push(writer);
  return bytes;
}

/** The same for bytes that are checked once and not kept: they are not copied. */
export function withWritten<T>(write: (writer: Writer) => void, look: (bytes: Uint8Array) => T): T {
  const writer = idle.pop() ?? new Writer();
  write(writer);
  const isKept = writer.capacity <= MAX_KEPT;
  const found = look(writer.view());
  if (isKept) idle.push(writer);
  return found;
}
