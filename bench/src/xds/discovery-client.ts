// A client of the xDS protocol with almost no cost: it finds type, nonce and names in a response and keeps nothing else, because it shares
// the cores with the measured control plane. It works with any control plane: the same client measures each of them.
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

export interface DiscoveryConnection {
  /** Opens a stream; `delta` as the protocol has it. */
  open(path: string, isDelta: boolean, onResponse: (response: DiscoveryResponse) => void): DiscoveryStream;
  /** The size of all responses. */
  readonly bytes: number;
  /** The first problem of any stream. */
  readonly problem: Error | undefined;
  close(): void;
}

export interface DiscoveryStream {
  /** `names` are those that are added (delta), or all of them; `has` (delta) are the versions that a client that comes back has. */
  subscribe(typeUrl: string, names: readonly string[], has?: ReadonlyMap<string, string>): void;
  ack(response: DiscoveryResponse, names: readonly string[]): void;
}

export interface DiscoveryResponse {
  readonly bytes: Buffer;
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly resources: number;
}

const WINDOW = 16 * 1024 * 1024;
const RETRY_MS = 20;

/** Tries again until the server listens. */
export async function connectDiscovery(port: number, limitMs: number, node = NODE): Promise<DiscoveryConnection> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const session = await attempt(port);
    if (session) return connectionOf(session, field(1, Buffer.from(node)));
    if (performance.now() > deadline) throw new Error(`port ${port}: nothing listens after ${limitMs} ms`);
    await sleep(RETRY_MS);
  }
}

function attempt(port: number): Promise<ClientHttp2Session | undefined> {
  return new Promise((resolve) => {
    const session = connect(`http://127.0.0.1:${port}`, {
      settings: { initialWindowSize: WINDOW, enablePush: false },
      maxSessionMemory: 8_192,
    });
    session.once('error', () => resolve(undefined));
    // How many streams it may open is known with the server's settings.
    session.once('remoteSettings', () => {
      session.setLocalWindowSize(WINDOW);
      session.on('error', () => undefined);
      resolve(session);
    });
  });
}

function connectionOf(session: ClientHttp2Session, identity: Buffer): DiscoveryConnection {
  let bytes = 0;
  let problem: Error | undefined;
  let isClosing = false;
  return {
    get bytes() {
      return bytes;
    },
    get problem() {
      return problem;
    },
    open(path, isDelta, onResponse) {
      const http = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      http.on('error', (error: Error) => {
        if (!isClosing) problem ??= error;
      });
      http.on('end', () => {
        if (!isClosing) problem ??= new Error(`${path}: the stream has ended`);
      });
      readMessages(http, (message) => {
        bytes += message.length;
        onResponse(readResponse(message, isDelta));
      });
      return isDelta ? deltaStream(http, identity) : worldStream(http, identity);
    },
    close() {
      isClosing = true;
      session.destroy();
    },
  };
}

function readMessages(http: ClientHttp2Stream, onMessage: (message: Buffer) => void): void {
  let chunks: Buffer[] = [];
  let length = 0;
  let wanted = PREFIX;
  http.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    while (length >= wanted) {
      const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const size = PREFIX + all.readUInt32BE(1);
      chunks = [all];
      if (all.length < size) {
        wanted = size;
        return;
      }
      const rest = all.subarray(size);
      chunks = rest.length > 0 ? [rest] : [];
      length = rest.length;
      wanted = PREFIX;
      onMessage(all.subarray(PREFIX, size));
    }
  });
}

const PREFIX = 5;
const NODE = 'bench';

