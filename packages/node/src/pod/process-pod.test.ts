import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap, Pod, Secret, ServiceAccount } from '@capstan/kube';
import { identityOf, isAlive } from '../process/identity.ts';
import { ask, at, createPlace, logsOf, NAMESPACE, pod, ready, skip, until } from './process-pod.test-support.ts';

test('a pod of a known image is a process on an address of its own, and ends with the pod', { skip }, async (t) => {
  const place = await createPlace(t);
  const { client, dataDir } = place;
  const readinessProbe = { httpGet: { path: '/health', port: 8080 }, periodSeconds: 1 };
  await client.create(
    Pod,
    pod('one', { readinessProbe, args: ['hello', '$(GREETING)'], env: [{ name: 'GREETING', value: 'you' }] }),
  );
  await client.create(Pod, pod('two', { readinessProbe }));
  const one = await ready(client, 'one');
  const two = await ready(client, 'two');
  assert.equal(one.status?.phase, 'Running');
  assert.equal(one.metadata.annotations?.['capstan.dev/simulated'], undefined);
  assert.match(one.status?.podIP ?? '', /^127\./);
  assert.notEqual(one.status?.podIP, two.status?.podIP);
  const pid = Number(await ask(one.status?.podIP));
  assert.notEqual(String(pid), await ask(two.status?.podIP));
  assert.equal(one.status?.containerStatuses?.[0]?.restartCount, 0);
  assert.match(await logsOf(place, 'one'), /^begin hello you\n/);
  const identity = await identityOf(pid);
  assert.ok(identity);
  await client.delete(Pod, at('one'));
  await until(async () => (await client.find(Pod, at('one'))) === undefined);
  assert.equal(await isAlive(identity), false);
  // The folder goes right after the pod, not with it.
  const folder = join(dataDir, 'pods', one.metadata.uid ?? '');
  await until(() => access(folder).then(isThere, isGone), 'the removal of its folder');
});

const isThere = () => false;

const isGone = () => true;

test('environment and files come from ConfigMaps, Secrets and the pod itself, and files follow their source', {
  skip,
}, async (t) => {
  const { client } = await createPlace(t);
  const configMap: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: at('settings'),
    data: { color: 'blue', 'app.yaml': 'level: 1' },
  };
  await client.create(ConfigMap, configMap);
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: at('keys'),
    stringData: { password: 'sesame' },
  });
  await client.create(
    Pod,
    pod(
      'one',
      {
        env: [
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
          { name: 'CONFIG', value: '/etc/settings/app.yaml' },
          { name: 'INFO', value: '--info=/etc/info/labels,/etc/info/password' },
        ],
        envFrom: [{ configMapRef: { name: 'settings' }, prefix: 'S_' }],
        resources: { requests: { cpu: '250m' } },
        volumeMounts: [
          { name: 'settings', mountPath: '/etc/settings' },
          { name: 'info', mountPath: '/etc/info/' },
        ],
      },
      {
        volumes: [
          { name: 'settings', configMap: { name: 'settings' } },
          {
            name: 'info',
            projected: {
              sources: [
                { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
                { secret: { name: 'keys', items: [{ key: 'password', path: 'password', mode: 0o400 }] } },
              ],
            },
          },
        ],
      },
    ),
  );
  const address = (await ready(client, 'one')).status?.podIP;
  let config = '';
  await until(async () => {
    config = await ask(address, '/?env=CONFIG').catch(() => '');
    return config !== '';
  });
  const variable = (name: string) => ask(address, `/?env=${name}`);
  assert.deepEqual(await Promise.all(['COLOR', 'S_color', 'PASSWORD', 'NODE', 'CPU', 'POD_IP'].map(variable)), [
    'blue',
    'blue',
    'sesame',
    'capstan',
    '250',
    address,
  ]);
  assert.equal(await ask(address, `/?file=${config}`), 'level: 1');
  const [labels = '', password = ''] = (await variable('INFO')).replace('--info=', '').split(',');
  assert.equal(await ask(address, `/?file=${labels}`), 'app="one"');
  assert.equal(await ask(address, `/?file=${password}`), 'sesame');
  await client.patch(ConfigMap, at('settings'), 'merge', { data: { 'app.yaml': 'level: 2' } });
  await until(async () => (await ask(address, `/?file=${config}`)) === 'level: 2', 'the change of the file');
});

