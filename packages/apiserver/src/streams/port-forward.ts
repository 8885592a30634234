// port-forward: connections to ports of a pod, as pairs of streams of a SPDY connection, or as pairs of channels of a WebSocket.
import type { Duplex } from 'node:stream';
import { reasonOf } from '@capstan/kube';
import type { OpenPort } from './pod-streams.ts';
import { type SpdyStream, serveSpdy } from './spdy-connection.ts';
import { roomIn, type WebSocket } from './web-socket.ts';

export const FORWARD_PROTOCOL = 'portforward.k8s.io';
/** SPDY inside of a WebSocket's messages: kubectl tries it first. */
export const TUNNEL_PROTOCOL = `SPDY/3.1+${FORWARD_PROTOCOL}`;
/** Two channels a port, which other clients speak. */
export const FORWARD_CHANNELS = 'v4.channel.k8s.io';

/** Each connection has two streams of one request id: one for data, and one on which its failure is written. */
export async function serveForwarding(transport: Duplex, open: OpenPort, pod: string): Promise<void> {
  const waiting = new Map<string, SpdyStream>();
  const running = new Set<Promise<void>>();
  const connection = serveSpdy(transport, (stream) => {
    const { headers } = stream;
    const request = headers.get('requestid') ?? headers.get('port') ?? '';
    const other = waiting.get(request);
    if (other === undefined) {
      waiting.set(request, stream);
      return;
    }
    waiting.delete(request);
    const [data, error] = headers.get('streamtype') === 'data' ? [stream, other] : [other, stream];
    const port = Number(headers.get('port'));
    const task = forward(data, error, () => open(port), `${port}`, pod).finally(() => running.delete(task));
    running.add(task);
  });
  try {
    await connection.ended;
  } finally {
    await Promise.all(running);
  }
}

async function forward(
  data: SpdyStream,
  error: SpdyStream,
  open: () => Promise<Duplex>,
  port: string,
  pod: string,
): Promise<void> {
  const socket = await open().catch((failure: unknown) => {
    error.end(failureText(port, pod, failure));
    data.destroy();
    return undefined;
  });
  if (socket === undefined) return;
  error.on('close', () => socket.destroy());
  error.resume();
  await join(data, socket);
  error.end();
}

const failureText = (port: string, pod: string, error: unknown) =>
  `error forwarding port ${port} to pod ${pod}: ${reasonOf(error)}`;

/** Both ways, until both have ended. */
function join(one: Duplex, other: Duplex): Promise<void> {
  for (const stream of [one, other]) stream.on('error', () => {});
  one.pipe(other);
  other.pipe(one);
  const closed = (stream: Duplex, partner: Duplex) =>
    new Promise<void>((resolve) => {
      const done = () => {
        // A stream that ended normally has already closed its peer. Close the peer of a stream that failed.
        if (!stream.readableEnded) partner.destroy();
        resolve();
      };
      stream.once('close', done);
      if (stream.destroyed) done();
    });
  return Promise.all([closed(one, other), closed(other, one)]).then(() => {});
}

/** The n-th port has the channels 2n for data and 2n + 1 for its failure; each begins with the port's number. */
export async function serveForwardingChannels(
  web: WebSocket,
  ports: readonly number[],
  open: OpenPort,
  pod: string,
): Promise<void> {
  const opening = ports.map((port) => open(port));
  const tasks = ports.map(async (port, index) => {
    const [data, failures] = [Buffer.from([2 * index]), Buffer.from([2 * index + 1])];
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    await web.send(data, number);
    await web.send(failures, number);
    try {
      const socket = await opening[index];
      for await (const chunk of socket as AsyncIterable<Buffer>) await web.send(data, chunk);
    } catch (failure) {
      await web.send(failures, Buffer.from(failureText(String(port), pod, failure)));
    }
  });
  const over = Promise.all(tasks).then(() => web.close());
  try {
    for await (const message of web.messages) {
      // The client may write before the port has answered.
      const socket = await opening[(message[0] ?? 0) / 2]?.catch(() => undefined);
      if (socket !== undefined && !socket.destroyed && !socket.write(message.subarray(1))) await roomIn(socket);
    }
  } finally {
    for (const socket of await Promise.allSettled(opening)) if (socket.status === 'fulfilled') socket.value.destroy();
    await over;
  }
}