function deltaStream(http: ClientHttp2Stream, node: Buffer): DiscoveryStream {
  let isFirst = true;
  const send = (typeUrl: string, names: readonly string[], nonce: string, has?: ReadonlyMap<string, string>) => {
    write(http, [
      ...(isFirst ? [field(1, node)] : []),
      field(2, Buffer.from(typeUrl)),
      ...names.map((name) => field(3, Buffer.from(name))),
      ...[...(has ?? [])].map((entry) =>
        field(5, Buffer.concat(entry.map((text, at) => field(at + 1, Buffer.from(text))))),
      ),
      ...(nonce === '' ? [] : [field(6, Buffer.from(nonce))]),
    ]);
    isFirst = false;
  };
  return {
    subscribe: (typeUrl, names, has) => send(typeUrl, names, '', has),
    ack: ({ typeUrl, nonce }) => send(typeUrl, [], nonce),
  };
}

function worldStream(http: ClientHttp2Stream, node: Buffer): DiscoveryStream {
  let isFirst = true;
  const send = (typeUrl: string, names: readonly string[], version: string, nonce: string) => {
    write(http, [
      ...(version === '' ? [] : [field(1, Buffer.from(version))]),
      ...(isFirst ? [field(2, node)] : []),
      ...names.map((name) => field(3, Buffer.from(name))),
      field(4, Buffer.from(typeUrl)),
      ...(nonce === '' ? [] : [field(5, Buffer.from(nonce))]),
    ]);
    isFirst = false;
  };
  return {
    subscribe: (typeUrl, names) => send(typeUrl, names, '', ''),
    ack: ({ typeUrl, nonce, version }, names) => send(typeUrl, names, version, nonce),
  };
}

function write(http: ClientHttp2Stream, fields: readonly Buffer[]): void {
  const body = Buffer.concat(fields);
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(body.length, 1);
  http.write(Buffer.concat([prefix, body]));
}

function field(number: number, value: Buffer): Buffer {
  const head = [number * 8 + 2];
  let rest = value.length;
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80);
  head.push(rest);
  return Buffer.concat([Buffer.from(head), value]);
}

/** The versions of the resources of a delta response, by name. */
export function versionsIn({ bytes }: DiscoveryResponse): [name: string, version: string][] {
  const found: [string, string][] = [];
  for (const { number, value } of lengthFields(bytes)) {
    if (number !== 2) continue;
    let [name, version] = ['', ''];
    for (const part of lengthFields(value)) {
      if (part.number === 1) version = part.value.toString('utf8');
      else if (part.number === 3) name = part.value.toString('utf8');
    }
    found.push([name, version]);
  }
  return found;
}

function* lengthFields(bytes: Buffer): Generator<{ number: number; value: Buffer }> {
  const fields = new FieldCursor(bytes);
  while (fields.next()) yield { number: fields.number, value: bytes.subarray(fields.start, fields.end) };
}

/** The fields of a message that have a length, one after the other, without an object for each. */
class FieldCursor {
  readonly #bytes: Buffer;
  number = 0;
  start = 0;
  end = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next field; false after the last one. */
  next(): boolean {
    let at = this.end;
    const varint = (): number => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const byte = this.#bytes[at] ?? 0;
        at += 1;
        value += (byte & 0x7f) * factor;
        if (byte < 0x80) return value;
      }
    };
    while (at < this.#bytes.length) {
      const tag = varint();
      const length = varint();
      if ((tag & 7) !== 2) continue;
      this.number = tag >>> 3;
      this.start = at;
      this.end = at + length;
      return true;
    }
    return false;
  }
}

/**
 * The field numbers: version 1, resources 2, type 4, nonce 5. A delta response has no version, and field 6 holds the names of removed
 * resources.
 */
function readResponse(bytes: Buffer, isDelta: boolean): DiscoveryResponse {
  let [typeUrl, nonce, version] = ['', '', ''];
  let resources = 0;
  const fields = new FieldCursor(bytes);
  const text = () => bytes.toString('utf8', fields.start, fields.end);
  while (fields.next()) {
    if (fields.number === 2) resources += 1;
    else if (fields.number === 4) typeUrl = text();
    else if (fields.number === 5) nonce = text();
    else if (fields.number === 1 && !isDelta) version = text();
  }
  return { bytes, typeUrl, nonce, version, resources };
}
