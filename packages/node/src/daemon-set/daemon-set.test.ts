import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControllerRevision, DaemonSet, type DaemonSetSpec, Node, Pod } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createStage, NAMESPACE, podsOf, type Stage } from '../stage.test-support.ts';

const agent = { namespace: NAMESPACE, name: 'agent' };

function daemonSet(spec: Partial<DaemonSetSpec> = {}, image = 'agent:1'): DaemonSet {
  const labels = { app: 'agent' };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: agent,
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
      ...spec,
    },
  };
}

async function stageFor(context: { after(end: () => Promise<void>): void }): Promise<Stage> {
  const stage = await createStage({
    clock: createVirtualClock(),
    random: createRandom(11),
    nodes: [
      { name: 'a', labels: { zone: 'east' } },
      { name: 'b', labels: { zone: 'west' } },
      { name: 'c', labels: { zone: 'west' }, taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
    ],
  });
  context.after(() => stage.close());
  return stage;
}

const nodesOf = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.nodeName ?? 'none').toSorted();
const imagesOf = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.containers[0]?.image ?? '').toSorted();

async function setImage(stage: Stage, image: string): Promise<void> {
  const patch = { spec: { template: { spec: { containers: [{ name: 'main', image }] } } } };
  await stage.client.patch(DaemonSet, agent, 'merge', patch);
}

test('a daemon set has a pod on every node that it tolerates and selects, and follows the labels of nodes', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(DaemonSet, daemonSet());
  await stage.pass(5);
  assert.deepEqual(nodesOf(await podsOf(stage.client)), ['a', 'b']);
  const { status } = await stage.client.get(DaemonSet, agent);
  assert.deepEqual(
    [status?.desiredNumberScheduled, status?.currentNumberScheduled, status?.numberReady, status?.numberAvailable],
    [2, 2, 2, 2],
  );
  await stage.client.patch(DaemonSet, agent, 'merge', {
    spec: { template: { spec: { nodeSelector: { zone: 'west' } } } },
  });
  await stage.pass(10);
  assert.deepEqual(nodesOf(await podsOf(stage.client)), ['b']);
  await stage.client.patch(Node, { name: 'a' }, 'merge', { metadata: { labels: { zone: 'west' } } });
  await stage.pass(5);
  assert.deepEqual(nodesOf(await podsOf(stage.client)), ['a', 'b']);
});

test('an update goes node by node, and can be undone from its history', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(DaemonSet, daemonSet());
  await stage.pass(5);
  await setImage(stage, 'agent:2');
  await stage.until(async () => {
    const { status } = await stage.client.get(DaemonSet, agent);
    assert.ok((status?.numberAvailable ?? 0) >= 1, 'one node at a time');
    return status?.observedGeneration === 2 && status.updatedNumberScheduled === 2 && status.numberAvailable === 2;
  });
  assert.deepEqual(imagesOf(await podsOf(stage.client)), ['agent:2', 'agent:2']);
  const { items } = await stage.client.list(ControllerRevision, { namespace: NAMESPACE });
  assert.deepEqual(
    items.map(({ revision }) => revision).toSorted((a, b) => a - b),
    [1, 2],
  );
  const first = items.find(({ revision }) => revision === 1);
  await stage.client.patch(DaemonSet, agent, 'strategic', first?.data);
  await stage.pass(15);
  assert.deepEqual(imagesOf(await podsOf(stage.client)), ['agent:1', 'agent:1']);
  const { items: after } = await stage.client.list(ControllerRevision, { namespace: NAMESPACE });
  assert.deepEqual(
    after.map(({ revision }) => revision).toSorted((a, b) => a - b),
    [2, 3],
  );
});

test('a pod with OnDelete is updated when a user deletes it and not before', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(DaemonSet, daemonSet({ updateStrategy: { type: 'OnDelete' } }));
  await stage.pass(5);
  await setImage(stage, 'agent:2');
  await stage.pass(10);
  const [one] = await podsOf(stage.client);
  assert.deepEqual(imagesOf(await podsOf(stage.client)), ['agent:1', 'agent:1']);
  await stage.client.delete(Pod, { namespace: NAMESPACE, name: one?.metadata.name ?? '' });
  await stage.pass(5);
  assert.deepEqual(imagesOf(await podsOf(stage.client)), ['agent:1', 'agent:2']);
});

test('a surging update has the new pod serve before the old one goes', async (t) => {
  const stage = await stageFor(t);
  const updateStrategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  await stage.client.create(DaemonSet, daemonSet({ updateStrategy }));
  await stage.pass(5);
  await setImage(stage, 'agent:2');
  await stage.until(async () => {
    const { status } = await stage.client.get(DaemonSet, agent);
    assert.equal(status?.numberAvailable, 2);
    return status?.observedGeneration === 2 && status.updatedNumberScheduled === 2;
  });
  await stage.pass(5);
  assert.deepEqual(imagesOf(await podsOf(stage.client)), ['agent:2', 'agent:2']);
});
