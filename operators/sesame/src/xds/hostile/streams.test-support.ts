// Streams of clients that send anything, and a check that another client is served meanwhile.
import assert from 'node:assert/strict';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import type { TestContext } from 'node:test';
import type { VirtualClock } from '@capstan/testing';
import type { XdsLimits } from '../limits.ts';
import { cluster, createXdsStage, put, type Stage } from '../xds.test-support.ts';
import { discoveryPath } from '../xds-server.ts';

export const WORLD = 'envoy.service.discovery.v3.DiscoveryRequest';
export const DELTA = 'envoy.service.discovery.v3.DeltaDiscoveryRequest';
export const CLUSTERS = { type: 'cds', isDelta: false } as const;
export const DELTA_CLUSTERS = { type: 'cds', isDelta: true } as const;

export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export function sessionTo(context: TestContext, { server }: Stage): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${server.port}`, { settings: { initialWindowSize: 1 << 20 } });
  session.on('error', () => undefined);
  context.after(() => session.destroy());
  return session;
}

export function open(session: ClientHttp2Session, path = discoveryPath(CLUSTERS)): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  stream.resume();
  return stream;
}

/** The status that the server ends a stream with. */
export function statusOf(stream: ClientHttp2Stream): Promise<{ status: string; message: string }> {
  return new Promise((resolve, reject) => {
    const take = (headers: Record<string, unknown>) => {
      const { 'grpc-status': status, 'grpc-message': message = '' } = headers;
      if (typeof status === 'string') resolve({ status, message: decodeURIComponent(String(message)) });
    };
    stream.on('response', take);
    stream.on('trailers', take);
    stream.on('close', () => setImmediate(() => reject(new Error('the stream was closed without a status'))));
  });
}

/** Another client gets a change while the first one misbehaves. */
let serial = 0;
export async function assertServed({ store, client }: Stage): Promise<void> {
  serial += 1;
  const name = `served-${serial}`;
  const stream = client.open(DELTA_CLUSTERS);
  stream.request({ resource_names_subscribe: [name] });
  stream.ack(await stream.next());
  put(store, cluster(name));
  const { resources } = await stream.next();
  assert.deepEqual([...resources.keys()], [name]);
  stream.close();
}

export async function stageWith(
  context: TestContext,
  limits: Partial<XdsLimits> = {},
  clock?: VirtualClock,
): Promise<Stage> {
  const stage = await createXdsStage(context, { limits, ...(clock && { clock }) });
  put(stage.store, cluster('a'));
  return stage;
}
