// Reads and writes of an administrator while another client holds as much as it can: unread answers, unfinished bodies, pipelined lists,
// large YAML, objects with as many values as a body may have.
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { sizeOf } from './brief.ts';
import { type Address, openConnection, openSocket, requestBytes } from './connection.ts';
import { COLLECTION, createNamespace } from './objects.ts';
import { startServer } from './server.ts';
import { inTempFolder } from './temp-folder.ts';

const SIZES = {
  full: { requests: 500, streams: 450, bodies: 250, pipelined: 400, stored: 500 },
  tiny: { requests: 10, streams: 20, bodies: 10, pipelined: 10, stored: 30 },
};
const BRIEF = { requests: 200 };
type Size = (typeof SIZES)['full'];

const TARGET_MS = 100;
const YAML_BYTES = 2_000_000;

/** Begins an abuse; returns the function that ends it. */
type Abuse = (address: Address, size: Size) => Promise<() => void>;

const ABUSES: readonly { readonly what: string; readonly begin: Abuse }[] = [
  { what: 'unread answers without credentials', begin: unreadAnswers },
  { what: 'unfinished bodies', begin: unfinishedBodies },
  { what: 'pipelined lists', begin: pipelinedLists },
  { what: 'large YAML bodies', begin: largeBodies },
  { what: 'writes of many values', begin: manyValues },
];

export const abuse: Part = {
  name: 'abuse',
  summary: 'reads and writes of an administrator while another client holds what it can',
  async measure(scale) {
    const size = sizeOf(SIZES, scale, BRIEF);
    return inTempFolder(async (folder) => {
      const data = join(folder, 'data');
      await mkdir(data);
      const server = await startServer({ program: 'server', folder, data });
      const results: Result[] = [];
      try {
        const admin = await openConnection(server.address);
        await admin.exchange(createNamespace('bench'));
        for (let index = 0; index < size.stored; index++) await admin.exchange(create(`stored-${index}`));
        for (const { what, begin } of ABUSES) {
          const end = await begin(server.address, size);
          const times = { GET: [] as number[], POST: [] as number[] };
          for (let index = 0; index < size.requests; index++) {
            times.GET.push(await timed(() => admin.exchange(requestBytes('GET', `${COLLECTION}/stored-0`))));
            const name = `${what.replaceAll(' ', '-').toLowerCase()}-${index}`;
            times.POST.push(await timed(() => admin.exchange(create(name))));
          }
          end();
          for (const method of ['GET', 'POST'] as const) {
            const value = percentile(times[method], 0.99);
            results.push(
              result({ name: `p99 of ${method} beside ${what}`, unit: 'ms', rounds: [value], below: TARGET_MS }),
            );
          }
        }
        admin.close();
      } finally {
        await server.stop();
      }
      return results;
    });
  },
};

const create = (name: string) =>
  requestBytes('POST', COLLECTION, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { filling: 'x'.repeat(2_000) },
  });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 10) / 10;
}

async function openSession(address: Address, isKnown: boolean, window?: number): Promise<ClientHttp2Session> {
  const { host, port, ca, cert, key } = address;
  const session = connect(`https://${host}:${port}`, {
    ca,
    ...(isKnown && { cert, key }),
    ...(window !== undefined && { settings: { initialWindowSize: window } }),
  });
  session.on('error', () => {});
  await once(session, 'connect');
  return session;
}

async function unreadAnswers(address: Address, { streams }: Size): Promise<() => void> {
  const session = await openSession(address, false, 0);
  for (let index = 0; index < streams; index++) session.request({ ':path': '/version' }).on('error', () => {});
  return () => session.destroy();
}

async function unfinishedBodies(address: Address, { bodies }: Size): Promise<() => void> {
  const session = await openSession(address, true);
  for (let index = 0; index < bodies; index++) {
    const stream = session.request({ ':method': 'POST', ':path': COLLECTION, 'content-type': 'application/json' });
    stream.on('error', () => {});
    stream.write('{');
  }
  return () => session.destroy();
}

async function pipelinedLists(address: Address, { pipelined }: Size): Promise<() => void> {
  const socket = await openSocket(address);
  socket.on('error', () => {});
  socket.pause();
  for (let index = 0; index < pipelined; index++) socket.write(requestBytes('GET', COLLECTION));
  return () => socket.destroy();
}

/** One with more values than a body may have, which is refused after it was read, and one that is stored. */
async function largeBodies(address: Address): Promise<() => void> {
  const yamlOf = (count: number, value: string) => {
    const lines = Array.from({ length: count }, (_, index) => `  key-${index}: ${value}\n`).join('');
    return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n${lines}`;
  };
  const long = 'v'.repeat(100);
  return repeatWrites(address, [
    { method: 'POST', path: COLLECTION, type: 'application/yaml', body: yamlOf(YAML_BYTES / 18, 'value') },
    { method: 'PUT', path: `${COLLECTION}/large`, type: 'application/yaml', body: yamlOf(YAML_BYTES / 115, long) },
  ]);
}

/** As many values as a body may have: each write is decoded, merged, owned and validated; all but the POSTs after the first are stored. */
async function manyValues(address: Address): Promise<() => void> {
  const path = `${COLLECTION}/many-values`;
  const object = (value: string) => {
    const data = Object.fromEntries(Array.from({ length: 49_000 }, (_, index) => [`key-${index}`, value]));
    return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'many-values' }, data });
  };
  return repeatWrites(address, [
    { method: 'POST', path: COLLECTION, type: 'application/json', body: object('a') },
    { method: 'PUT', path, type: 'application/json', body: object('b') },
    { method: 'PATCH', path, type: 'application/merge-patch+json', body: object('c') },
    { method: 'PATCH', path, type: 'application/strategic-merge-patch+json', body: object('d') },
    {
      method: 'PATCH',
      path: `${path}?fieldManager=abuse&force=true`,
      type: 'application/apply-patch+yaml',
      body: object('e'),
    },
  ]);
}

interface Write {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Sends the writes in turn, one at a time, until they are ended. */
async function repeatWrites(address: Address, writes: readonly Write[]): Promise<() => void> {
  const session = await openSession(address, true);
  let isOver = false;
  let sent = 0;
  const send = () => {
    const next = writes[sent++ % writes.length];
    if (isOver || session.destroyed || next === undefined) return;
    const { method, path, type, body } = next;
    const stream = session.request({ ':method': method, ':path': path, 'content-type': type });
    stream.on('error', () => {});
    stream.on('close', send);
    stream.resume();
    stream.end(body);
  };
  send();
  return () => {
    isOver = true;
    session.destroy();
  };
}
