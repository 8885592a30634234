import { type Address, openSocket, requestBytes } from './connection.ts';
import { type Http2Client, openHttp2 } from './http2-client.ts';
import type { Form } from './objects.ts';

/** A watch that reads only the numbers of the changes from its events. */
export interface Watcher {
  /** The number of the last change. */
  last(): number;
  /** Whether each number so far was the one after the one before it. */
  inOrder(): boolean;
  close(): void;
}

/** How watchers speak with the server: over HTTP/1.1 each has a connection, over HTTP/2 some share one. */
export interface Wire {
  readonly name: string;
  readonly http2: boolean;
  readonly form: Form;
}

export const WIRES: readonly Wire[] = [
  { name: 'HTTP/1.1', http2: false, form: 'application/json' },
  { name: 'HTTP/2', http2: true, form: 'application/json' },
  { name: 'HTTP/2 and protobuf', http2: true, form: 'application/vnd.kubernetes.protobuf' },
];

/** The bytes before the number of a change: in protobuf, the entry of a map with its lengths. */
const MARKS: Readonly<Record<Form, Buffer>> = {
  'application/json': Buffer.from('"seq":"'),
  'application/vnd.kubernetes.protobuf': Buffer.from('\n\u0003seq\u0012\u0006'),
};
const DIGITS = 6;
/** Watches of one connection, as a program has that watches some kinds. */
const SHARED = 10;

/** Opens watches from now on, one after the other; each is open once the server has taken it. */
export async function openWatchers(
  address: Address,
  collection: string,
  count: number,
  { http2, form }: Wire,
  onChange: (sequence: number) => void,
): Promise<Watcher[]> {
  const path = `${collection}?watch=true`;
  const watchers: Watcher[] = [];
  let client: Http2Client | undefined;
  for (let index = 0; index < count; index++) {
    const reader = createReader(MARKS[form], onChange);
    if (http2) {
      if (client === undefined || index % SHARED === 0) client = await openHttp2(address);
      const own = client;
      const stream = await own.watch(path, form, reader.take);
      stream.on('error', reader.end).on('close', reader.end);
      watchers.push({ ...reader, close: () => own.close() });
    } else watchers.push({ ...reader, close: await watchAlone(address, path, reader) });
  }
  return watchers;
}

/** Resolves when the first bytes have come, with a function that closes the connection. */
async function watchAlone(address: Address, path: string, reader: Reader): Promise<() => void> {
  const socket = await openSocket(address);
  const opened = new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => {
      reader.end();
      reject(new Error('the server ended a watch'));
    });
    socket.on('data', (chunk: Buffer) => {
      resolve();
      reader.take(chunk);
    });
  });
  socket.write(requestBytes('GET', path));
  await opened;
  return () => socket.destroy();
}

interface Reader extends Omit<Watcher, 'close'> {
  take(chunk: Buffer): void;
  /** Nothing more comes. */
  end(): void;
}

function createReader(mark: Buffer, onChange: (sequence: number) => void): Reader {
  let last = 0;
  let inOrder = true;
  let rest: Buffer = Buffer.alloc(0);
  return {
    last: () => last,
    inOrder: () => inOrder,
    end: () => {
      inOrder = false;
    },
    take(chunk) {
      const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let done = 0;
      for (let at = data.indexOf(mark); at >= 0; at = data.indexOf(mark, done)) {
        const start = at + mark.length;
        if (start + DIGITS > data.length) break;
        done = start + DIGITS;
        const sequence = Number(data.toString('latin1', start, done));
        // Objects from before the first change have the number 0.
        if (sequence === 0) continue;
        if (sequence !== last + 1) inOrder = false;
        last = sequence;
        onChange(sequence);
      }
      // A number may come in two pieces.
      rest = data.subarray(Math.max(done, data.length - mark.length - DIGITS + 1));
    },
  };
}
