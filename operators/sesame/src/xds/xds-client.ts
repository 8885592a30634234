// A client of the xDS protocol, for `sesame cli` and for tests: one connection, any number of streams.
import type { IncomingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { WireReader } from '@capstan/kube/protobuf';
import { decode, type Envoy, encode, type Struct, typeUrl } from '../envoy/index.ts';
import type { DiscoveryMethod } from './discovery-stream.ts';
import { discoveryPath } from './xds-server.ts';

export interface XdsClientOptions {
  readonly host: string;
  readonly port: number;
  readonly nodeId: string;
  /** Metadata of the node, as a bootstrap has it. */
  readonly metadata?: Struct | undefined;
  readonly tls?: { readonly ca: Buffer | string; readonly cert: Buffer | string; readonly key: Buffer | string };
}

export interface XdsResponse {
  readonly version: string;
  readonly nonce: string;
  readonly typeUrl: string;
  /** Decoded, by name. */
  readonly resources: ReadonlyMap<string, ReceivedResource>;
  /** The version of each resource of a delta response. */
  readonly versions: Readonly<Record<string, string>>;
  readonly removed: readonly string[];
  /** The name that the server gives itself; empty when it gives none. */
  readonly controlPlane: string;
  /** The size of the whole message. */
  readonly size: number;
}

/** A resource as it was sent, with the URL of its type: this client takes resources of every type. */
export type ReceivedResource = { readonly [field: string]: unknown };

/** The fields of both kinds of requests. */
export type XdsRequest = Envoy.DiscoveryRequest & Envoy.DeltaDiscoveryRequest;

export interface XdsStream {
  /** The next response; rejects when the stream ends first. */
  next(): Promise<XdsResponse>;
  /** Responses that are there and not taken by `next`. */
  readonly pending: number;
  /** Sends a request, which may be an answer to a response. */
  request(request: XdsRequest): void;
  /** Accepts a response. */
  ack(response: XdsResponse, names?: readonly string[]): void;
  nack(response: XdsResponse, message: string, names?: readonly string[]): void;
  /** Stops reading, as a slow client does. */
  pause(): void;
  resume(): void;
  close(): void;
}

export interface XdsClient {
  open(method: DiscoveryMethod): XdsStream;
  /** Resolves when the server has read everything that was sent, and its earlier messages have arrived. */
  roundTrip(): Promise<void>;
  close(): Promise<void>;
}

export function connectXds({ host, port, nodeId, metadata, tls }: XdsClientOptions): XdsClient {
  const authority = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const settings = { settings: { initialWindowSize: 1024 * 1024 }, maxSessionMemory: 1024 };
  const session = connect(
    authority,
    tls ? { ...settings, ...tls, servername: 'sesame', minVersion: 'TLSv1.3' } : settings,
  );
  let failure: Error | undefined;
  let isClosed = false;
  session.on('error', (error: Error) => {
    failure = error;
  });
  session.on('close', () => {
    isClosed = true;
  });
  return {
    open: (method) => openStream(session, method, { id: nodeId, user_agent_name: 'sesame', metadata }, () => failure),
    roundTrip: () =>
      new Promise((resolve, reject) => session.ping((error) => (error ? reject(error) : setImmediate(resolve)))),
    close: () =>
      new Promise((resolve) => {
        // It may have ended by itself, and does not say so twice.
        if (isClosed) return resolve();
        session.on('close', () => resolve());
        session.destroy();
      }),
  };
}

function openStream(
  session: ClientHttp2Session,
  method: DiscoveryMethod,
  identity: Envoy.Node,
  failureOf: () => Error | undefined,
): XdsStream {
  const stream: ClientHttp2Stream = session.request({
    ':method': 'POST',
    ':path': discoveryPath(method),
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const kind = method.isDelta ? 'Delta' : '';
  const ready: XdsResponse[] = [];
  const waiting: { resolve(response: XdsResponse): void; reject(error: Error): void }[] = [];
  let buffered: Buffer[] = [];
  let length = 0;
  let isFirst = true;
  let ended: Error | undefined;

  const end = (error: Error) => {
    ended ??= failureOf() ?? error;
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  const deliver = (response: XdsResponse) => {
    const waiter = waiting.shift();
    if (waiter) waiter.resolve(response);
    else ready.push(response);
  };
  stream.on('data', (chunk: Buffer) => {
    buffered.push(chunk);
    length += chunk.length;
    while (length >= 5) {
      const [first] = buffered;
      if (first === undefined || (first.length < 5 && buffered.length > 1)) buffered = [Buffer.concat(buffered)];
      const size = (buffered[0] as Buffer).readUInt32BE(1);
      if (length < size + 5) break;
      const all = buffered.length === 1 ? (buffered[0] as Buffer) : Buffer.concat(buffered);
      const rest = all.subarray(5 + size);
      buffered = rest.length > 0 ? [rest] : [];
      length = rest.length;
      deliver(readResponse(all.subarray(5, 5 + size), kind));
    }
  });
  const failed = (headers: IncomingHttpHeaders) => {
    const { 'grpc-status': status, 'grpc-message': message } = headers;
    if (typeof status !== 'string' || status === '0') return;
    end(new Error(`gRPC status ${status}: ${typeof message === 'string' ? decodeURIComponent(message) : ''}`));
  };
  stream.on('response', failed);
  stream.on('trailers', failed);
  stream.on('error', (error: Error) => end(error));
  stream.on('close', () => end(new Error('the stream has ended')));

  const request = (message: XdsRequest) => {
    const node = isFirst ? { node: identity } : {};
    isFirst = false;
    const type = message.type_url === undefined && method.type ? { type_url: typeUrl(method.type) } : {};
    const body = encode(`envoy.service.discovery.v3.${kind}DiscoveryRequest`, { ...node, ...type, ...message });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    if (!stream.destroyed) stream.write(Buffer.concat([prefix, body]));
  };
  const answer = (response: XdsResponse, names: readonly string[], more: XdsRequest) => {
    const world = { version_info: response.version, resource_names: names };
    request({ type_url: response.typeUrl, response_nonce: response.nonce, ...(method.isDelta ? {} : world), ...more });
  };
  return {
    get pending() {
      return ready.length;
    },
    next() {
      const response = ready.shift();
      if (response) return Promise.resolve(response);
      if (ended) return Promise.reject(ended);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    request,
    ack: (response, names = []) => answer(response, names, {}),
    nack: (response, message, names = []) => answer(response, names, { error_detail: { code: 13, message } }),
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    close: () => stream.close(),
  };
}

const CONTROL_PLANE = 'envoy.config.core.v3.ControlPlane';

function readResponse(bytes: Buffer, kind: string): XdsResponse {
  const resources = new LazyResources();
  const versions: Record<string, string> = {};
  const removed: string[] = [];
  let [version, nonce, typeOfAll, controlPlane] = ['', '', '', ''];
  for (const { number, value } of readBytesFields(bytes)) {
    const text = () => value.toString('utf8');
    if (number === 2 && kind === '') resources.add(value);
    else if (number === 2) {
      const parts = new Map([...readBytesFields(value)].map((part) => [part.number, part.value]));
      const name = parts.get(3)?.toString('utf8') ?? '';
      const any = parts.get(2);
      if (any) resources.add(any, name);
      versions[name] = parts.get(1)?.toString('utf8') ?? '';
    } else if (number === 1 && kind === '') version = text();
    else if (number === 4) typeOfAll = text();
    else if (number === 5) nonce = text();
    else if (number === 6 && kind !== '') removed.push(text());
    else if (number === (kind === '' ? 6 : 7)) controlPlane = decode(CONTROL_PLANE, value).identifier ?? '';
  }
  return { version, nonce, typeUrl: typeOfAll, resources, versions, removed, controlPlane, size: bytes.length };
}

/** Decodes a resource when it is looked at: a client of thousands looks at few. */
class LazyResources extends Map<string, ReceivedResource> {
  readonly #bytes = new Map<string, Buffer>();

  add(any: Buffer, name?: string): void {
    const parts = new Map([...readBytesFields(any)].map((part) => [part.number, part.value]));
    // The name, or the cluster of an assignment, is the first field of every type.
    const [first] = readBytesFields(parts.get(2) ?? Buffer.alloc(0));
    const key = name ?? first?.value.toString('utf8') ?? '';
    this.#bytes.set(key, any);
    this.set(key, PENDING);
  }

  override get(name: string): ReceivedResource | undefined {
    const bytes = this.#bytes.get(name);
    if (bytes) {
      this.#bytes.delete(name);
      this.set(name, decode('google.protobuf.Any', bytes) as ReceivedResource);
    }
    return super.get(name);
  }

  override *values(): MapIterator<ReceivedResource> {
    for (const name of this.keys()) {
      const value = this.get(name);
      if (value) yield value;
    }
  }

  override *entries(): MapIterator<[string, ReceivedResource]> {
    for (const name of this.keys()) {
      const value = this.get(name);
      if (value) yield [name, value];
    }
  }

  override [Symbol.iterator](): MapIterator<[string, ReceivedResource]> {
    return this.entries();
  }
}

const PENDING: ReceivedResource = {};

/** The fields of a message whose values are bytes; others are passed over. */
function* readBytesFields(bytes: Buffer): Generator<{ number: number; value: Buffer }> {
  for (const reader = new WireReader(bytes); reader.next(); )
    if (reader.isBytes) yield { number: reader.number, value: reader.bytes() };
}
