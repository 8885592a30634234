import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { Address } from './connection.ts';
import type { Form } from './objects.ts';

/** Requests over one connection of HTTP/2, with windows as large as those of Go's clients. */
export interface Http2Client {
  /** The bytes of the answer; throws for a status other than 2xx. */
  get(path: string, form?: Form): Promise<number>;
  post(path: string, body: Uint8Array, form: Form): Promise<number>;
  /** Resolves when the server has taken it; everything that comes goes to `onData`. */
  watch(path: string, form: Form, onData: (chunk: Buffer) => void): Promise<ClientHttp2Stream>;
  close(): void;
}

const STREAM_WINDOW = 4 * 1024 * 1024;
const CONNECTION_WINDOW = 1024 * 1024 * 1024;

export async function openHttp2({ host, port, ca, cert, key }: Address): Promise<Http2Client> {
  const session = connect(`https://${host}:${port}`, {
    ca,
    cert,
    key,
    settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(CONNECTION_WINDOW);
  return {
    get: (path, form = JSON_FORM) => exchange(session, { ':path': path, accept: form }),
    post: (path, body, form) =>
      exchange(session, { ':path': path, ':method': 'POST', accept: form, 'content-type': form }, body),
    async watch(path, form, onData) {
      const stream = session.request({ ':path': path, accept: form === JSON_FORM ? form : `${form};stream=watch` });
      await answered(stream);
      return stream.on('data', onData);
    },
    close: () => session.destroy(),
  };
}

const JSON_FORM: Form = 'application/json';

async function exchange(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Uint8Array): Promise<number> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body) stream.end(body);
  await answered(stream);
  return new Promise((resolve, reject) => {
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on('end', () => resolve(bytes));
    stream.on('error', reject);
  });
}

async function answered(stream: ClientHttp2Stream): Promise<void> {
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  const status = Number(headers[':status']);
  if (status < 200 || status > 299) throw new Error(`the server answered ${status}`);
}
