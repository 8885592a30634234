import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Node, Pod, type PodSpec } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createStage, NAMESPACE, type Stage, type StageOptions } from '../stage.test-support.ts';

async function stageFor(context: { after(end: () => Promise<void>): void }, nodes: StageOptions['nodes'] = [{}]) {
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(3), nodes });
  context.after(() => stage.close());
  return stage;
}

async function placed(stage: Stage, name: string, spec: Partial<PodSpec>, labels: Record<string, string> = {}) {
  const containers = [{ name: 'main', image: 'x' }];
  await stage.client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels },
    spec: { containers, ...spec },
  });
  await stage.pass(1);
  const pod = await stage.client.get(Pod, { namespace: NAMESPACE, name });
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return pod.spec?.nodeName ?? `${condition?.reason}: ${condition?.message}`;
}

const affinity = (operator: string, values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator, values }] }],
    },
  },
});

const request = (requests: Record<string, string>) => ({
  containers: [{ name: 'main', image: 'x', resources: { requests } }],
});
const hostPort = (port: number) => ({
  containers: [{ name: 'main', image: 'x', ports: [{ containerPort: port, hostPort: port }] }],
});

test('pods go where they select, tolerate and fit, and the others say why they wait', async (t) => {
  const stage = await stageFor(t, [
    { name: 'a', labels: { zone: 'east', size: '10' } },
    { name: 'b', labels: { zone: 'west', size: '20' } },
    { name: 'c', labels: { zone: 'west' }, taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] },
  ]);
  const cases: [string, Partial<PodSpec>, string | RegExp][] = [
    ['selector', { nodeSelector: { zone: 'east' } }, 'a'],
    ['in', { affinity: affinity('In', ['west', 'north']) }, 'b'],
    ['notin', { affinity: affinity('NotIn', ['west']) }, 'a'],
    [
      'nowhere',
      { nodeSelector: { zone: 'north' } },
      /^Unschedulable: 0\/3 nodes are available: 1 node\(s\) had untolerated taint \{gpu: yes\}, 2 node\(s\) didn't match Pod's node affinity\/selector\.$/,
    ],
    [
      'tolerating',
      { nodeSelector: { 'kubernetes.io/hostname': 'c' }, tolerations: [{ key: 'gpu', operator: 'Exists' }] },
      'c',
    ],
    [
      'wrong-value',
      { nodeSelector: { 'kubernetes.io/hostname': 'c' }, tolerations: [{ key: 'gpu', value: 'no' }] },
      /^Unschedulable/,
    ],
    ['cpu', request({ cpu: '5' }), /Insufficient cpu/],
    ['memory', request({ memory: '9Gi' }), /2 Insufficient memory/],
    ['fits', request({ cpu: '3', memory: '2Gi' }), 'b'],
    ['fits-no-more', { ...request({ cpu: '2' }), nodeSelector: { zone: 'west' } }, /1 Insufficient cpu/],
  ];
  for (const [name, spec, expected] of cases) {
    const where = await placed(stage, name, spec);
    if (typeof expected === 'string') assert.equal(where, expected, name);
    else assert.match(where, expected, name);
  }
});

test('a port of the host is given to one pod only, and to the next when that one is gone', async (t) => {
  const stage = await stageFor(t);
  assert.equal(await placed(stage, 'one', hostPort(8080)), 'capstan');
  assert.match(
    await placed(stage, 'two', hostPort(8080)),
    /free ports for the requested pod ports \(8080 is held by default\/one\)/,
  );
  assert.equal(await placed(stage, 'three', hostPort(8081)), 'capstan');
  await stage.client.delete(Pod, { namespace: NAMESPACE, name: 'one' });
  await stage.pass(2);
  assert.equal((await stage.client.get(Pod, { namespace: NAMESPACE, name: 'two' })).spec?.nodeName, 'capstan');
});

test('a pod that waits is scheduled as soon as a node takes it', async (t) => {
  const stage = await stageFor(t);
  assert.match(await placed(stage, 'one', { nodeSelector: { disk: 'fast' } }), /^Unschedulable/);
  await stage.client.patch(Node, { name: 'capstan' }, 'merge', { metadata: { labels: { disk: 'fast' } } });
  await stage.pass(2);
  const pod = await stage.client.get(Pod, { namespace: NAMESPACE, name: 'one' });
  assert.equal(pod.spec?.nodeName, 'capstan');
  assert.equal(pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status, 'True');
});

test('a cordoned node takes nothing new', async (t) => {
  const stage = await stageFor(t);
  await stage.client.patch(Node, { name: 'capstan' }, 'merge', { spec: { unschedulable: true } });
  assert.match(await placed(stage, 'one', {}), /1 node\(s\) were unschedulable/);
});

test('pods that keep away from each other go to different nodes, and the third waits', async (t) => {
  const stage = await stageFor(t, [{ name: 'a' }, { name: 'b' }]);
  const spec = {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
        ],
      },
    },
  };
  const labels = { app: 'db' };
  assert.equal(await placed(stage, 'one', spec, labels), 'a');
  assert.equal(await placed(stage, 'two', spec, labels), 'b');
  assert.match(await placed(stage, 'three', spec, labels), /anti-affinity rules/);
  assert.ok(['a', 'b'].includes(await placed(stage, 'other', {})));
});

test('pods of a node that is gone are removed after a while', async (t) => {
  const stage = await stageFor(t);
  await placed(stage, 'one', { nodeName: 'nowhere' });
  await stage.pass(20);
  await stage.client.get(Pod, { namespace: NAMESPACE, name: 'one' });
  await stage.pass(30);
  assert.equal(await stage.client.find(Pod, { namespace: NAMESPACE, name: 'one' }), undefined);
});
