// Distinguished Encoding Rules (X.690), writing only: as much as certificates need. Each function gives the complete
// encoding (tag, length, content) of one value.

export type Der = Buffer;

export const UNIVERSAL = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, oid: 0x06 } as const;

export function sequence(...parts: readonly Der[]): Der {
  return encode(0x30, Buffer.concat(parts));
}

/** DER wants the members of a SET in ascending order of their encodings. */
export function set(...parts: readonly Der[]): Der {
  return encode(0x31, Buffer.concat([...parts].sort(Buffer.compare)));
}

export function boolean(value: boolean): Der {
  return encode(UNIVERSAL.boolean, Buffer.from([value ? 0xff : 0x00]));
}

export function smallInteger(value: number): Der {
  return integer(Buffer.from([value]));
}

/** An unsigned integer, big-endian: leading zeros go, and one comes back where the first bit would mean "negative". */
export function integer(bytes: Buffer): Der {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const trimmed = bytes.subarray(start);
  const isNegative = (trimmed[0] ?? 0) >= 0x80;
  return encode(UNIVERSAL.integer, isNegative ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed);
}

export function bitString(bytes: Buffer, unusedBits = 0): Der {
  return encode(UNIVERSAL.bitString, Buffer.concat([Buffer.from([unusedBits]), bytes]));
}

/** Named bits, the first being bit 0: trailing zeros are left out, as DER wants it. */
export function namedBits(bits: readonly number[]): Der {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const bit of bits) {
    const index = Math.floor(bit / 8);
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (bit % 8));
  }
  return bitString(bytes, 7 - (last % 8));
}

export function octetString(bytes: Buffer): Der {
  return encode(UNIVERSAL.octetString, bytes);
}

export function nothing(): Der {
  return encode(0x05, Buffer.alloc(0));
}

export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encode(UNIVERSAL.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function utf8(text: string): Der {
  return encode(0x0c, Buffer.from(text, 'utf8'));
}

/** UTCTime through 2049, GeneralizedTime from then on (RFC 5280, 4.1.2.5); whole seconds. */
export function time(date: Date): Der {
  const digits = date.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return date.getUTCFullYear() < 2050
    ? encode(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : encode(0x18, Buffer.from(`${digits}Z`));
}

/** `[n]` around complete values. */
export function explicit(tag: number, ...parts: readonly Der[]): Der {
  return encode(0xa0 | tag, Buffer.concat(parts));
}

/** `[n]` in place of a primitive value's own tag. */
export function implicit(tag: number, content: Buffer): Der {
  return encode(0x80 | tag, content);
}

function encode(tag: number, content: Buffer): Der {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest % 128) | 0x80);
  return bytes;
}
