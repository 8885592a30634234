import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createApiServer } from '@capstan/apiserver';
import {
  type Client,
  ConfigMap,
  type Container,
  createClient,
  Node,
  Pod,
  type PodSpec,
  Secret,
  ServiceAccount,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { createControllers } from '../controllers.ts';
import type { KnownImage } from '../images/image-table.ts';
import { createNode, type LocalNode } from '../node/local-node.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../process/identity.ts';

// These tests run real processes on addresses of the loopback network, which Linux has without being asked.
const skip = process.platform === 'linux' ? false : 'needs the loopback addresses 127.64.0.0/11: run it on Linux';

const NAMESPACE = 'default';

/** A web server that returns the requested value: a file, a variable, its process id. */
const SERVER = `
  const { createServer } = require('node:http');
  const { readFileSync } = require('node:fs');
  console.log('begin', ...process.argv.slice(1));
  process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(0); });
  createServer((request, response) => {
    const url = new URL(request.url, 'http://x');
    const file = url.searchParams.get('file');
    const name = url.searchParams.get('env');
    if (url.pathname === '/crash') process.exit(3);
    if (url.pathname === '/sick') globalThis.sick = true;
    if (url.pathname === '/health' && globalThis.sick) response.statusCode = 500;
    response.end(file ? readFileSync(file, 'utf8') : name ? process.env[name] : String(process.pid));
  }).listen(8080, process.env.POD_IP);
`;
const images: KnownImage[] = [
  { match: 'test/server', entrypoint: [process.execPath, '-e', SERVER] },
  { match: 'test/mapped', entrypoint: [process.execPath, '-e', SERVER], substituteInFiles: true },
  { match: 'test/node', entrypoint: [process.execPath, '-e'], programs: { node: [process.execPath] } },
];

interface Place {
  client: Client;
  node: LocalNode;
  dataDir: string;
  /** Stops the node and starts another on the same folder. */
  restart(): Promise<void>;
}

async function createPlace(t: TestContext): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'capstan-node-'));
  const clock = systemClock;
  const random = createRandom(process.pid);
  const serviceAccountKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const server = createApiServer({ clock, random, serviceAccountKey });
  const client = createClient({ transport: server.transport(), clock, random, logger: silentLogger });
  const common = { client, clock, random, logger: silentLogger };
  const control = new AbortController();
  const controlling = createControllers({ ...common, rootCertificate: 'the root' }).run(control.signal);
  const start = () => {
    const abort = new AbortController();
    const node = createNode({ ...common, images, dataDir });
    return { node, abort, running: node.run(abort.signal) };
  };
  let current = start();
  const stop = async () => {
    current.abort.abort();
    await current.running;
  };
  t.after(async () => {
    await stop();
    control.abort();
    await controlling;
    await server.close();
    await rm(dataDir, { recursive: true });
  });
  await until(async () => (await client.find(Node, { name: 'capstan' })) !== undefined);
  return {
    client,
    dataDir,
    get node() {
      return current.node;
    },
    async restart() {
      await stop();
      current = start();
    },
  };
}

async function until(isSo: () => Promise<boolean>, what = 'it'): Promise<void> {
  for (const began = Date.now(); Date.now() - began < 20_000; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${what} was not reached in time`);
}

function pod(name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: { containers: [{ name: 'main', image: 'test/server:1', ...container }], ...spec },
  };
}

const at = (name: string) => ({ namespace: NAMESPACE, name });

async function ready(client: Client, name: string): Promise<Pod> {
  let found: Pod | undefined;
  await until(async () => {
    found = await client.find(Pod, at(name));
    return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  }, `readiness of ${name}`);
  assert.ok(found);
  return found;
}

async function ask(address: string | undefined, path = '/'): Promise<string> {
  const response = await fetch(`http://${address}:8080${path}`);
  return response.text();
}

async function logsOf({ node }: Place, name: string, options: Parameters<LocalNode['logs']>[3] = {}): Promise<string> {
  let text = '';
  for await (const piece of await node.logs(NAMESPACE, name, undefined, options)) text += piece;
  return text;
}

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
