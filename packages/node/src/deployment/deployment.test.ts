import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Deployment,
  type DeploymentCondition,
  isNotFound,
  Pod,
  ReplicaSet,
  ReplicationController,
} from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import {
  createStage,
  deployment,
  NAMESPACE,
  podsOf,
  type Stage,
  type StageOptions,
  setsOf,
} from '../stage.test-support.ts';

const web = { namespace: NAMESPACE, name: 'web' };

async function stageFor(context: { after(end: () => Promise<void>): void }, options: Partial<StageOptions> = {}) {
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(7), ...options });
  context.after(() => stage.close());
  return stage;
}

async function current({ client }: Stage): Promise<Deployment> {
  return client.get(Deployment, web);
}

async function isRolledOut(stage: Stage): Promise<boolean> {
  const { spec, status, metadata } = await current(stage);
  const wanted = spec?.replicas ?? 1;
  return (
    status?.observedGeneration === metadata.generation &&
    (status?.updatedReplicas ?? 0) === wanted &&
    (status?.replicas ?? 0) === wanted &&
    (status?.availableReplicas ?? 0) === wanted
  );
}

function setImage(stage: Stage, image: string): Promise<Deployment> {
  const patch = { spec: { template: { spec: { containers: [{ name: 'main', image }] } } } };
  return stage.client.patch(Deployment, web, 'merge', patch);
}

function condition({ status }: Deployment, type: string): DeploymentCondition | undefined {
  return status?.conditions?.find((one) => one.type === type);
}

test('a deployment makes a replica set, which makes pods, which are scheduled and become ready', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 3 }));
  await stage.until(() => isRolledOut(stage));
  const done = await current(stage);
  assert.equal(done.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  assert.equal(done.metadata.generation, 1);
  assert.equal(condition(done, 'Available')?.reason, 'MinimumReplicasAvailable');
  assert.equal(condition(done, 'Progressing')?.reason, 'NewReplicaSetAvailable');
  const [set] = await setsOf(stage.client);
  assert.equal(set?.metadata.name, `web-${set?.metadata.labels?.['pod-template-hash']}`);
  assert.equal(set?.status?.availableReplicas, 3);
  const pods = await podsOf(stage.client);
  assert.equal(pods.length, 3);
  for (const pod of pods) {
    assert.equal(pod.spec?.nodeName, 'capstan');
    assert.equal(pod.metadata.annotations?.['capstan.dev/simulated'], 'true');
    assert.equal(pod.status?.conditions?.find(({ type }) => type === 'capstan.dev/Simulated')?.status, 'True');
    assert.match(pod.status?.podIP ?? '', /^127\.(6[4-9]|[78]\d|9[0-5])\./);
  }
  assert.equal(new Set(pods.map(({ status }) => status?.podIP)).size, 3);
});

test('a settled deployment makes no write, and a restart of everything makes none either but heartbeats', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }));
  await stage.until(() => isRolledOut(stage));
  await stage.pass(5);
  const versions = async () => {
    const objects = [await current(stage), ...(await setsOf(stage.client)), ...(await podsOf(stage.client))];
    return objects.map(({ metadata }) => metadata.resourceVersion);
  };
  const before = await versions();
  await stage.restart();
  await stage.pass(60);
  assert.deepEqual(await versions(), before);
});

test('a rolling update never leaves more or fewer pods than it may', async (t) => {
  const stage = await stageFor(t);
  const spec = { replicas: 8, strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } } };
  await stage.client.create(Deployment, deployment('web', spec));
  await stage.until(() => isRolledOut(stage));
  await setImage(stage, 'example/web:2');
  let steps = 0;
  await stage.until(async () => {
    const pods = (await podsOf(stage.client)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const available = (await setsOf(stage.client)).reduce(
      (sum, { status }) => sum + (status?.availableReplicas ?? 0),
      0,
    );
    assert.ok(pods.length <= 10, `${pods.length} pods at once`);
    assert.ok(available >= 7, `only ${available} available`);
    steps++;
    return isRolledOut(stage);
  });
  assert.ok(steps > 5, 'it took several steps');
  await stage.pass(1);
  const pods = await podsOf(stage.client);
  assert.deepEqual(
    new Set(pods.map(({ spec: { containers } = { containers: [] } }) => containers[0]?.image)),
    new Set(['example/web:2']),
  );
});

