import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Job, type JobSpec, Pod } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createStage, NAMESPACE, podsOf, type Stage } from '../stage.test-support.ts';

const name = { namespace: NAMESPACE, name: 'work' };

const job = (spec: Partial<JobSpec>): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: name,
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] } }, ...spec },
});

async function stageFor(t: { after(end: () => Promise<void>): void }, spec: Partial<JobSpec>): Promise<Stage> {
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(7) });
  t.after(() => stage.close());
  await stage.client.create(Job, job(spec));
  return stage;
}

const find = ({ client }: Stage) => client.get(Job, name);

async function ends(stage: Stage, type: 'Complete' | 'Failed'): Promise<boolean> {
  const { status } = await find(stage);
  return status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
}

async function fail(stage: Stage, pod: Pod): Promise<void> {
  const status = { ...pod.status, phase: 'Failed' };
  await stage.client.patch(
    Pod,
    { namespace: NAMESPACE, name: pod.metadata.name ?? '' },
    'merge',
    { status },
    { subresource: 'status' },
  );
}

test('a job runs as many pods at once as it may, until enough have succeeded', async (t) => {
  const stage = await stageFor(t, { completions: 3, parallelism: 2 });
  await stage.until(async () => (await podsOf(stage.client)).length === 2);
  await stage.until(() => ends(stage, 'Complete'));
  const { status, spec } = await find(stage);
  assert.deepEqual([status?.succeeded, status?.active], [3, undefined]);
  assert.ok(status?.completionTime);
  const [pod] = await podsOf(stage.client);
  assert.equal(pod?.metadata.labels?.['batch.kubernetes.io/job-name'], 'work');
  assert.deepEqual(Object.keys(spec?.selector?.matchLabels ?? {}), ['batch.kubernetes.io/controller-uid']);
});

test('an indexed job has one pod for each index', async (t) => {
  const stage = await stageFor(t, { completions: 3, parallelism: 3, completionMode: 'Indexed' });
  await stage.until(() => ends(stage, 'Complete'));
  const { status } = await find(stage);
  assert.deepEqual([status?.succeeded, status?.completedIndexes], [3, '0-2']);
  const hosts = (await podsOf(stage.client)).map(({ spec }) => spec?.hostname);
  assert.deepEqual(new Set(hosts), new Set(['work-0', 'work-1', 'work-2']));
});

test('a job whose pods fail more often than it may has failed, and its other pods go', async (t) => {
  const stage = await stageFor(t, { completions: 1, backoffLimit: 0 });
  await stage.until(async () => (await podsOf(stage.client)).length === 1);
  const [pod] = await podsOf(stage.client);
  assert.ok(pod);
  await fail(stage, pod);
  await stage.until(() => ends(stage, 'Failed'));
  const { status } = await find(stage);
  assert.equal(status?.conditions?.find(({ type }) => type === 'Failed')?.reason, 'BackoffLimitExceeded');
});

test('a suspended job has no pods until it is resumed, and one with a time to live goes afterwards', async (t) => {
  const stage = await stageFor(t, { suspend: true, ttlSecondsAfterFinished: 10 });
  await stage.until(async () => (await find(stage)).status?.conditions?.[0]?.type === 'Suspended');
  assert.deepEqual(await podsOf(stage.client), []);
  await stage.client.patch(Job, name, 'merge', { spec: { suspend: false } });
  await stage.until(() => ends(stage, 'Complete'));
  await stage.until(async () => (await stage.client.find(Job, name)) === undefined);
});
