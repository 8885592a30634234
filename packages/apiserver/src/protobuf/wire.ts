// The protobuf wire format: a message is a sequence of fields, each a number, a wire type and a value.

export interface WireField {
  number: number;
  /** A varint (and the fixed sizes) as a number, or the bytes of a string, of bytes or of a message. */
  value: bigint | Uint8Array;
  /** Of a fixed64, its bytes are those of a double. */
  isFixed: boolean;
}

/** Bytes that are no message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Reads the fields in the order in which they stand. */
export function* readFields(bytes: Uint8Array): Generator<WireField> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new WireError('unexpected EOF');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError('integer overflow');
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new WireError('unexpected EOF');
    at += length;
    return bytes.subarray(at - length, at);
  };

  while (at < bytes.length) {
    const tag = varint();
    const number = Number(tag >> 3n);
    if (number < 1 || number > MAX_FIELD) throw new WireError(`illegal tag ${number}`);
    switch (Number(tag & 7n)) {
      case 0:
        yield { number, value: varint(), isFixed: false };
        break;
      case 1:
        take(8);
        yield { number, value: view.getBigUint64(at - 8, true), isFixed: true };
        break;
      case 2: {
        const length = varint();
        if (length > BigInt(bytes.length)) throw new WireError('unexpected EOF');
        yield { number, value: take(Number(length)), isFixed: false };
        break;
      }
      case 5:
        take(4);
        yield { number, value: BigInt(view.getUint32(at - 4, true)), isFixed: true };
        break;
      default:
        throw new WireError(`illegal wireType ${Number(tag & 7n)}`);
    }
  }
}

const MAX_FIELD = 2 ** 29 - 1;
