// The whole system: `capstan up`, a namespace that requests sidecars, a config, and pods. The webhook is a process of the local node, which
// the server reaches by its Service.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type Client,
  connect,
  createClient,
  Deployment,
  Namespace,
  Pod,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { startClusterProcess } from '@capstan/testing/tutorial';
import { KroxyliciousSidecarConfig } from '../../src/index.ts';
import { condition } from '../fixtures.ts';
import { until } from '../real/programs.ts';
import { config, pod } from './fixtures.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sidecar-'));
const SIDECAR = 'kroxylicious-proxy';
let client: Client;
let stop: () => Promise<void>;

before(async () => {
  const kubeconfig = join(folder, 'kubeconfig');
  const args = ['up', '--operators', 'kroxylicious', '--data', join(folder, 'data'), '--listen', '127.0.0.1:0'];
  stop = await startClusterProcess(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'apps/capstan/src/main.ts', ...args, '--kubeconfig-out', kubeconfig],
    { cwd: ROOT },
  );
  client = createClient({ transport: await connect({ kubeconfig }), clock: systemClock, logger: silentLogger });
});
after(async () => {
  await client?.close();
  await stop?.();
  rmSync(folder, { recursive: true, force: true });
});

async function namespace(name: string, injection?: string): Promise<void> {
  const labels: Record<string, string> =
    injection === undefined ? {} : { 'sidecar.kroxylicious.io/injection': injection };
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
}

async function created(name: string, space: string): Promise<Pod> {
  const one = pod({ metadata: { name, namespace: space } });
  // The service account of a new namespace is created a moment later.
  return until('a pod', () => client.create(Pod, one).catch(errorOfAccount));
}

function errorOfAccount(error: Error): undefined {
  if (!/serviceaccount "default" not found/.test(error.message)) throw error;
}

describe('capstan up', { timeout: 170_000 }, () => {
  test('injects a sidecar into a pod of a namespace that requests them, and into no other pod', async () => {
    await namespace('demo-app', 'enabled');
    await namespace('plain');
    const { metadata, ...rest } = config('demo');
    await client.create(KroxyliciousSidecarConfig, { ...rest, metadata: { namespace: 'demo-app', name: 'demo' } });
    await until(
      'the config to be ready',
      async () => {
        const one = await client.get(KroxyliciousSidecarConfig, { namespace: 'demo-app', name: metadata.name ?? '' });
        return condition(one, 'Ready')?.status === 'True';
      },
      {
        seconds: 90,
        instead: async () => JSON.stringify(await client.list(Pod, { namespace: 'kroxylicious-webhook' })),
      },
    );
    const given = await created('app', 'demo-app');
    assert.deepEqual(
      given.spec?.initContainers?.map(({ name }) => name),
      [SIDECAR],
    );
    assert.equal(given.spec?.containers[0]?.env?.[0]?.value, 'localhost:9092');
    assert.match(given.metadata.annotations?.['sidecar.kroxylicious.io/proxy-config'] ?? '', /kafka\.example:9092/);
    assert.equal((await created('app', 'plain')).spec?.initContainers, undefined);
  });

  test('starts pods of other namespaces while the webhook is down, and restarts the webhook', async () => {
    const { items } = await client.list(Pod, { namespace: 'kroxylicious-webhook' });
    await client.patch(Deployment, { namespace: 'kroxylicious-webhook', name: 'kroxylicious-webhook' }, 'merge', {
      metadata: { annotations: { 'capstan.dev/paused': 'true' } },
      spec: { replicas: 0 },
    });
    await until(
      'no pods',
      async () => (await client.list(Pod, { namespace: 'kroxylicious-webhook' })).items.length === 0,
    );
    assert.ok(items.length > 0);
    await created('meanwhile', 'plain');
    await assert.rejects(created('meanwhile', 'demo-app'), /sidecar-injector\.kroxylicious\.io/);
    const declining = pod({
      metadata: {
        name: 'declines',
        namespace: 'demo-app',
        labels: { 'sidecar.kroxylicious.io/injection': 'disabled' },
      },
    });
    assert.equal((await client.create(Pod, declining)).spec?.initContainers, undefined);
    await client.patch(Deployment, { namespace: 'kroxylicious-webhook', name: 'kroxylicious-webhook' }, 'merge', {
      metadata: { annotations: { 'capstan.dev/paused': null } },
    });
    const given = await until('a pod', () => created('again', 'demo-app').catch(() => undefined), { seconds: 90 });
    assert.deepEqual(
      given.spec?.initContainers?.map(({ name }) => name),
      [SIDECAR],
    );
  });
});
