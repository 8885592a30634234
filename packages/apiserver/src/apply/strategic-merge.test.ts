import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  DEPLOYMENTS,
  definition,
  deployment,
  testServer,
  WIDGETS,
  widget,
} from '../server.test-support.ts';

const STRATEGIC = { contentType: 'application/strategic-merge-patch+json' };

interface PodSpec {
  containers: { name: string; image: string }[];
  volumes?: object[];
}

// Removes the fields that the server fills in.
const podSpec = (object: UnknownObject): PodSpec => {
  const { containers, volumes } = (object['spec'] as { template: { spec: PodSpec } }).template.spec;
  return { containers: containers.map(({ name, image }) => ({ name, image })), ...(volumes && { volumes }) };
};

async function given(spec: object) {
  const test = testServer();
  const template = { metadata: { labels: { app: 'web' } }, spec };
  await test.ok('POST', DEPLOYMENTS, deployment('web', { template }));
  const patch = async (change: object) =>
    podSpec(await test.ok('PATCH', `${DEPLOYMENTS}/web`, { spec: { template: { spec: change } } }, STRATEGIC));
  return { ...test, patch };
}

describe('strategic merge patch', () => {
  it('merges lists by their key', async () => {
    const { patch } = await given({
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    });
    assert.deepEqual(
      (
        await patch({
          containers: [
            { name: 'b', image: '2' },
            { name: 'c', image: '3' },
          ],
        })
      ).containers,
      [
        { name: 'a', image: '1' },
        { name: 'b', image: '2' },
        { name: 'c', image: '3' },
      ],
    );
  });

  it('deletes and replaces by directive', async () => {
    const { patch } = await given({
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    });
    assert.deepEqual((await patch({ containers: [{ name: 'a', $patch: 'delete' }] })).containers, [
      { name: 'b', image: '1' },
    ]);
    assert.deepEqual((await patch({ containers: [{ $patch: 'replace' }, { name: 'x', image: '9' }] })).containers, [
      { name: 'x', image: '9' },
    ]);
  });

  it('takes directives as they are meant where there is nothing to merge with', async () => {
    const { patch, ok } = await given({ containers: [{ name: 'a', image: '1' }] });
    const replaced = await patch({ volumes: [{ $patch: 'replace' }, { name: 'v', emptyDir: {} }] });
    assert.deepEqual(replaced.volumes, [{ name: 'v', emptyDir: {} }]);
    const ofMap = async (nodeSelector: object) => {
      const change = { spec: { template: { spec: { nodeSelector } } } };
      const after = await ok('PATCH', `${DEPLOYMENTS}/web`, change, STRATEGIC);
      return (after['spec'] as { template: { spec: { nodeSelector?: object } } }).template.spec.nodeSelector;
    };
    // Kubernetes drops a map with a directive where there is none yet.
    assert.equal(await ofMap({ $patch: 'replace', a: 'b' }), undefined);
    assert.deepEqual(await ofMap({ a: 'b', c: null }), { a: 'b' });
    assert.deepEqual(await ofMap({ $patch: 'replace', d: 'e' }), { d: 'e' });
  });

  it('refuses keys besides those that are to be retained, and unknown directives', async () => {
    const { refused } = await given({ containers: [{ name: 'a', image: '1' }] });
    for (const [strategy, problem] of [
      [{ $retainKeys: ['type'], type: 'Recreate', rollingUpdate: {} }, /invalid patch format of retainKeys/],
      [{ $patch: 'merge', type: 'Recreate' }, /unknown patch type/],
    ] as const) {
      const { code, message } = await refused('PATCH', `${DEPLOYMENTS}/web`, { spec: { strategy } }, STRATEGIC);
      assert.equal(code, 400);
      assert.match(message ?? '', problem);
    }
  });

  it('orders by the order that is given', async () => {
    const { patch } = await given({
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    });
    const after = await patch({
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
      containers: [{ name: 'a', image: '2' }],
    });
    assert.deepEqual(
      after.containers.map(({ name, image }) => name + image),
      ['b1', 'a2'],
    );
  });

  it('keeps only the keys that are to be retained', async () => {
    const { patch } = await given({ containers: [{ name: 'a', image: '1' }], volumes: [{ name: 'v', emptyDir: {} }] });
    const after = await patch({
      volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }],
    });
    assert.deepEqual(after.volumes, [{ name: 'v', configMap: { name: 'c', defaultMode: 0o644 } }]);
  });

  it('merges and empties lists of scalars', async () => {
    const { ok } = testServer();
    const finalizers = ['example.com/a', 'example.com/b'];
    await ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }, { finalizers }));
    const added = await ok('PATCH', `${CONFIG_MAPS}/a`, { metadata: { finalizers: ['example.com/c'] } }, STRATEGIC);
    assert.deepEqual(added.metadata.finalizers, ['example.com/c', ...finalizers]);
    const deleted = { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } };
    assert.deepEqual((await ok('PATCH', `${CONFIG_MAPS}/a`, deleted, STRATEGIC)).metadata.finalizers, [
      'example.com/c',
      'example.com/b',
    ]);
  });

  it('is refused for custom resources and for items without their key', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CRDS, definition());
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    assert.equal((await refused('PATCH', `${WIDGETS}/a`, { spec: { size: 2 } }, STRATEGIC)).code, 415);
    await ok('POST', DEPLOYMENTS, deployment('web'));
    const keyless = { spec: { template: { spec: { containers: [{ image: 'x' }] } } } };
    const status = await refused('PATCH', `${DEPLOYMENTS}/web`, keyless, STRATEGIC);
    assert.match(status.message ?? '', /does not contain declared merge key: name/);
  });

  it('reports a value of the wrong type as Go converts it', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web'));
    const cases: [spec: unknown, problem: string][] = [
      [3, 'cannot restore struct from: int64'],
      [{ replicas: true }, 'unrecognized type: int32'],
      [{ replicas: 1.5 }, 'cannot convert float64 to int32'],
      [{ paused: 1 }, 'unrecognized type: bool'],
      [{ selector: { matchLabels: { a: 1 } } }, 'cannot convert int64 to string'],
      [{ selector: { matchLabels: [] } }, 'cannot restore map from slice'],
      [{ template: { spec: { tolerations: 'x' } } }, 'cannot restore slice from string'],
      [{ strategy: { rollingUpdate: { maxSurge: true } } }, 'json: cannot unmarshal bool into Go value of type int32'],
    ];
    for (const [spec, problem] of cases) {
      const { message = '' } = await refused('PATCH', `${DEPLOYMENTS}/web`, { spec }, STRATEGIC);
      assert.ok(message.endsWith(`: ${problem}`), message);
    }
  });
});

describe('A strategic patch of a long list', () => {
  const items = (count: number, value: string) =>
    Array.from({ length: count }, (_, index) => ({ name: `E${index}`, value }));

  it('takes time by the length of the list, not by its square', async () => {
    const { ok } = testServer();
    const container = { name: 'main', image: 'a' };
    const template = (env: object[]) => ({
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ ...container, env }] } },
    });
    await ok('POST', DEPLOYMENTS, deployment('web', template(items(16_000, 'a'))));
    const reversed = items(16_000, 'b').toReversed();
    const spec = { template: { spec: { containers: [{ name: 'main', env: reversed }] } } };
    const began = process.threadCpuUsage();
    const patched = await ok('PATCH', `${DEPLOYMENTS}/web`, { spec }, STRATEGIC);
    const { user } = process.threadCpuUsage(began);
    const [first] = (patched['spec'] as { template: { spec: { containers: { env: object[] }[] } } }).template.spec
      .containers;
    assert.deepEqual(first?.env, reversed);
    // A comparison of each item with each other takes 20 s.
    assert.ok(user < 5_000_000, `${user / 1000} ms`);
  });
});
