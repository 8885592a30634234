import { once } from 'node:events';
import { connect } from 'node:http2';
import type { Address } from './connection.ts';

/** Gets over one connection of HTTP/2, with windows as large as those of Go's clients. */
export interface Http2Client {
  /** The bytes of the answer; throws for a status other than 200. */
  get(path: string): Promise<number>;
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
    async get(path) {
      const stream = session.request({ ':path': path, accept: 'application/json' });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      if (headers[':status'] !== 200) throw new Error(`the server answered ${String(headers[':status'])}`);
      let bytes = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
      return bytes;
    },
    close: () => session.destroy(),
  };
}
