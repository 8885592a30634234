// Random bytes and random requests: the decoder answers with a value or a DecodeError, and the server goes on serving.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Random } from '@capstan/kube';
import { createRandom, runs } from '@capstan/testing';
import { DecodeError, decode, encode } from '../envoy/index.ts';
import { cluster, createXdsStage, endpoints, put, remove } from './xds.test-support.ts';

const WORLD = 'envoy.service.discovery.v3.DiscoveryRequest';
const DELTA = 'envoy.service.discovery.v3.DeltaDiscoveryRequest';
const TYPES = [WORLD, DELTA, 'google.protobuf.Any', 'envoy.config.listener.v3.Listener'] as const;
const NODE = {
  id: 'envoy',
  metadata: { a: { b: [1, 'two', null, { c: true }] }, __proto__: { polluted: true } },
  locality: { region: 'r', zone: 'z' },
};
const WELL_FORMED = [
  encode(WORLD, { version_info: '7', node: NODE, resource_names: ['a', 'b'], response_nonce: '3' }),
  encode(WORLD, {
    node: NODE,
    error_detail: { code: 13, message: 'no' },
  }),
  encode(DELTA, { node: NODE, resource_names_subscribe: ['a'], initial_resource_versions: { a: '1', b: '2' } }),
  encode(DELTA, { resource_names_unsubscribe: ['a', 'b', '*'], response_nonce: '9' }),
];

/** Changes, repeats, cuts or inserts bytes of a message that was well formed. */
function mutated(bytes: Uint8Array, random: Random): Buffer {
  let result = Buffer.from(bytes);
  const int = (max: number) => Math.floor(random() * max);
  for (let step = 1 + int(4); step > 0; step -= 1) {
    const at = int(result.length + 1);
    const kind = int(4);
    if (kind === 0 && result.length > 0) result[Math.min(at, result.length - 1)] = int(256);
    else if (kind === 1) result = Buffer.concat([result.subarray(0, at), result.subarray(int(result.length + 1))]);
    else if (kind === 2) result = result.subarray(0, at);
    else result = Buffer.concat([result.subarray(0, at), Buffer.from([int(256), 0xff, int(256)]), result.subarray(at)]);
    if (result.length > 65_536) result = result.subarray(0, 65_536);
  }
  return result;
}

test('the decoder reads any bytes, or refuses them with a DecodeError', () => {
  const random = createRandom(27);
  for (let i = runs(10_000, 1_000_000, 'CAPSTAN_FUZZ_INPUTS'); i > 0; i -= 1) {
    const source = WELL_FORMED[Math.floor(random() * WELL_FORMED.length)] as Uint8Array;
    const bytes = mutated(source, random);
    const type = TYPES[Math.floor(random() * TYPES.length)] as (typeof TYPES)[number];
    try {
      decode(type, bytes);
    } catch (error) {
      assert.ok(error instanceof DecodeError, `${type} of ${bytes.toString('hex')}: ${String(error)}`);
    }
  }
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('streams with random requests leave the server as it was for the next client', async (t) => {
  const stage = await createXdsStage(t);
  const names = ['a', 'b', 'c', '*', ''];
  put(stage.store, cluster('a'), endpoints('a-endpoints', 80));
  const first = stage.client.open({ type: 'cds', isDelta: true });
  first.request({ resource_names_subscribe: ['a'] });
  await first.next();
  for (let seed = runs(50, 2_000); seed > 0; seed -= 1) {
    const random = createRandom(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const streams = [
      stage.client.open({ type: undefined, isDelta: true }),
      stage.client.open({ type: undefined, isDelta: false }),
      stage.client.open({ type: 'eds', isDelta: false }),
    ];
    for (const stream of streams) stream.next().catch(() => undefined);
    for (let step = 0; step < 20; step += 1) {
      const stream = pick(streams);
      const some = names.filter(() => random() < 0.4);
      const isRefusal = random() < 0.3;
      stream.request({
        type_url: pick([
          'type.googleapis.com/envoy.config.cluster.v3.Cluster',
          'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
          'type.googleapis.com/nothing',
        ]),
        response_nonce: pick(['', '1', '2', '3', '99']),
        ...(stream === streams[0]
          ? { resource_names_subscribe: some, resource_names_unsubscribe: names.filter(() => random() < 0.2) }
          : { resource_names: some, version_info: pick(['', '1', 'x']) }),
        ...(isRefusal && { error_detail: { code: 3, message: pick(['no', 'cluster a', '']) } }),
      });
      if (random() < 0.3) put(stage.store, cluster(pick(['a', 'b', 'c']), 1 + step));
      if (random() < 0.1) remove(stage.store, 'cds', 'b');
    }
    await stage.client.roundTrip();
    for (const stream of streams) stream.close();
  }
  await stage.client.roundTrip();
  put(stage.store, cluster('last'));
  const fresh = stage.client.open({ type: 'cds', isDelta: true });
  fresh.request({ resource_names_subscribe: ['last'] });
  assert.ok((await fresh.next()).resources.has('last'));
  assert.equal(stage.server.statistics().refused.error, undefined);
});
