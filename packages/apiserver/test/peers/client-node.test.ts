// The official JavaScript client against the embedded API server, over HTTPS with the kubeconfig that it writes: it must
// work as with any cluster. `npm run setup:real -- peers` brings the client.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createClient, Pod, systemClock } from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { type PodStreams, startCluster } from '../../src/index.ts';

const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const entry = join(real, 'peers', 'node_modules', '@kubernetes', 'client-node', 'dist', 'index.js');
const skip = existsSync(entry) ? false : 'the official client is not there: npm run setup:real -- peers';

interface Named {
  metadata?: { name?: string };
  data?: Record<string, string>;
}
/** The parts of the official client that are used here. */
interface Official {
  KubeConfig: new () => {
    loadFromString(text: string): void;
    makeApiClient<T>(type: new (...args: never[]) => T): T;
  };
  CoreV1Api: new () => {
    createNamespacedConfigMap(request: object): Promise<Named>;
    readNamespacedConfigMap(request: object): Promise<Named>;
    listNamespacedConfigMap(request: object): Promise<{ items: Named[] }>;
    patchNamespacedConfigMap(request: object, options: unknown): Promise<Named>;
    deleteNamespacedConfigMap(request: object): Promise<unknown>;
  };
  makeInformer(
    config: unknown,
    path: string,
    list: () => Promise<unknown>,
  ): { on(event: string, listener: (object: Named) => void): void; start(): Promise<void>; stop(): Promise<void> };
  Exec: new (
    config: unknown,
  ) => {
    exec(
      namespace: string,
      pod: string,
      container: string,
      command: string[],
      stdout: Writable,
      stderr: Writable,
      stdin: Readable | null,
      tty: boolean,
      done: (status: { status?: string; message?: string }) => void,
    ): Promise<unknown>;
  };
  PortForward: new (
    config: unknown,
  ) => {
    portForward(
      namespace: string,
      pod: string,
      ports: number[],
      output: Writable,
      errors: Writable | null,
      input: Readable,
    ): Promise<{ close(): void }>;
  };
  setHeaderOptions(name: string, value: string): unknown;
  PatchStrategy: Record<'MergePatch' | 'StrategicMergePatch' | 'JsonPatch' | 'ServerSideApply', string>;
}

test('the official JavaScript client creates, lists, watches, patches and deletes', { skip }, async (t) => {
  const official = (await import(pathToFileURL(entry).href)) as Official;
  const cluster = await startCluster({ clock: systemClock, random: createRandom(process.pid), port: 0 });
  t.after(() => cluster.close());
  const config = new official.KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  const core = config.makeApiClient(official.CoreV1Api);
  const namespace = 'default';
  const seen: string[] = [];
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'peer=yes' });
  const informer = official.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list);
  for (const event of ['add', 'update', 'delete']) {
    informer.on(event, ({ metadata, data }) => {
      if (metadata?.name?.startsWith('peer-')) seen.push(`${event} ${metadata.name} ${data?.['word'] ?? ''}`);
    });
  }
  await informer.start();
  t.after(() => informer.stop());

  const body = (name: string) => ({ metadata: { name, labels: { peer: 'yes' } }, data: { word: 'one' } });
  for (const name of ['peer-a', 'peer-b']) await core.createNamespacedConfigMap({ namespace, body: body(name) });
  assert.deepEqual(
    (await list()).items.map(({ metadata }) => metadata?.name),
    ['peer-a', 'peer-b'],
  );

  const patch = (strategy: keyof Official['PatchStrategy'], content: unknown, more: object = {}) =>
    core.patchNamespacedConfigMap(
      { namespace, name: 'peer-a', body: content, ...more },
      official.setHeaderOptions('Content-Type', official.PatchStrategy[strategy]),
    );
  assert.equal((await patch('MergePatch', { data: { word: 'two' } })).data?.['word'], 'two');
  assert.equal((await patch('StrategicMergePatch', { data: { word: 'three' } })).data?.['word'], 'three');
  assert.equal(
    (await patch('JsonPatch', [{ op: 'replace', path: '/data/word', value: 'four' }])).data?.['word'],
    'four',
  );
  const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'peer-a' }, data: { own: 'yes' } };
  assert.equal((await patch('ServerSideApply', applied, { fieldManager: 'peer' })).data?.['own'], 'yes');
  await core.deleteNamespacedConfigMap({ namespace, name: 'peer-b' });
  await assert.rejects(core.readNamespacedConfigMap({ namespace, name: 'peer-b' }), { code: 404 });

  const wanted = [
    'add peer-a one',
    'add peer-b one',
    'update peer-a two',
    'update peer-a three',
    'update peer-a four',
    'update peer-a four',
    'delete peer-b one',
  ];
  for (const began = Date.now(); seen.length < wanted.length && Date.now() - began < 10_000; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual(seen, wanted);
});

test('the official JavaScript client runs commands in pods and reaches their ports', { skip }, async (t) => {
  const official = (await import(pathToFileURL(entry).href)) as Official;
  const target = createServer((socket) => socket.on('data', (chunk) => socket.end(`got ${chunk.toString()}`)));
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  t.after(() => target.close());
  const { port } = target.address() as AddressInfo;
  const podStreams: PodStreams = {
    exec: (_, { command }) =>
      Promise.resolve(async ({ stdin, stdout, stderr }) => {
        stderr?.write('warned');
        stdout?.write(`${command.join(' ')}: `);
        const [first] = stdin ? ((await once(stdin, 'data')) as [Buffer]) : [''];
        stdout?.write(first);
        return 3;
      }),
    attach: () => Promise.reject(new Error('not here')),
    portForward: () =>
      Promise.resolve(async (wanted) => {
        const socket = connect(wanted, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      }),
  };
  const random = createRandom(process.pid);
  const cluster = await startCluster({ clock: systemClock, random, port: 0, podStreams: () => podStreams });
  t.after(() => cluster.close());
  const config = new official.KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  const client = createClient({
    transport: cluster.clusters[0]?.server.transport() ?? assert.fail('no cluster'),
    clock: systemClock,
  });
  await client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  });
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { promise: ended, resolve } = Promise.withResolvers<{ status?: string; message?: string }>();
  await new official.Exec(config).exec('default', 'web', 'main', ['say'], stdout, stderr, stdin, false, resolve);
  stdin.write('hello');
  assert.match((await ended).message ?? '', /exit code: exit status 3/);
  // The client writes without ending its streams: end them, so that they can be read to the end.
  assert.equal(await text(stdout.end()), 'say: hello');
  assert.equal(await text(stderr.end()), 'warned');
  const [output, input] = [new PassThrough(), new PassThrough()];
  const forward = await new official.PortForward(config).portForward('default', 'web', [port], output, null, input);
  input.write('it');
  const [answer] = (await once(output, 'data')) as [Buffer];
  assert.equal(answer.toString(), 'got it');
  forward.close();
});
