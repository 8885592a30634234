import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, UnknownObject } from '@capstan/kube';
import { testServer } from '../server.test-support.ts';

const PODS = '/api/v1/namespaces/default/pods';
const pod = (name: string, spec: object = {}, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: 'main', image: 'a' }], ...spec },
});
const binding = (node: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name: 'a' },
  target: { kind: 'Node', name: node },
});

describe('a new pod', () => {
  it('gets a service account, a priority, tolerations and a quality-of-service class', async () => {
    const { ok } = testServer();
    const made = (await ok('POST', PODS, pod('a'))) as UnknownObject & Pod;
    assert.equal(made.spec?.serviceAccountName, 'default');
    assert.deepEqual([made.spec?.priority, made.spec?.preemptionPolicy], [0, 'PreemptLowerPriority']);
    assert.deepEqual(
      made.spec?.tolerations?.map(({ key, tolerationSeconds }) => [key, tolerationSeconds]),
      [
        ['node.kubernetes.io/not-ready', 300],
        ['node.kubernetes.io/unreachable', 300],
      ],
    );
    assert.deepEqual(made.status, { phase: 'Pending', qosClass: 'BestEffort' });
    const limits = { cpu: '1', memory: '1Gi' };
    const sized = await ok('POST', PODS, pod('b', { containers: [{ name: 'm', image: 'a', resources: { limits } }] }));
    assert.equal((sized as Pod).status?.qosClass, 'Guaranteed');
  });

  it('has the priority of its class, which must be there', async () => {
    const { ok, refused } = testServer();
    const missing = await refused('POST', PODS, pod('a', { priorityClassName: 'high' }));
    assert.equal(missing.message, 'pods "a" is forbidden: no PriorityClass with name high was found');
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    await ok('POST', classes, { metadata: { name: 'high' }, value: 7, globalDefault: true });
    assert.equal(((await ok('POST', PODS, pod('a', { priorityClassName: 'high' }))) as Pod).spec?.priority, 7);
    const second = (await ok('POST', PODS, pod('b'))) as Pod;
    assert.deepEqual([second.spec?.priority, second.spec?.priorityClassName], [7, 'high']);
  });
});

describe('binding', () => {
  it('puts a pod on a node, once', async () => {
    const { ok, refused } = testServer();
    await ok('POST', PODS, pod('a'));
    await ok('POST', `${PODS}/a/binding`, binding('n1'));
    const bound = (await ok('GET', `${PODS}/a`)) as Pod;
    assert.equal(bound.spec?.nodeName, 'n1');
    assert.deepEqual(
      bound.status?.conditions?.map(({ type, status }) => [type, status]),
      [['PodScheduled', 'True']],
    );
    const again = await refused('POST', `${PODS}/a/binding`, binding('n2'));
    assert.match(again.message ?? '', /pod a is already assigned to node "n1"/);
    const moved = { spec: { nodeName: 'n2' } };
    assert.equal(
      (await refused('PATCH', `${PODS}/a`, moved, { contentType: 'application/merge-patch+json' })).code,
      422,
    );
  });
});

describe('eviction', () => {
  it('deletes the pod, unless a budget has nothing left', async () => {
    const { ok, refused } = testServer();
    const running = async (name: string) => {
      const made = await ok('POST', PODS, pod(name, {}, { app: 'a' }));
      await ok('PUT', `${PODS}/${name}/status`, { ...made, status: { phase: 'Running' } });
    };
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' } };
    await running('a');
    await ok('POST', `${PODS}/a/eviction`, eviction);
    assert.equal((await refused('GET', `${PODS}/a`)).code, 404);
    await running('a');
    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'a' } } };
    await ok('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', { metadata: { name: 'b' }, spec });
    const refusal = await refused('POST', `${PODS}/a/eviction`, eviction);
    assert.equal(refusal.code, 429);
    assert.equal(refusal.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  });
});

describe('logs', () => {
  it('come from who runs the pods, with what was asked for', async () => {
    const asked: unknown[] = [];
    const { ok, send, clock } = testServer({
      readLogs: (namespace, name, container, options) => {
        asked.push([namespace, name, container, options]);
        return Promise.resolve(['one\n', 'two\n'].values() as unknown as AsyncIterable<string>);
      },
    });
    await ok('POST', PODS, pod('a'));
    const query = { container: 'main', tailLines: '5', sinceSeconds: '10', timestamps: 'true' };
    const answer = await send('GET', `${PODS}/a/log`, undefined, { query });
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'text/plain']);
    assert.deepEqual(asked, [
      [
        'default',
        'a',
        'main',
        { follow: false, previous: false, timestamps: true, tailLines: 5, since: clock.now() - 10_000 },
      ],
    ]);
  });

  it('are refused in words where there are none', async () => {
    const { ok, refused } = testServer();
    assert.equal((await refused('GET', `${PODS}/a/log`)).message, 'pods "a" not found');
    await ok('POST', PODS, pod('a'));
    assert.match((await refused('GET', `${PODS}/a/log`)).message ?? '', /nothing on this server runs pods/);
    const failing = testServer({ readLogs: () => Promise.reject(new Error('container "x" is not in pod a')) });
    await failing.ok('POST', PODS, pod('a'));
    const refusal = await failing.refused('GET', `${PODS}/a/log`);
    assert.deepEqual([refusal.code, refusal.message], [400, 'container "x" is not in pod a']);
  });
});
