// The protobuf wire format: a message is a sequence of fields, each a number, a wire type and a value.

/** Bytes that are no message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

const [VARINT, FIXED64, LENGTH, FIXED32] = [0, 1, 2, 5];
const MAX_FIELD = 2 ** 29 - 1;
const VARINT_BYTES = 10;
/** The length of the longest varint that a number holds exactly. */
const EXACT_BYTES = 7;
/** Up to here, reading bytes one by one takes less time than a call of the decoder. */
const SHORT_TEXT = 48;

/** Limits that a message and all that is in it share: bytes of clients must exhaust neither the stack nor the memory. */
export interface WireLimits {
  /** Messages within messages. */
  readonly depth: number;
  /** Fields and items of lists. */
  readonly fields: number;
}

/** Fields that may still follow in a message with limits. */
interface Budget {
  readonly limits: WireLimits;
  fields: number;
}

/** The fields of a message one after the other: `next` moves to a field, the other methods read its value. */
export class WireReader {
  /** The number of the field. */
  number = 0;
  #type = VARINT;
  readonly #bytes: Buffer;
  readonly #end: number;
  /** Where the next field begins. */
  #at: number;
  /** Where the value begins and ends. */
  #from = 0;
  #to = 0;
  /** The value of a varint of few bytes. */
  #varint = 0;

  #depth = 0;
  #budget: Budget | undefined;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = from;
    this.#end = to;
  }

  /** Creates a reader that refuses messages beyond the limits. Other readers have none. */
  static limited(bytes: Uint8Array, limits: WireLimits): WireReader {
    const reader = new WireReader(bytes);
    reader.#budget = { limits, fields: limits.fields };
    return reader;
  }

  /** False at the end of the message. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    this.#count();
    this.#readVarint();
    this.#type = this.#varint % 8;
    this.number = (this.#varint - this.#type) / 8;
    if (this.number < 1 || this.number > MAX_FIELD) throw new WireError(`illegal tag ${this.number}`);
    switch (this.#type) {
      case VARINT:
        this.#readVarint();
        break;
      case FIXED64:
        this.#take(8);
        break;
      case LENGTH:
        this.#readVarint();
        this.#take(this.#varint);
        break;
      case FIXED32:
        this.#take(4);
        break;
      default:
        throw new WireError(`illegal wireType ${this.#type}`);
    }
    return true;
  }

  /** Whether the value is a sequence of bytes: a text, a message or packed numbers. */
  get isBytes(): boolean {
    return this.#type === LENGTH;
  }

  /** Zero where the value is no varint. */
  integer(): number {
    if (this.#type !== VARINT) return 0;
    return this.#to - this.#from > EXACT_BYTES ? Number(this.bigint()) : this.#varint;
  }

  /** The same with all of its 64 bits. */
  bigint(): bigint {
    if (this.#type !== VARINT) return 0n;
    let value = 0n;
    for (let at = this.#to - 1; at >= this.#from; at -= 1) value = (value << 7n) | BigInt(this.#byte(at) & 0x7f);
    return BigInt.asIntN(64, value);
  }

  double(): number {
    return this.#type === FIXED64 ? this.#bytes.readDoubleLE(this.#from) : 0;
  }

  float(): number {
    return this.#type === FIXED32 ? this.#bytes.readFloatLE(this.#from) : 0;
  }

  /** Numbers of a list that share a field. */
  packed(): number[] {
    const numbers: number[] = [];
    const packed = this.message();
    while (packed.#at < packed.#end) {
      packed.#count();
      packed.#readVarint();
      numbers.push(packed.integer());
    }
    return numbers;
  }

  get isEmpty(): boolean {
    return this.#from === this.#to;
  }

  /** The fields of the message that is the value. */
  message(): WireReader {
    this.#expectBytes();
    return this.#inner(this.#bytes, this.#from, this.#to);
  }

  /** The fields of a message in bytes that belong to this one, and share its limits. */
  within(bytes: Uint8Array): WireReader {
    return this.#inner(bytes, 0, bytes.length);
  }

  /** The bytes themselves, without a copy. */
  bytes(): Buffer {
    this.#expectBytes();
    return this.#bytes.subarray(this.#from, this.#to);
  }

  base64(): string {
    this.#expectBytes();
    return this.#bytes.toString('base64', this.#from, this.#to);
  }

  text(): string {
    this.#expectBytes();
    if (this.#to - this.#from <= SHORT_TEXT && this.#isAscii()) {
      return this.#bytes.toString('latin1', this.#from, this.#to);
    }
    try {
      return UTF8.decode(this.#bytes.subarray(this.#from, this.#to));
    } catch {
      throw new WireError('a string is not UTF-8');
    }
  }

  #inner(bytes: Uint8Array, from: number, to: number): WireReader {
    const reader = new WireReader(bytes, from, to);
    reader.#depth = this.#depth + 1;
    reader.#budget = this.#budget;
    const most = this.#budget?.limits.depth;
    if (most !== undefined && reader.#depth > most)
      throw new WireError(`the message is nested more than ${most} levels deep`);
    return reader;
  }

  #count(): void {
    const budget = this.#budget;
    if (!budget) return;
    budget.fields -= 1;
    if (budget.fields < 0) throw new WireError(`the message has more than ${budget.limits.fields} fields`);
  }

  #isAscii(): boolean {
    for (let at = this.#from; at < this.#to; at += 1) if (this.#byte(at) >= 0x80) return false;
    return true;
  }

  #expectBytes(): void {
    if (!this.isBytes) throw new WireError(`wrong wireType for field ${this.number}`);
  }

  #byte(at: number): number {
    return this.#bytes[at] ?? 0;
  }

  #readVarint(): void {
    this.#from = this.#at;
    let value = 0;
    for (let factor = 1; this.#at < this.#end; factor *= 0x80) {
      const byte = this.#byte(this.#at);
      this.#at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        this.#varint = value;
        this.#to = this.#at;
        return;
      }
      if (this.#at - this.#from === VARINT_BYTES) throw new WireError('integer overflow');
    }
    throw new WireError('unexpected EOF');
  }

  #take(length: number): void {
    if (length > this.#end - this.#at) throw new WireError('unexpected EOF');
    this.#from = this.#at;
    this.#at += length;
    this.#to = this.#at;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
