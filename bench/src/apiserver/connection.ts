// A client that costs next to nothing: requests are bytes that were created before, and of an answer only its status and its
// end are searched for. With a full HTTP client the cores that we share with the server would be busy with ourselves.
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Connection {
  /** One at a time; throws for a status other than 2xx, with the body in the message. */
  exchange(request: Buffer): Promise<Answer>;
  close(): void;
}

export interface Answer {
  readonly status: number;
  /** With the framing that HTTP has put around it. */
  readonly body: Buffer;
}

const SILENCE_LIMIT_MS = 60_000;

/** A request as it goes over the wire. */
export function requestBytes(method: string, path: string, body?: unknown, type = 'application/json'): Buffer {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n`;
  const about = body === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n`;
  return Buffer.concat([Buffer.from(`${head}${about}\r\n`), bytes]);
}

/** Opens a TLS connection with the administrator's certificate. */
export async function openSocket({ host, port, ca, cert, key }: Address): Promise<TLSSocket> {
  const socket = connectTls({ host, port, ca, cert, key, ALPNProtocols: ['http/1.1'] });
  socket.setNoDelay(true);
  await once(socket, 'secureConnect');
  return socket;
}

export async function openConnection(address: Address): Promise<Connection> {
  const socket = await openSocket(address);
  let received: Buffer[] = [];
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;
  const fail = (error: Error) => waiting?.reject(error);
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    const answer = completeAnswer(received);
    if (answer === undefined) return;
    received = [];
    if (answer.status >= 200 && answer.status < 300) waiting?.resolve(answer);
    else fail(new Error(`the server answered ${answer.status}: ${answer.body.toString('utf8', 0, 500)}`));
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the server closed the connection')));
  socket.setTimeout(SILENCE_LIMIT_MS, () => socket.destroy(new Error('the server said nothing for a minute')));
  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => {
      waiting = undefined;
      socket.destroy();
    },
  };
}

/** Undefined while something is missing. The end of a chunked body cannot be in the middle of one: JSON has no bare CR LF. */
function completeAnswer(received: Buffer[]): Answer | undefined {
  const [first = Buffer.alloc(0)] = received;
  const end = first.indexOf('\r\n\r\n');
  if (end < 0) {
    if (received.length > 1) received.splice(0, received.length, Buffer.concat(received));
    return undefined;
  }
  const head = first.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  const size = received.reduce((sum, { length: bytes }) => sum + bytes, -(end + 4));
  const isComplete = length === undefined ? endsChunked(received) : size >= Number(length);
  if (!isComplete) return undefined;
  return { status: Number(head.slice(9, 12)), body: Buffer.concat(received).subarray(end + 4) };
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

function endsChunked(received: readonly Buffer[]): boolean {
  const last = received.at(-1) ?? LAST_CHUNK;
  const tail = last.length >= LAST_CHUNK.length ? last : Buffer.concat(received.slice(-2));
  return tail.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
}
