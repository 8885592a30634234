// The whole of it as a user has it: `capstan up` with the demonstration, whose remote clusters are two logical clusters that are
// On the embedded server only: it brings its clusters itself.
// reached over HTTPS with read-only tokens, discoverers as processes of their own, and the program `gimbal`.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type Client,
  connect,
  createClient,
  createInformer,
  Deployment,
  EndpointSlice,
  Pod,
  Secret,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { DiscoveryBackend } from '../src/index.ts';
import { HTTPProxy } from './maintenance/fixtures.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning'];
const NAMESPACE = 'gimbal-discovery';
const PATIENCE_MS = 45_000;

interface World {
  readonly hub: Client;
  readonly east: Client;
  readonly folder: string;
  readonly kubeconfig: string;
}

describe('capstan up with the demonstration of gimbal', { timeout: 420_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-gimbal-'));
  let world: World;
  let stop: () => Promise<void> = async () => {};

  before(async () => {
    stop = await startUp(folder);
    const kubeconfig = join(folder, 'kubeconfig');
    const open = async (context: string) =>
      createClient({ transport: await connect({ kubeconfig, context }), clock: systemClock, logger: silentLogger });
    world = { hub: await open('capstan'), east: await open('east'), folder, kubeconfig };
  });
  after(async () => {
    await world?.hub.close();
    await world?.east.close();
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('services of both remote clusters appear, with their addresses', async () => {
    await until(async () =>
      assert.deepEqual(await services(world), ['east-cart', 'east-web', 'west-cart', 'west-web']),
    );
    await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.2']));
    await until(async () => assert.deepEqual(await phases(world), { east: 'Running', west: 'Running' }));
    const { code, output } = await gimbal(world, 'backends');
    assert.equal(code, 0);
    assert.match(output, /^east\s+gimbal-discovery\s+kubernetes\s+Running\s+2\s+\d+s ago\s+-$/m);
  });

  test('what changes there changes here', async () => {
    await setAddresses(world, ['10.1.0.1', '10.1.0.9']);
    await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.9']));
  });

  test('a drain sends traffic elsewhere, and the return gives every weight back', async () => {
    // The kind of these routes was installed after the operator had started: it is looked for every few seconds.
    assert.equal((await gimbal(world, 'drain', 'east')).code, 0);
    await until(async () => assert.deepEqual(await weights(world, 'web'), [0, 30]));
    const drained = await gimbal(world, 'drain', 'east', '--wait');
    assert.equal(drained.code, 0, drained.output);
    assert.match(drained.output, /east: drained; none of 3 routes sends it requests; 1 without another service/);
    assert.deepEqual(await weights(world, 'web'), [0, 30]);
    assert.deepEqual(await weights(world, 'cart'), [0, 1]);
    const back = await gimbal(world, 'resume', 'east', '--wait');
    assert.equal(back.code, 0, back.output);
    assert.deepEqual(await weights(world, 'web'), [70, 30]);
    assert.deepEqual(await weights(world, 'cart'), [undefined, undefined]);
  });

  test('credentials rotate without a gap, and the old ones may be revoked', async () => {
    const gone: string[] = [];
    const watching = new AbortController();
    const informer = createInformer({
      client: world.hub,
      kind: Service,
      namespace: 'shop',
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
    });
    informer.subscribe((events) => {
      for (const event of events) if (event.type === 'delete') gone.push(event.object.metadata.name ?? '');
    });
    const watched = informer.run(watching.signal);
    await until(async () => assert.ok(informer.isSynced));

    await boundSecret(world, 'east-a');
    const first = await gimbal(world, 'rotate', 'east', '--secret', 'east-a', '--now', '--wait');
    assert.equal(first.code, 0, first.output);
    await boundSecret(world, 'east-b');
    const rotating = gimbal(world, 'rotate', 'east', '--secret', 'east-b', '--now', '--wait');
    // What happens there meanwhile is not missed.
    let slowest = 0;
    let last = 10;
    for (let isOver = false; !isOver; ) {
      const at = systemClock.now();
      last = 10 + ((last - 9) % 200);
      const wanted = ['10.1.0.1', `10.1.1.${last}`];
      await setAddresses(world, wanted);
      await until(async () => assert.deepEqual(await addresses(world, 'east-web'), wanted));
      slowest = Math.max(slowest, systemClock.now() - at);
      isOver = (await Promise.race([rotating, pause(50)])) !== undefined;
    }
    const second = await rotating;
    assert.equal(second.code, 0, second.output);
    assert.match(second.output, /the credentials in the Secret east-b are in force/);
    assert.ok(slowest < 5_000, `a change took ${slowest} ms`);
    await world.east.delete(Secret, { namespace: NAMESPACE, name: 'token-of-east-a' });
    await setAddresses(world, ['10.1.0.1', '10.1.0.2']);
    await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.2']));
    assert.deepEqual(gone, [], 'nothing was deleted meanwhile');
    watching.abort();
    await watched;
  });

  test('credentials of another cluster, of nobody, and such that run programs are refused; the old ones stay', async () => {
    for (const [name, change, reason] of [
      [
        'wrong-cluster',
        (text: string) => text.replaceAll('/clusters/east', '/clusters/west'),
        /RotationFailed|WrongCluster/,
      ],
      ['nobody', (text: string) => text.replace(/"token":"[^"]*"/, '"token":"nobody"'), /RotationFailed/],
      [
        'program',
        (text: string) =>
          text.replace(/"token":"[^"]*"/, '"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"id"}'),
        /RotationFailed/,
      ],
    ] as const) {
      const { data = {} } = await world.hub.get(Secret, { namespace: NAMESPACE, name: 'east-b' });
      const text = change(Buffer.from(data['config'] ?? '', 'base64').toString('utf8'));
      await makeSecret(world, name, text);
      const refused = await gimbal(world, 'rotate', 'east', '--secret', name, '--now', '--wait', '--timeout', '30s');
      assert.equal(refused.code, 3, refused.output);
      const { status } = await world.hub.get(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
      assert.match(status?.conditions?.find(({ type }) => type === 'CredentialsValid')?.reason ?? '', reason);
      assert.equal(status?.credentials?.source, 'east-b');
    }
    const back = await gimbal(world, 'rotate', 'east', '--secret', 'east-b', '--wait', '--timeout', '30s');
    assert.equal(back.code, 0, back.output);
  });

  test('credentials that are revoked are told on the backend, and what was discovered stays', async () => {
    await world.east.delete(Secret, { namespace: NAMESPACE, name: 'token-of-east-b' });
    await setAddresses(world, ['10.1.0.3']);
    // A watch that is open is not asked for its token again; the next discoverer is.
    const { items } = await world.hub.list(Pod, { namespace: NAMESPACE, labelSelector: 'cluster=east' });
    for (const { metadata } of items) await world.hub.delete(Pod, { namespace: NAMESPACE, name: metadata.name ?? '' });
    await until(async () => {
      const { status } = await world.hub.get(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
      assert.ok(
        status?.errors?.some(({ type }) => type === 'AuthFailed'),
        JSON.stringify(status?.errors),
      );
    });
    assert.ok((await services(world)).includes('east-web'));
    await boundSecret(world, 'east-c');
    const mended = await gimbal(world, 'rotate', 'east', '--secret', 'east-c', '--wait');
    assert.equal(mended.code, 0, mended.output);
    await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.3']));
  });

  test('a backend that is deleted takes its discoverer, its services and its references along', async () => {
    await world.hub.delete(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
    await until(async () => {
      assert.equal(await world.hub.find(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' }), undefined);
      assert.deepEqual(await services(world), ['west-cart', 'west-web']);
      assert.deepEqual(await weights(world, 'web'), [30]);
      const left = await world.hub.find(Deployment, { namespace: NAMESPACE, name: 'east-kubernetes-discoverer' });
      assert.equal(left, undefined);
    });
    assert.deepEqual(await phases(world), { west: 'Running' });
  });
});

async function startUp(folder: string): Promise<() => Promise<void>> {
  const data = join(folder, 'data');
  const args = ['up', '--demo', '--operators', 'gimbal', '--data', data, '--listen', '127.0.0.1:0'];
  const out = ['--kubeconfig-out', join(folder, 'kubeconfig')];
  const child = spawn(process.execPath, [...FLAGS, 'apps/capstan/src/main.ts', ...args, ...out], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  let output = '';
  const ready = new Promise<void>((resolve) => {
    const hear = (text: Buffer) => {
      output += text.toString();
      if (output.includes('Capstan is ready.')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
  });
  const early = ended.then(() => {
    throw new Error(`the cluster ended before it was ready:\n${output}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return () => {
    child.kill('SIGTERM');
    return ended;
  };
}

function gimbal({ kubeconfig }: World, ...argv: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const args = [...FLAGS, 'apps/capstan/src/programs/gimbal.mjs', ...argv, '--kubeconfig', kubeconfig];
    execFile(process.execPath, args, { cwd: ROOT, timeout: 90_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

/** Looks again until it is so. */
async function until(check: () => Promise<void>): Promise<void> {
  const deadline = systemClock.now() + PATIENCE_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (systemClock.now() > deadline) throw error;
    }
    await pause(50);
  }
}

async function services({ hub }: World): Promise<string[]> {
  const { items } = await hub.list(Service, { namespace: 'shop' });
  return items.map(({ metadata }) => metadata.name ?? '').toSorted();
}

async function addresses({ hub }: World, service: string): Promise<string[]> {
  const { items } = await hub.list(EndpointSlice, {
    namespace: 'shop',
    labelSelector: `kubernetes.io/service-name=${service}`,
  });
  return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap((endpoint) => endpoint.addresses)).toSorted();
}

async function setAddresses({ east }: World, wanted: readonly string[]): Promise<void> {
  const endpoints = wanted.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  await east.patch(EndpointSlice, { namespace: 'shop', name: 'web-1' }, 'merge', { endpoints });
}

async function weights({ hub }: World, name: string): Promise<(number | undefined)[]> {
  const { spec } = (await hub.get(HTTPProxy, { namespace: 'shop', name })) as unknown as {
    spec: { routes: { services: { weight?: number }[] }[] };
  };
  return spec.routes.flatMap((route) => route.services.map(({ weight }) => weight));
}

async function phases({ hub }: World): Promise<Record<string, string | undefined>> {
  const { items } = await hub.list(DiscoveryBackend, {});
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name ?? '', status?.phase]));
}

/** A Secret with a token that ends with an object of the remote cluster, so that it can be revoked alone. */
async function boundSecret(world: World, name: string): Promise<void> {
  const bound = { namespace: NAMESPACE, name: `token-of-${name}` };
  const { uid } = (await world.east.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: bound })).metadata;
  const { body } = await world.east.request({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/gimbal-discoverer/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: bound.name, uid } },
    },
  });
  const { token } = (body as { status: { token: string } }).status;
  const known = readFileSync(join(world.folder, 'data/demo/gimbal/east.kubeconfig'), 'utf8');
  await makeSecret(world, name, known.replace(/"token":"[^"]*"/, `"token":"${token}"`));
}

async function makeSecret({ hub }: World, name: string, text: string): Promise<void> {
  const data = { config: Buffer.from(text).toString('base64') };
  await hub.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name }, data });
}
