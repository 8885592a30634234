// The messages of NAT discovery, which are the original's: protocol buffers with these fields (natdiscovery.proto).
//
//   Message   { int32 version = 1; oneof { Request request = 2; Response response = 3; } }
//   Request   { uint64 request_number = 1; Party sender = 2, receiver = 3; Address using_src = 4, using_dst = 5; }
//   Response  { uint64 request_number = 1; enum response = 2; Party sender = 3, receiver = 4;
//               bool src_ip_nat_detected = 5, src_port_nat_detected = 6, dst_ip_nat_detected = 7; Address received_src = 8; }
//   Party     { string cluster_id = 1; string endpoint_id = 2; }
//   Address   { string IP = 1; int32 port = 2; }

export const RESULTS = ['OK', 'NAT_DETECTED', 'UNKNOWN_DST_CLUSTER', 'UNKNOWN_DST_ENDPOINT', 'MALFORMED'] as const;
export type DiscoveryResult = (typeof RESULTS)[number];

export interface Party {
  readonly clusterID: string;
  readonly endpointID: string;
}

export interface PeerAddress {
  readonly ip: string;
  readonly port: number;
}

export interface DiscoveryRequest {
  readonly type: 'request';
  readonly number: bigint;
  readonly sender?: Party | undefined;
  readonly receiver?: Party | undefined;
  readonly usingSource?: PeerAddress | undefined;
  readonly usingDestination?: PeerAddress | undefined;
}

export interface DiscoveryResponse {
  readonly type: 'response';
  readonly number: bigint;
  readonly result: DiscoveryResult;
  readonly sender?: Party | undefined;
  readonly receiver?: Party | undefined;
  readonly isSourceTranslated: boolean;
  readonly isSourcePortTranslated: boolean;
  readonly isDestinationTranslated: boolean;
  readonly receivedSource?: PeerAddress | undefined;
}

export type DiscoveryMessage = DiscoveryRequest | DiscoveryResponse;

const VERSION = 1;

export function encodeMessage(message: DiscoveryMessage): Buffer {
  const body = message.type === 'request' ? encodeRequest(message) : encodeResponse(message);
  return Buffer.concat([number(1, BigInt(VERSION)), bytes(message.type === 'request' ? 2 : 3, body)]);
}

/** Undefined for what is no such message. */
export function decodeMessage(data: Uint8Array): DiscoveryMessage | undefined {
  try {
    const fields = decodeFields(data);
    const [request, response] = [fields.get(2), fields.get(3)];
    if (request instanceof Uint8Array) return decodeRequest(decodeFields(request));
    if (response instanceof Uint8Array) return decodeResponse(decodeFields(response));
    return undefined;
  } catch {
    return undefined;
  }
}

function encodeRequest({ number: id, sender, receiver, usingSource, usingDestination }: DiscoveryRequest): Buffer {
  return Buffer.concat([
    number(1, id),
    party(2, sender),
    party(3, receiver),
    address(4, usingSource),
    address(5, usingDestination),
  ]);
}

function encodeResponse(response: DiscoveryResponse): Buffer {
  return Buffer.concat([
    number(1, response.number),
    number(2, BigInt(RESULTS.indexOf(response.result))),
    party(3, response.sender),
    party(4, response.receiver),
    number(5, BigInt(response.isSourceTranslated)),
    number(6, BigInt(response.isSourcePortTranslated)),
    number(7, BigInt(response.isDestinationTranslated)),
    address(8, response.receivedSource),
  ]);
}

function decodeRequest(fields: Fields): DiscoveryRequest {
  return {
    type: 'request',
    number: numberOf(fields.get(1)),
    sender: partyOf(fields.get(2)),
    receiver: partyOf(fields.get(3)),
    usingSource: addressOf(fields.get(4)),
    usingDestination: addressOf(fields.get(5)),
  };
}

function decodeResponse(fields: Fields): DiscoveryResponse {
  return {
    type: 'response',
    number: numberOf(fields.get(1)),
    result: RESULTS[Number(numberOf(fields.get(2)))] ?? 'MALFORMED',
    sender: partyOf(fields.get(3)),
    receiver: partyOf(fields.get(4)),
    isSourceTranslated: numberOf(fields.get(5)) !== 0n,
    isSourcePortTranslated: numberOf(fields.get(6)) !== 0n,
    isDestinationTranslated: numberOf(fields.get(7)) !== 0n,
    receivedSource: addressOf(fields.get(8)),
  };
}

function party(field: number, given: Party | undefined): Buffer {
  if (given === undefined) return EMPTY;
  return bytes(field, Buffer.concat([text(1, given.clusterID), text(2, given.endpointID)]));
}

function address(field: number, given: PeerAddress | undefined): Buffer {
  return given === undefined ? EMPTY : bytes(field, Buffer.concat([text(1, given.ip), number(2, BigInt(given.port))]));
}

const EMPTY = Buffer.alloc(0);

/** A field of its default value is left out. */
function number(field: number, value: bigint): Buffer {
  return value === 0n ? EMPTY : Buffer.concat([varint(BigInt(field << 3)), varint(value)]);
}

function text(field: number, value: string): Buffer {
  return value === '' ? EMPTY : bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(BigInt((field << 3) | 2)), varint(BigInt(value.length)), value]);
}

function varint(value: bigint): Buffer {
  const result: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 127n; rest >>= 7n) result.push(Number(rest & 127n) | 128);
  result.push(Number(rest));
  return Buffer.from(result);
}

type Fields = ReadonlyMap<number, bigint | Uint8Array>;

/** The last value of each field, as the format has it. */
function decodeFields(data: Uint8Array): Fields {
  const fields = new Map<number, bigint | Uint8Array>();
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = data[at++];
      if (byte === undefined || shift > 63n) throw new RangeError('a number that does not end');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => {
    if (at + length > data.length) throw new RangeError('a field that is longer than its message');
    const part = data.subarray(at, at + length);
    at += length;
    return part;
  };
  while (at < data.length) {
    const tag = Number(readVarint());
    const type = tag & 7;
    if (type === 0) fields.set(tag >> 3, readVarint());
    else if (type === 2) fields.set(tag >> 3, take(Number(readVarint())));
    else if (type === 1 || type === 5) take(type === 1 ? 8 : 4);
    else throw new RangeError(`a field of the unknown type ${type}`);
  }
  return fields;
}

function numberOf(value: bigint | Uint8Array | undefined): bigint {
  return typeof value === 'bigint' ? value : 0n;
}

function textOf(value: bigint | Uint8Array | undefined): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : '';
}

function partyOf(value: bigint | Uint8Array | undefined): Party | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const fields = decodeFields(value);
  return { clusterID: textOf(fields.get(1)), endpointID: textOf(fields.get(2)) };
}

function addressOf(value: bigint | Uint8Array | undefined): PeerAddress | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const fields = decodeFields(value);
  return { ip: textOf(fields.get(1)), port: Number(numberOf(fields.get(2))) };
}
