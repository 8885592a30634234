import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, CoreEvent, PersistentVolumeClaim, Pod, Secret } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createStage, NAMESPACE, type Stage } from '../stage.test-support.ts';
import { createPodLogs } from './pod-logs.ts';
import { SIMULATED } from './simulated-pod.ts';

const pod = (spec: Partial<Pod['spec']>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: NAMESPACE },
  spec: { containers: [{ name: 'main', image: 'unknown' }], ...spec },
});

async function stageFor(t: { after(end: () => Promise<void>): void }): Promise<Stage> {
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(7) });
  t.after(() => stage.close());
  return stage;
}

const find = ({ client }: Stage) => client.get(Pod, { namespace: NAMESPACE, name: 'web' });
const waitingReason = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason;

async function notes({ client }: Stage): Promise<string[]> {
  const { items } = await client.list(CoreEvent, { namespace: NAMESPACE });
  return items.map(({ reason, message }) => `${reason}: ${message}`);
}

const isReady = async (stage: Stage) =>
  (await find(stage)).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

test('a simulated pod waits for a Secret, a ConfigMap and a claim that it mounts, and an Event names each', async (t) => {
  const stage = await stageFor(t);
  const volumes = [
    { name: 'a', secret: { secretName: 'keys', items: [{ key: 'tls.crt', path: 'tls.crt' }] } },
    { name: 'b', configMap: { name: 'settings' } },
    { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'd', secret: { secretName: 'extra', optional: true } },
  ];
  await stage.client.create(Pod, pod({ volumes }));
  const reports = (text: string) => async () => (await notes(stage)).some((note) => note.includes(text));
  await stage.until(reports('FailedMount: MountVolume.SetUp failed for volume "a" : secret "keys" not found'));
  assert.equal(waitingReason(await find(stage)), 'ContainerCreating');
  assert.equal((await find(stage)).status?.phase, 'Pending');
  const metadata = (name: string) => ({ name, namespace: NAMESPACE });
  await stage.client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: metadata('keys') });
  await stage.until(reports('volume "a" : references non-existent secret key: tls.crt'));
  await stage.client.patch(Secret, metadata('keys'), 'merge', { data: { 'tls.crt': '' } });
  await stage.until(reports('volume "b" : configmap "settings" not found'));
  await stage.client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('settings') });
  await stage.until(reports('volume "c" : persistentvolumeclaim "data" not found'));
  assert.equal(await isReady(stage), false);
  await stage.client.create(PersistentVolumeClaim, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: metadata('data'),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await stage.until(() => isReady(stage));
});

test('a container whose environment names a missing key reports it, and starts when it is there', async (t) => {
  const stage = await stageFor(t);
  const valueFrom = { secretKeyRef: { name: 'keys', key: 'password' } };
  const containers = [{ name: 'main', image: 'unknown', env: [{ name: 'PASSWORD', valueFrom }] }];
  await stage.client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace: NAMESPACE },
  });
  await stage.client.create(Pod, pod({ containers }));
  await stage.until(async () => waitingReason(await find(stage)) === 'CreateContainerConfigError');
  const message = `couldn't find key password in Secret ${NAMESPACE}/keys`;
  assert.equal((await find(stage)).status?.containerStatuses?.[0]?.state?.waiting?.message, message);
  assert.ok((await notes(stage)).includes(`Failed: Error: ${message}`));
  await stage.client.patch(Secret, { name: 'keys', namespace: NAMESPACE }, 'merge', { data: { password: 'eA==' } });
  await stage.until(() => isReady(stage));
});

test('a simulated pod is marked by an Event besides its annotation', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Pod, pod({}));
  await stage.until(() => isReady(stage));
  assert.equal((await find(stage)).metadata.annotations?.[SIMULATED], 'true');
  assert.ok((await notes(stage)).some((note) => note.startsWith('Simulated: This pod is simulated')));
});

test('a pod ends when its deadline is over, also one that was set while it ran', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Pod, pod({ activeDeadlineSeconds: 3600 }));
  await stage.until(() => isReady(stage));
  await stage.client.patch(Pod, { namespace: NAMESPACE, name: 'web' }, 'merge', { spec: { activeDeadlineSeconds: 5 } });
  await stage.until(async () => (await find(stage)).status?.phase === 'Failed');
  assert.equal((await find(stage)).status?.reason, 'DeadlineExceeded');
});

test('the log of a simulated pod is one sentence that says so', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Pod, pod({}));
  await stage.until(() => isReady(stage));
  const { nodeName = '' } = (await find(stage)).spec ?? {};
  const logs = createPodLogs(stage.client, nodeName, undefined, createVirtualClock());
  let text = '';
  for await (const piece of await logs.read(NAMESPACE, 'web')) text += piece;
  assert.match(text, /^pod web is simulated and has no log \(.+\)\n$/);
});

test('a pod with unknownImages fail waits for its image, and is re-checked when that changes', async (t) => {
  const images = [{ match: 'known', entrypoint: ['true'] }];
  const nodes = [{ unknownImages: 'fail' as const, images, name: 'capstan' }];
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(7), nodes });
  t.after(() => stage.close());
  await stage.client.create(Pod, pod({}));
  await stage.until(async () => waitingReason(await find(stage)) === 'ImagePullBackOff');
  const waiting = await find(stage);
  assert.equal(waiting.status?.phase, 'Pending');
  assert.equal(waiting.metadata.annotations?.[SIMULATED], undefined);
  assert.match(
    waiting.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
    /does not know how to run unknown/,
  );
  await stage.until(async () =>
    (await notes(stage)).some((note) => note.startsWith('Failed: Failed to pull image "unknown"')),
  );
  // The stage has no folder for pods, so a pod whose image is known is held for that reason now.
  await stage.client.patch(Pod, { namespace: NAMESPACE, name: 'web' }, 'strategic', {
    spec: { containers: [{ name: 'main', image: 'known' }] },
  });
  await stage.until(async () => waitingReason(await find(stage)) === 'CreateContainerError');
  await stage.client.delete(Pod, { namespace: NAMESPACE, name: 'web' });
  await stage.until(async () => (await stage.client.find(Pod, { namespace: NAMESPACE, name: 'web' })) === undefined);
});

test('the status of a simulated pod reports the generation that it is about', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Pod, pod({}));
  await stage.until(() => isReady(stage));
  await stage.client.patch(Pod, { namespace: NAMESPACE, name: 'web' }, 'strategic', {
    spec: { containers: [{ name: 'main', image: 'another' }] },
  });
  await stage.until(async () => (await find(stage)).status?.observedGeneration === 2);
});

test('a simulated pod with a command that is not repeated has succeeded after a moment; one without a command runs on', async (t) => {
  const stage = await stageFor(t);
  const work = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'unknown', args: ['echo', 'hi'] }] };
  await stage.client.create(Pod, pod(work));
  const other = { ...pod({ restartPolicy: 'Never' }), metadata: { name: 'server', namespace: NAMESPACE } };
  await stage.client.create(Pod, other);
  await stage.until(async () => (await find(stage)).status?.phase === 'Succeeded');
  const server = await stage.client.get(Pod, { namespace: NAMESPACE, name: 'server' });
  assert.equal(server.status?.phase, 'Running');
});
