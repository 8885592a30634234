import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Pod, Secret } from '@capstan/kube';
import { identityOf, isAlive, type ProcessIdentity } from '../process/identity.ts';
import { ask, at, createPlace, logsOf, pod, ready, skip, until } from './process-pod.test-support.ts';

test('a container that ends is started again, later each time, and its former log can be read', { skip }, async (t) => {
  const place = await createPlace(t);
  const { client } = place;
  await client.create(
    Pod,
    pod('one', { image: 'test/node', command: ['node', '-e', 'console.log("run"); process.exit(3)'] }),
  );
  let found: Pod | undefined;
  await until(async () => {
    found = await client.find(Pod, at('one'));
    return found?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
  });
  const [status] = found?.status?.containerStatuses ?? [];
  assert.match(status?.state?.waiting?.message ?? '', /^back-off 10s restarting failed container=main pod=one_default/);
  assert.equal(status?.restartCount, 1);
  assert.equal(status?.lastState?.terminated?.exitCode, 3);
  assert.equal(status?.ready, false);
  assert.equal(await logsOf(place, 'one'), 'run\n');
  assert.equal(await logsOf(place, 'one', { previous: true }), 'run\n');
  assert.match(await logsOf(place, 'one', { timestamps: true }), /^\d{4}-\d\d-\d\dT[\d:.]+Z run\n$/);
});

test('a pod whose container fails and is not to be restarted has failed', { skip }, async (t) => {
  const { client } = await createPlace(t);
  await client.create(
    Pod,
    pod('one', { image: 'test/node', command: ['node', '-e', 'process.exit(4)'] }, { restartPolicy: 'Never' }),
  );
  await until(async () => (await client.get(Pod, at('one'))).status?.phase === 'Failed');
  const { status } = await client.get(Pod, at('one'));
  assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 4);
});

test('a container that stops being well is restarted', { skip }, async (t) => {
  const { client } = await createPlace(t);
  const livenessProbe = {
    httpGet: { path: '/health', port: 8080 },
    periodSeconds: 1,
    failureThreshold: 1,
    initialDelaySeconds: 1,
  };
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
  await client.create(Pod, pod('one', { livenessProbe, readinessProbe }));
  const address = (await ready(client, 'one')).status?.podIP;
  const before = await ask(address);
  await ask(address, '/sick');
  await until(
    async () => (await client.get(Pod, at('one'))).status?.containerStatuses?.[0]?.restartCount === 1,
    'the restart',
  );
  await ready(client, 'one');
  assert.notEqual(await ask(address), before);
});

test('a container waits for the secret that it needs, says so, and goes on when it is there', { skip }, async (t) => {
  const { client } = await createPlace(t);
  const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } }];
  await client.create(Pod, pod('one', { env }));
  await until(async () => {
    const waiting = (await client.get(Pod, at('one'))).status?.containerStatuses?.[0]?.state?.waiting;
    return waiting?.reason === 'CreateContainerConfigError' && waiting.message === 'secret "keys" not found';
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: at('keys'),
    stringData: { password: 'x' },
  });
  await ready(client, 'one');
});

test('before it is ended a container runs its hook, within its grace', { skip }, async (t) => {
  const place = await createPlace(t);
  const { client, dataDir } = place;
  const preStop = { exec: { command: ['node', '-e', `require('fs').writeFileSync('${dataDir}/hook', 'ran')`] } };
  const stubborn = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)';
  await client.create(
    Pod,
    pod(
      'one',
      { image: 'test/node', command: ['node', '-e', stubborn], lifecycle: { preStop } },
      { terminationGracePeriodSeconds: 1 },
    ),
  );
  await ready(client, 'one');
  await client.delete(Pod, at('one'));
  await until(async () => (await client.find(Pod, at('one'))) === undefined, 'the end of a stubborn process');
  await access(join(dataDir, 'hook'));
});

test('a node that stops ends its processes, and its successor starts them again on their address', {
  skip,
}, async (t) => {
  const place = await createPlace(t);
  const { client } = place;
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
  await client.create(Pod, pod('one', { readinessProbe }));
  const address = (await ready(client, 'one')).status?.podIP;
  const identity: ProcessIdentity | undefined = await identityOf(Number(await ask(address)));
  assert.ok(identity);
  await place.restart();
  assert.equal(await isAlive(identity), false);
  await until(async () => (await client.get(Pod, at('one'))).status?.containerStatuses?.[0]?.restartCount === 1);
  const again = await ready(client, 'one');
  assert.equal(again.status?.podIP, address);
  await until(async () => (await ask(address).catch(() => '')) !== '');
});