test('files of ConfigMaps name the folders of mounts where the image asks for it, in a pod with an identity', {
  skip,
}, async (t) => {
  const { client } = await createPlace(t);
  await client.create(ConfigMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: at('settings'),
    data: { 'app.yaml': 'include: /etc/settings/more.yaml', 'more.yaml': 'level: 1' },
  });
  await until(async () => (await client.find(ServiceAccount, at('default'))) !== undefined, 'the default account');
  const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
  await client.create(
    Pod,
    pod(
      'one',
      {
        image: 'test/mapped',
        readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
        env: [
          { name: 'CONFIG', value: '/etc/settings/app.yaml' },
          { name: 'TOKEN', value: token },
        ],
        volumeMounts: [{ name: 'settings', mountPath: '/etc/settings' }],
      },
      { volumes: [{ name: 'settings', configMap: { name: 'settings' } }] },
    ),
  );
  const address = (await ready(client, 'one')).status?.podIP;
  const config = await ask(address, `/?file=${await ask(address, '/?env=CONFIG')}`);
  assert.equal(await ask(address, `/?file=${config.replace('include: ', '')}`), 'level: 1');
  assert.match(await ask(address, `/?file=${await ask(address, '/?env=TOKEN')}`), /^[^.]+\.[^.]+\.[^.]+$/);
});

test('init containers run one after the other before the rest, beside their sidecars', { skip }, async (t) => {
  const place = await createPlace(t);
  const { client } = place;
  const append = (text: string) => ['node', '-e', `require('fs').appendFileSync('/shared/order', '${text} ')`];
  const volumeMounts = [{ name: 'work', mountPath: '/shared' }];
  const image = 'test/node';
  await client.create(
    Pod,
    pod(
      'one',
      {
        image,
        volumeMounts,
        command: ['node', '-e', `console.log(require('fs').readFileSync('/shared/order', 'utf8'))`],
      },
      {
        restartPolicy: 'Never',
        volumes: [{ name: 'work', emptyDir: {} }],
        initContainers: [
          { name: 'first', image, volumeMounts, command: append('first') },
          {
            name: 'side',
            image,
            volumeMounts,
            restartPolicy: 'Always',
            command: [
              'node',
              '-e',
              `require('fs').appendFileSync('/shared/order', 'side '); setInterval(() => {}, 1000)`,
            ],
            startupProbe: {
              exec: {
                command: [
                  'node',
                  '-e',
                  `if (!require('fs').readFileSync('/shared/order', 'utf8').includes('side')) process.exit(1)`,
                ],
              },
              periodSeconds: 1,
              failureThreshold: 10,
            },
          },
          { name: 'second', image, volumeMounts, command: append('second') },
        ],
      },
    ),
  );
  await until(async () => (await client.get(Pod, at('one'))).status?.phase === 'Succeeded', 'the end of the pod');
  const { status } = await client.get(Pod, at('one'));
  assert.equal(await logsOf(place, 'one'), 'first side second \n');
  assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
  assert.equal(status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
  await until(async () => {
    const pods = await client.get(Pod, at('one'));
    return pods.status?.initContainerStatuses?.[1]?.state?.terminated !== undefined;
  }, 'the end of the sidecar');
});

test('a log is followed until its container ends', { skip }, async (t) => {
  const place = await createPlace(t);
  const { client, node } = place;
  const chatty = 'let n = 0; setInterval(() => { console.log("line", ++n); if (n === 5) process.exit(0) }, 50)';
  await client.create(
    Pod,
    pod('one', { image: 'test/node', command: ['node', '-e', chatty] }, { restartPolicy: 'Never' }),
  );
  await until(
    async () => (await client.get(Pod, at('one'))).status?.containerStatuses?.[0]?.state?.running !== undefined,
  );
  let text = '';
  for await (const piece of await node.logs(NAMESPACE, 'one', 'main', { follow: true })) text += piece;
  assert.equal(text, 'line 1\nline 2\nline 3\nline 4\nline 5\n');
  assert.equal(await logsOf(place, 'one', { tailLines: 2 }), 'line 4\nline 5\n');
});
