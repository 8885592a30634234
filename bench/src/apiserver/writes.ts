// Creates by many clients at once, each acknowledged when it is on disk; then the list of all that was created, and a
// start after SIGKILL with all of it to load.
import { join } from 'node:path';
import { encodeObject } from '@capstan/apiserver';
import { createRandom, type SeededRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { latencyOf, roundsOf } from '../measure/timing.ts';
import { sizeOf } from './brief.ts';
import { type Address, type Connection, openConnection, requestBytes } from './connection.ts';
import { diskFloor } from './disk.ts';
import { startAndWrite } from './first-write.ts';
import { type Http2Client, openHttp2 } from './http2-client.ts';
import { COLLECTION, configMap, createNamespace, type Form } from './objects.ts';
import { findPeer, PEER, peerNote } from './peer.ts';
import { processorMilliseconds, residentMegabytes } from './process-costs.ts';
import { type ServerUnderTest, startServer } from './server.ts';
import { inTempFolder } from './temp-folder.ts';

const SIZES = {
  full: { clients: 64, warmUp: 2000, objects: 10_000, rounds: 5, lists: 7, synced: 500, overHttp2: 1500 },
  tiny: { clients: 4, warmUp: 8, objects: 40, rounds: 2, lists: 1, synced: 4, overHttp2: 8 },
};
const BRIEF = { lists: 5, overHttp2: 1000 };

export const writes: Part = {
  name: 'writes',
  summary: 'durable creates by 64 clients, and the list of what they made',
  async measure(scale) {
    return inTempFolder((folder) => measureIn(folder, sizeOf(SIZES, scale, BRIEF)));
  },
};

type Size = (typeof SIZES)['full'];

async function measureIn(folder: string, size: Size) {
  const options = { program: 'server', folder, data: join(folder, 'data') } as const;
  let server = await startServer(options);
  const peer = await findPeer()?.();
  try {
    const own = await openSide(server, size);
    const other = peer && (await openSide(peer, size));
    const each = size.objects / size.rounds;
    // Take turns: the present state of the disk then concerns both.
    const created = await roundsOf(size.rounds, async (round) => {
      const ours = await own.create(round, each);
      const theirs = await other?.create(round, each);
      return {
        ...ours,
        theirs,
        single: diskFloor(join(folder, 'floor'), ours.bodies.slice(0, size.synced), 1),
        grouped: diskFloor(join(folder, 'floor'), ours.bodies, size.clients),
      };
    });
    const lists = await roundsOf(size.lists, async () => ({ ours: await own.list(), theirs: await other?.list() }));
    const overHttp2 = await inTurnOver(size, own, other);
    const memory = residentMegabytes(server.pids);
    const peerMemory = peer && residentMegabytes(peer.pids);
    own.close();
    other?.close();

    await server.kill();
    const restart = await startAndWrite(options, 'after');
    server = restart.server;

    const what = `writes: durable creates, ${size.clients} clients, 2 KB`;
    const processor = created.flatMap((round) => round.processor ?? []);
    const beside = (values: readonly (number | undefined)[]) => {
      const rounds = values.filter((value) => value !== undefined);
      return rounds.length === 0 ? {} : { peer: { name: PEER, rounds } };
    };
    return [
      result({
        name: what,
        unit: '1/s',
        rounds: created.map(({ rate }) => rate),
        ratioAtLeast: 3,
        ...beside(created.map(({ theirs }) => theirs?.rate)),
        note: `${each} a round, by the clock on the wall; the clients share the cores with the server${peerNote()}`,
      }),
      result({
        name: `${what}, beside the disk`,
        unit: '1/s',
        rounds: created.map(({ rate }) => rate),
        peer: { name: 'append + fdatasync, one by one', rounds: created.map(({ single }) => single) },
      }),
      result({
        name: `${what}, beside groups`,
        unit: '1/s',
        rounds: created.map(({ rate }) => rate),
        peer: { name: `append + fdatasync, ${size.clients} at a time`, rounds: created.map(({ grouped }) => grouped) },
        note: 'the floor of the disk when every group is full and nothing else is done',
      }),
      result({
        name: `${what}, p50`,
        unit: 'ms',
        rounds: created.map(({ p50 }) => p50),
        ...beside(created.map(({ theirs }) => theirs?.p50)),
      }),
      result({
        name: `${what}, p99`,
        unit: 'ms',
        rounds: created.map(({ p99 }) => p99),
        ...beside(created.map(({ theirs }) => theirs?.p99)),
      }),
      ...(processor.length > 0
        ? [
            result({
              name: `${what}, processor time of the server`,
              unit: 'ms each',
              rounds: processor,
              ...beside(created.map(({ theirs }) => theirs?.processor)),
            }),
          ]
        : []),
      result({
        name: `writes: list of ${size.objects} objects of 2 KB`,
        unit: 'ms',
        rounds: lists.map(({ ours }) => ours.elapsed),
        ratioAtMost: 1,
        ...beside(lists.map(({ theirs }) => theirs?.elapsed)),
        note: `request to last byte, ${((lists[0]?.ours.bytes ?? 0) / 1e6).toFixed(1)} MB, not compressed, by the clock on the wall`,
      }),
      ...overHttp2.flatMap(({ name, lists: listed, creates }) => [
        result({
          name: `writes: the same list over ${name}`,
          unit: 'ms',
          rounds: listed.map(({ ours }) => ours.elapsed),
          ratioAtMost: 1,
          ...beside(listed.map(({ theirs }) => theirs?.elapsed)),
          note: 'windows as large as those of a client in Go, by the clock on the wall',
        }),
        result({
          name: `writes: the same list over ${name}, processor time of the server`,
          unit: 'ms',
          rounds: listed.map(({ ours }) => ours.processor),
          ...beside(listed.map(({ theirs }) => theirs?.processor)),
        }),
        result({
          name: `writes: durable creates over ${name}, ${size.clients} at a time`,
          unit: '1/s',
          rounds: creates.map(({ ours }) => ours.rate),
          ratioAtLeast: 3,
          ...beside(creates.map(({ theirs }) => theirs?.rate)),
          note: 'one connection; the client, which is Node.js too, takes a part of the time',
        }),
        result({
          name: `writes: durable creates over ${name}, processor time of the server`,
          unit: 'ms each',
          rounds: creates.map(({ ours }) => ours.processor),
          ...beside(creates.map(({ theirs }) => theirs?.processor)),
        }),
      ]),
      result({
        name: `writes: memory with ${size.objects} objects, after the lists`,
        unit: 'MB',
        rounds: [memory],
        ...beside([peerMemory]),
      }),
      result({
        name: `writes: start after SIGKILL with ${size.objects} objects, to first write`,
        unit: 'ms',
        rounds: [restart.elapsed],
        note: `${Math.round(restart.wall)} ms by the clock on the wall`,
      }),
    ];
  } finally {
    await server.stop();
    await peer?.stop();
  }
}

const JSON_FORM: Form = 'application/json';
const PROTOBUF_FORM: Form = 'application/vnd.kubernetes.protobuf';

type Side = Awaited<ReturnType<typeof openSide>>;

/** The same over HTTP/2, in both forms; turn by turn. */
async function inTurnOver(size: Size, own: Side, other: Side | undefined) {
  const all = [];
  for (const form of [JSON_FORM, PROTOBUF_FORM]) {
    const lists = await roundsOf(size.lists, async (round) => ({
      ours: await own.listOverHttp2(form, round === 0),
      theirs: await other?.listOverHttp2(form, round === 0),
    }));
    const creates = await roundsOf(size.rounds, async (round) => ({
      ours: await own.createOverHttp2(form, round, size.overHttp2),
      theirs: await other?.createOverHttp2(form, round, size.overHttp2),
    }));
    all.push({ name: form === JSON_FORM ? 'HTTP/2' : 'HTTP/2 in protobuf', lists, creates });
  }
  return all;
}

function bytesOf(object: object, form: Form): Uint8Array {
  const bytes = form === JSON_FORM ? Buffer.from(JSON.stringify(object)) : encodeObject(object);
  if (!bytes) throw new TypeError('the object has no protobuf form');
  return bytes;
}

/** The same work for whichever server: the same bytes, by as many clients. */
async function openSide({ address, pids }: ServerUnderTest, size: Size) {
  const random = createRandom(11);
  const connections = await open(address, size.clients);
  const [one] = connections;
  if (one === undefined) throw new TypeError('there is no client');
  for (const namespace of ['bench', 'warm-up']) await one.exchange(createNamespace(namespace));
  await createAll(connections, requests('/api/v1/namespaces/warm-up/configmaps', size.warmUp, 0, random));
  const request = requestBytes('GET', COLLECTION);
  let isWarm = false;
  let http2: Http2Client | undefined;
  return {
    async create(round: number, each: number) {
      const bodies = requests(COLLECTION, each, round, random);
      const before = processorMilliseconds(pids);
      const { elapsed, latencies } = await createAll(connections, bodies);
      const after = processorMilliseconds(pids);
      return {
        bodies,
        rate: (each / elapsed) * 1000,
        processor: before === undefined || after === undefined ? undefined : (after - before) / each,
        ...latencyOf(latencies),
      };
    },
    async list() {
      if (!isWarm) await one.exchange(request);
      isWarm = true;
      const begun = performance.now();
      const { body } = await one.exchange(request);
      const elapsed = performance.now() - begun;
      if (countOf(body) !== size.objects) throw new Error(`the list has ${countOf(body)} objects`);
      return { elapsed, bytes: body.length };
    },
    async listOverHttp2(form: Form, isWarmUp: boolean) {
      http2 ??= await openHttp2(address);
      if (isWarmUp) await http2.get(COLLECTION, form);
      const before = processorMilliseconds(pids) ?? 0;
      const begun = performance.now();
      await http2.get(COLLECTION, form);
      return { elapsed: performance.now() - begun, processor: (processorMilliseconds(pids) ?? 0) - before };
    },
    async createOverHttp2(form: Form, round: number, count: number) {
      const client = (http2 ??= await openHttp2(address));
      // Warm up with objects beside the listed ones.
      const path = '/api/v1/namespaces/warm-up/configmaps';
      const bodies = Array.from({ length: count }, (_, index) =>
        bytesOf(configMap(`${form === JSON_FORM ? 'json' : 'protobuf'}-${round}-${index}`, random), form),
      );
      const before = processorMilliseconds(pids) ?? 0;
      const post = { exchange: (body: Uint8Array) => client.post(path, body, form) };
      const { elapsed } = await createAll(
        Array.from({ length: size.clients }, () => post),
        bodies,
      );
      return {
        rate: (count / elapsed) * 1000,
        processor: ((processorMilliseconds(pids) ?? 0) - before) / count,
      };
    },
    close() {
      http2?.close();
      for (const connection of connections) connection.close();
    },
  };
}

async function open(address: Address, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let index = 0; index < count; index++) connections.push(await openConnection(address));
  return connections;
}

function requests(path: string, count: number, round: number, random: SeededRandom): Buffer[] {
  return Array.from({ length: count }, (_, index) =>
    requestBytes('POST', path, configMap(`object-${round}-${index}`, random)),
  );
}

async function createAll<Body>(
  connections: readonly { exchange(body: Body): Promise<unknown> }[],
  bodies: readonly Body[],
) {
  const latencies: number[] = [];
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
        const sent = performance.now();
        await connection.exchange(body);
        latencies.push(performance.now() - sent);
      }
    }),
  );
  return { elapsed: performance.now() - begun, latencies };
}

const ITEM = Buffer.from('"filling":"');

function countOf(body: Buffer): number {
  let count = 0;
  for (let at = body.indexOf(ITEM); at >= 0; at = body.indexOf(ITEM, at + 1)) count += 1;
  return count;
}
