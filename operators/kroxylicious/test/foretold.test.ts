// Random edits of proxies are previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import {
  assertForetold,
  createRandom,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
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

for (const { seed, edits, variety } of foretoldRuns(25))
  test(`${edits} random edits of proxies do what their previews show (seed ${seed})`, async (t) => {
    const random = createRandom(seed);
    const next = (): RandomEdit => {
      const object = random.pick(OBJECTS)(random);
      const kind = kindOf(object);
      const { name = '' } = object.metadata;
      return random.chance(0.2) ? { kind, gone: { namespace: NAMESPACE, name } } : { kind, object };
    };
    await staged({ objects: minimal() }, async (stage) => {
      await stage.settle();
      await toRest(stage);
      const { unknown } = await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
      assert.ok(unknown <= edits / 5, `${unknown} differences concern objects that were listed as not known`);
    });
  });