test('undoing a rollout uses the old replica set again, as a new revision that remembers its old number', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }));
  await stage.until(() => isRolledOut(stage));
  const [first] = await setsOf(stage.client);
  await setImage(stage, 'example/web:2');
  await stage.until(() => isRolledOut(stage));
  assert.equal((await current(stage)).metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
  await setImage(stage, 'example/web:1');
  await stage.until(() => isRolledOut(stage));
  const again = await stage.client.get(ReplicaSet, { namespace: NAMESPACE, name: first?.metadata.name ?? '' });
  assert.equal(again.spec?.replicas, 2);
  assert.equal(again.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
  assert.equal(again.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1');
  assert.equal((await setsOf(stage.client)).length, 2);
});

test('a change of cause travels to the replica set of its revision', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web'));
  await stage.until(() => isRolledOut(stage));
  const annotations = { 'kubernetes.io/change-cause': 'first' };
  await stage.client.patch(Deployment, web, 'merge', { metadata: { annotations } });
  await stage.pass(1);
  const [set] = await setsOf(stage.client);
  assert.equal(set?.metadata.annotations?.['kubernetes.io/change-cause'], 'first');
});

test('old replica sets beyond the limit of history are deleted, oldest first', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { revisionHistoryLimit: 1 }));
  for (const image of ['a:1', 'a:2', 'a:3']) {
    await setImage(stage, image);
    await stage.until(() => isRolledOut(stage));
    await stage.pass(1);
  }
  const revisions = (await setsOf(stage.client)).map(
    ({ metadata }) => metadata.annotations?.['deployment.kubernetes.io/revision'],
  );
  assert.equal(revisions.length, 2);
  assert.ok(!revisions.includes('1'));
});

test('a paused deployment scales but does not roll, and goes on when it is resumed', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }));
  await stage.until(() => isRolledOut(stage));
  await stage.client.patch(Deployment, web, 'merge', { spec: { paused: true, replicas: 3 } });
  await setImage(stage, 'example/web:2');
  await stage.pass(30);
  assert.equal((await setsOf(stage.client)).length, 1);
  assert.equal((await podsOf(stage.client)).length, 3);
  assert.equal(condition(await current(stage), 'Progressing')?.reason, 'DeploymentPaused');
  await stage.client.patch(Deployment, web, 'merge', { spec: { paused: false } });
  await stage.until(() => isRolledOut(stage));
  assert.equal(condition(await current(stage), 'Progressing')?.reason, 'NewReplicaSetAvailable');
});

test('a rollout that gets nowhere is reported when its deadline has passed, and the old pods go on serving', async (t) => {
  const isUnready = (pod: Pod) => pod.spec?.containers[0]?.image === 'bad:1';
  const stage = await stageFor(t, { nodes: [{ simulate: { isUnready } }] });
  await stage.client.create(Deployment, deployment('web', { replicas: 4, progressDeadlineSeconds: 30 }));
  await stage.until(() => isRolledOut(stage));
  await setImage(stage, 'bad:1');
  await stage.pass(25);
  assert.equal(condition(await current(stage), 'Progressing')?.status, 'True');
  await stage.pass(15);
  const late = await current(stage);
  assert.equal(condition(late, 'Progressing')?.reason, 'ProgressDeadlineExceeded');
  assert.equal(condition(late, 'Progressing')?.status, 'False');
  assert.equal(condition(late, 'Available')?.status, 'True');
  assert.equal(late.status?.availableReplicas, 3);
  await setImage(stage, 'good:1');
  await stage.until(() => isRolledOut(stage));
  assert.equal(condition(await current(stage), 'Progressing')?.status, 'True');
});

test('recreate has no pod of the new template before the last one of the old is gone', async (t) => {
  const stage = await stageFor(t, { nodes: [{ simulate: { stopAfterMs: 2000 } }] });
  await stage.client.create(Deployment, deployment('web', { replicas: 3, strategy: { type: 'Recreate' } }));
  await stage.until(() => isRolledOut(stage));
  await setImage(stage, 'example/web:2');
  await stage.until(async () => {
    const images = (await podsOf(stage.client)).map(({ spec }) => spec?.containers[0]?.image);
    assert.ok(new Set(images).size <= 1, `both at once: ${images.join(', ')}`);
    return isRolledOut(stage);
  });
});

test('scaling in the middle of a rollout is shared out in proportion', async (t) => {
  const isUnready = (pod: Pod) => pod.spec?.containers[0]?.image === 'bad:1';
  const stage = await stageFor(t, { nodes: [{ simulate: { isUnready } }] });
  const strategy = { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } };
  await stage.client.create(Deployment, deployment('web', { replicas: 10, strategy }));
  await stage.until(() => isRolledOut(stage));
  await setImage(stage, 'bad:1');
  await stage.pass(10);
  const sizes = async () =>
    (await setsOf(stage.client)).map(({ spec }) => spec?.replicas ?? 0).toSorted((a, b) => a - b);
  assert.deepEqual(await sizes(), [5, 8]);
  await stage.client.patch(Deployment, web, 'merge', { spec: { replicas: 15 } });
  await stage.pass(10);
  // 18 in all: 8 × 18/13 and 5 × 18/13.
  assert.deepEqual(await sizes(), [7, 11]);
});

