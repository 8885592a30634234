// The messages of NAT discovery, which are the original's: protocol buffers with these fields (natdiscovery.proto).
//
//   Message   { int32 version = 1; oneof { Request request = 2; Response response = 3; } }
//   Request   { uint64 request_number = 1; Party sender = 2, receiver = 3; Address using_src = 4, using_dst = 5; }
//   Response  { uint64 request_number = 1; enum response = 2; Party sender = 3, receiver = 4;
//               bool src_ip_nat_detected = 5, src_port_nat_detected = 6, dst_ip_nat_detected = 7; Address received_src = 8; }
//   Party     { string cluster_id = 1; string endpoint_id = 2; }
//   Address   { string IP = 1; int32 port = 2; }

import { WireError, WireReader, type WireWriter, withWriter } from '@capstan/kube/protobuf';

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
  return withWriter((out) => {
    // Fields that come last are written first.
    const end = out.length;
    if (message.type === 'request') writeRequest(out, message);
    else writeResponse(out, message);
    out.close(message.type === 'request' ? 2 : 3, end);
    out.integer(VERSION, 1);
  });
}

/** Returns undefined for data that is no such message. */
export function decodeMessage(data: Uint8Array): DiscoveryMessage | undefined {
  try {
    const message = WireReader.limited(data, LIMITS);
    let found: DiscoveryMessage | undefined;
    while (message.next()) {
      if (message.number === 2 && message.isBytes) found = readRequest(message.message());
      else if (message.number === 3 && message.isBytes && found?.type !== 'request')
        found = readResponse(message.message());
    }
    return found;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The limits of a datagram: the messages have three levels and few fields. */
const LIMITS = { depth: 8, fields: 1000 };

function writeRequest(out: WireWriter, { number, sender, receiver, ...given }: DiscoveryRequest): void {
  writeAddress(out, 5, given.usingDestination);
  writeAddress(out, 4, given.usingSource);
  writeParty(out, 3, receiver);
  writeParty(out, 2, sender);
  writeNumber(out, 1, number);
}

function writeResponse(out: WireWriter, response: DiscoveryResponse): void {
  writeAddress(out, 8, response.receivedSource);
  writeNumber(out, 7, BigInt(response.isDestinationTranslated));
  writeNumber(out, 6, BigInt(response.isSourcePortTranslated));
  writeNumber(out, 5, BigInt(response.isSourceTranslated));
  writeParty(out, 4, response.receiver);
  writeParty(out, 3, response.sender);
  writeNumber(out, 2, BigInt(RESULTS.indexOf(response.result)));
  writeNumber(out, 1, response.number);
}

function writeParty(out: WireWriter, field: number, given: Party | undefined): void {
  if (given === undefined) return;
  const end = out.length;
  writeText(out, 2, given.endpointID);
  writeText(out, 1, given.clusterID);
  out.close(field, end);
}

function writeAddress(out: WireWriter, field: number, given: PeerAddress | undefined): void {
  if (given === undefined) return;
  const end = out.length;
  writeNumber(out, 2, BigInt(given.port));
  writeText(out, 1, given.ip);
  out.close(field, end);
}

/** A field of its default value is left out. */
function writeNumber(out: WireWriter, field: number, value: bigint): void {
  if (value !== 0n) out.integer(value, field);
}

function writeText(out: WireWriter, field: number, value: string): void {
  if (value !== '') out.text(value, field);
}

function readRequest(fields: WireReader): DiscoveryRequest {
  let request: DiscoveryRequest = {
    type: 'request',
    number: 0n,
    sender: undefined,
    receiver: undefined,
    usingSource: undefined,
    usingDestination: undefined,
  };
  while (fields.next()) {
    if (fields.number === 1) request = { ...request, number: readNumber(fields) };
    else if (!fields.isBytes) continue;
    else if (fields.number === 2) request = { ...request, sender: readParty(fields.message()) };
    else if (fields.number === 3) request = { ...request, receiver: readParty(fields.message()) };
    else if (fields.number === 4) request = { ...request, usingSource: readAddress(fields.message()) };
    else if (fields.number === 5) request = { ...request, usingDestination: readAddress(fields.message()) };
  }
  return request;
}

function readResponse(fields: WireReader): DiscoveryResponse {
  let response: DiscoveryResponse = {
    type: 'response',
    number: 0n,
    result: RESULTS[0],
    sender: undefined,
    receiver: undefined,
    isSourceTranslated: false,
    isSourcePortTranslated: false,
    isDestinationTranslated: false,
    receivedSource: undefined,
  };
  while (fields.next()) {
    const isSet = readNumber(fields) !== 0n;
    if (fields.number === 1) response = { ...response, number: readNumber(fields) };
    else if (fields.number === 2)
      response = { ...response, result: RESULTS[Number(readNumber(fields))] ?? 'MALFORMED' };
    else if (fields.number === 5) response = { ...response, isSourceTranslated: isSet };
    else if (fields.number === 6) response = { ...response, isSourcePortTranslated: isSet };
    else if (fields.number === 7) response = { ...response, isDestinationTranslated: isSet };
    else if (!fields.isBytes) continue;
    else if (fields.number === 3) response = { ...response, sender: readParty(fields.message()) };
    else if (fields.number === 4) response = { ...response, receiver: readParty(fields.message()) };
    else if (fields.number === 8) response = { ...response, receivedSource: readAddress(fields.message()) };
  }
  return response;
}

function readParty(fields: WireReader): Party {
  let [clusterID, endpointID] = ['', ''];
  while (fields.next()) {
    if (fields.number === 1 && fields.isBytes) clusterID = fields.text();
    else if (fields.number === 2 && fields.isBytes) endpointID = fields.text();
  }
  return { clusterID, endpointID };
}

function readAddress(fields: WireReader): PeerAddress {
  let [ip, port] = ['', 0];
  while (fields.next()) {
    if (fields.number === 1 && fields.isBytes) ip = fields.text();
    else if (fields.number === 2) port = fields.integer();
  }
  return { ip, port };
}

/** Numbers of requests have no sign and up to 64 bits. */
function readNumber(field: WireReader): bigint {
  return BigInt.asUintN(64, field.bigint());
}
