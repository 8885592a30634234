// Random edits of proxies: each is previewed, made and compared.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import {
  assertForetold,
  createRandom,
  podsBecomeReady,
  type RandomEdit,
  runs,
  type SeededRandom,
} from '@capstan/testing';
import {
  certificate,
  cluster,
  filter,
  kindOf,
  minimal,
  NAMESPACE,
  opaque,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const EDITS = runs(60, 600, 'FORETOLD_EDITS');
const SEED = Number(process.env['FORETOLD_SEED'] ?? 1);
const certificates = await Promise.all([certificate(), certificate()]);

type Make = (random: SeededRandom) => KubeObject;
const OBJECTS: readonly Make[] = [
  (random) =>
    proxy({
      ...(random.chance(0.4) && { isolation: 'VirtualCluster' }),
      ...(random.chance(0.4) && { replicas: random.integer(1, 3) }),
    }),
  ...['one', 'two', 'three'].map(
    (name): Make =>
      (random) =>
        cluster(name, clusterSpec(random)),
  ),
  (random) => service({ bootstrapServers: random.pick(['kafka.example:9092', 'other.example:9092']) }),
  ...['encryption', 'second'].map(
    (name): Make =>
      (random) =>
        filter(random.pick([{ a: 1 }, { a: 2 }, { key: '${secret:keys:a}' }]), name),
  ),
  (random) => opaque('keys', random.pick<Record<string, string>>([{ a: '1' }, { a: '2' }, { b: '1' }])),
  (random) => tlsSecret('server', random.pick(certificates)),
  () => tcpIngress(),
  () => tlsIngress(),
];

function clusterSpec(random: SeededRandom): object {
  const ingresses = random.pick([
    [{ ingressRef: { name: 'tcp' } }],
    [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }],
  ]);
  const filters = ['encryption', 'second'].filter(() => random.chance(0.4)).map((name) => ({ name }));
  return { ingresses, ...(filters.length > 0 && { filterRefs: filters }) };
}

test(`${EDITS} random edits of proxies do what their previews show`, async () => {
  const random = createRandom(SEED);
  const next = (): RandomEdit => {
    const object = random.pick(OBJECTS)(random);
    const kind = kindOf(object);
    const { name = '' } = object.metadata;
    return random.chance(0.2) ? { kind, gone: { namespace: NAMESPACE, name } } : { kind, object };
  };
  await staged({ objects: minimal() }, async (stage) => {
    await stage.settle();
    while (await podsBecomeReady(stage)) await stage.settle();
    const { unknown } = await assertForetold({ stage, edits: EDITS, next });
    assert.ok(unknown <= EDITS / 5, `${unknown} differences concern objects that were listed as not known`);
  });
});