test('a pod counts as available only after it has been ready for so long', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { minReadySeconds: 20 }));
  await stage.pass(10);
  assert.equal((await current(stage)).status?.readyReplicas, 1);
  assert.equal((await current(stage)).status?.availableReplicas, undefined);
  await stage.pass(15);
  assert.equal((await current(stage)).status?.availableReplicas, 1);
});

test('a deployment that is deleted takes its replica sets and pods with it', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }));
  await stage.until(() => isRolledOut(stage));
  await stage.client.delete(Deployment, web);
  await stage.until(async () => (await podsOf(stage.client)).length + (await setsOf(stage.client)).length === 0);
  await assert.rejects(current(stage), isNotFound);
});

test('a pod that is deleted is replaced, and one that lost its label is left alone', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }));
  await stage.until(() => isRolledOut(stage));
  const [one, other] = await podsOf(stage.client);
  assert.ok(one && other);
  await stage.client.delete(Pod, { namespace: NAMESPACE, name: one.metadata.name ?? '' });
  await stage.pass(5);
  assert.equal((await podsOf(stage.client)).length, 2);
  const freed = { namespace: NAMESPACE, name: other.metadata.name ?? '' };
  await stage.client.patch(Pod, freed, 'merge', { metadata: { labels: { app: 'other' } } });
  await stage.pass(5);
  assert.equal((await podsOf(stage.client)).length, 3);
  assert.equal((await stage.client.get(Pod, freed)).metadata.ownerReferences, undefined);
  assert.equal((await podsOf(stage.client, 'app=web')).length, 2);
});

test('a rollout that would have to share a port is refused at once, and goes on when the strategy allows it', async (t) => {
  const stage = await stageFor(t);
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  await stage.client.create(Deployment, deployment('web', {}, { containers: [{ name: 'main', image: 'a:1', ports }] }));
  await stage.until(() => isRolledOut(stage));
  const patch = { spec: { template: { spec: { containers: [{ name: 'main', image: 'a:2', ports }] } } } };
  await stage.client.patch(Deployment, web, 'merge', patch);
  await stage.pass(5);
  const refused = condition(await current(stage), 'Progressing');
  assert.equal(refused?.reason, 'ProgressDeadlineExceeded');
  assert.match(
    refused?.message ?? '',
    /would have to share a port with the pods that it replaces.*8080 is held by default\/web-/,
  );
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } };
  await stage.client.patch(Deployment, web, 'merge', { spec: { strategy } });
  await stage.until(() => isRolledOut(stage));
});

test('a replica set that nothing owns is adopted by the deployment that selects it', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web'));
  await stage.until(() => isRolledOut(stage));
  const [set] = await setsOf(stage.client);
  await stage.client.delete(Deployment, web, { propagationPolicy: 'Orphan' });
  await stage.pass(2);
  const orphans = await setsOf(stage.client);
  assert.equal(orphans.length, 1);
  assert.equal(orphans[0]?.metadata.ownerReferences, undefined);
  await stage.client.create(Deployment, deployment('web'));
  await stage.until(() => isRolledOut(stage));
  const sets = await setsOf(stage.client);
  assert.deepEqual(
    sets.map(({ metadata }) => metadata.uid),
    [set?.metadata.uid],
  );
  assert.equal(sets[0]?.metadata.ownerReferences?.[0]?.kind, 'Deployment');
});

test('a revision may be larger than an exact number of JavaScript', async (t) => {
  const stage = await stageFor(t);
  const { metadata, spec } = deployment('web', { replicas: 1 });
  const revision = 'deployment.kubernetes.io/revision';
  const labels = { ...spec?.template.metadata?.labels };
  await stage.client.create(ReplicaSet, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'old', namespace: NAMESPACE, labels, annotations: { [revision]: '3546343826724305832' } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'old' }] } },
    },
  });
  await stage.client.create(Deployment, { ...deployment('web', { replicas: 1 }), metadata });
  await stage.until(() => isRolledOut(stage));
  assert.equal((await current(stage)).metadata.annotations?.[revision], '3546343826724305833');
});

test('a replication controller keeps its number of pods, and adopts one that fits', async (t) => {
  const stage = await stageFor(t);
  const labels = { app: 'old' };
  const spec = { containers: [{ name: 'main', image: 'a' }] };
  const metadata = { name: 'single', namespace: NAMESPACE, labels };
  await stage.client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await stage.client.create(ReplicationController, {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'old', namespace: NAMESPACE },
    spec: { replicas: 2, template: { metadata: { labels }, spec } },
  });
  const find = () => stage.client.get(ReplicationController, { name: 'old', namespace: NAMESPACE });
  await stage.until(async () => (await find()).status?.availableReplicas === 2);
  const pods = await podsOf(stage.client);
  assert.equal(pods.length, 2);
  assert.ok(pods.some((pod) => pod.metadata.name === 'single'));
  assert.deepEqual((await find()).spec?.selector, labels);
});
