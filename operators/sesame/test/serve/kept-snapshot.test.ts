// A restart of the container: the next process finds the snapshot of the one before, and its caches fill late.
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type ApiRequest, Service, type Transport } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { connectXds, type XdsClient, type XdsResponse } from '../../src/xds/index.ts';
import { type Replica, ref, type ServeStage, served, servers, until } from './fixtures.ts';

const VHDS = 'type.googleapis.com/envoy.config.route.v3.VirtualHost';

async function snapshotFile(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sesame-restart-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'snapshot');
}

async function createHost({ cluster: { client } }: ServeStage, name: string): Promise<void> {
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ref(name),
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  });
  await client.create(HTTPProxy, {
    apiVersion: 'projectsesame.io/v1',
    kind: 'HTTPProxy',
    metadata: ref(name),
    spec: {
      virtualhost: { fqdn: `${name}.example.com` },
      routes: [{ conditions: [{ prefix: '/' }], services: [{ name, port: 80 }] }],
    },
  });
}

/** A transport that answers no list of HTTPProxies until it is released. */
function holdingRoutes() {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const between = (to: Transport): Transport => {
    const held = async ({ path, signal }: ApiRequest) => {
      if (!path.includes('/httpproxies')) return;
      const ended = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });
      await Promise.race([released, ended]);
    };
    return {
      address: to.address,
      request: async (request) => {
        await held(request);
        return to.request(request);
      },
      watch: async (request) => {
        await held(request);
        return to.watch(request);
      },
      close: () => to.close(),
    };
  };
  return { between, release };
}

const isReady = (replica: Replica) =>
  until(async () => ((await replica.get('/readyz'))?.status === 200 ? true : undefined), 'readiness');

/** A Sesame that has served two hosts, kept its snapshot, and ended. */
async function keptByFirst(stage: ServeStage, path: string): Promise<Replica> {
  await createHost(stage, 'shop');
  await createHost(stage, 'cart');
  const first = await stage.start({ snapshotFile: path });
  const generation = await stage.apply(servers(first));
  await stage.becomes('Applied', 'True', generation);
  await isReady(first);
  await until(async () => {
    const found = await stat(path).catch(() => undefined);
    return found?.isFile() ? true : undefined;
  }, 'the file of the snapshot');
  await first.stop();
  return first;
}

function subscribe(client: XdsClient, initial: Readonly<Record<string, string>> = {}) {
  const stream = client.open({ type: undefined, isDelta: true });
  stream.request({
    type_url: VHDS,
    resource_names_subscribe: ['ingress_http'],
    initial_resource_versions: initial,
  });
  return stream;
}

const hostsOf = ({ resources }: XdsResponse) => [...resources.keys()].toSorted();

describe('a kept snapshot', { concurrency: 1 }, () => {
  test('is served at once after a restart, marked, and only differences follow', async (context) => {
    const path = await snapshotFile(context);
    await served(async (stage) => {
      const { ports } = await keptByFirst(stage, path);
      const { between, release } = holdingRoutes();
      // Deleted while no Sesame runs.
      await stage.cluster.client.delete(HTTPProxy, ref('cart'));
      await createHost(stage, 'fresh');
      const second = await stage.start({ snapshotFile: path, between, ports });
      await isReady(second);
      assert.ok(second.log.some((line) => line.includes('the kept snapshot is served until caches are filled')));
      const client = connectXds({ host: '127.0.0.1', port: ports.xds, nodeId: 'envoy-1' });
      try {
        const stream = subscribe(client);
        const kept = await stream.next();
        assert.deepEqual(hostsOf(kept), ['ingress_http/cart.example.com', 'ingress_http/shop.example.com']);
        assert.match(kept.controlPlane, /^sesame: kept snapshot of \d{4}-/);
        stream.ack(kept);
        assert.match((await second.get('/metrics'))?.body ?? '', /^sesame_xds_kept_snapshot 1$/m);
        release();
        const [added, removed] = [new Set<string>(), new Set<string>()];
        while (added.size + removed.size < 2) {
          const next = await stream.next();
          assert.equal(next.controlPlane, '');
          for (const name of next.resources.keys()) added.add(name);
          for (const name of next.removed) removed.add(name);
          stream.ack(next);
        }
        assert.deepEqual([...added], ['ingress_http/fresh.example.com']);
        assert.deepEqual([...removed], ['ingress_http/cart.example.com']);
        assert.match((await second.get('/metrics'))?.body ?? '', /^sesame_xds_kept_snapshot 0$/m);
      } finally {
        await client.close();
      }
    });
  });

  test('sends a client that kept its versions nothing but the differences', async (context) => {
    const path = await snapshotFile(context);
    await served(async (stage) => {
      const { ports } = await keptByFirst(stage, path);
      const { between, release } = holdingRoutes();
      const second = await stage.start({ snapshotFile: path, between, ports });
      await isReady(second);
      const client = connectXds({ host: '127.0.0.1', port: ports.xds, nodeId: 'envoy-1' });
      try {
        const { versions } = await subscribe(client).next();
        const again = subscribe(client, versions);
        await createHost(stage, 'fresh');
        release();
        assert.deepEqual(hostsOf(await again.next()), ['ingress_http/fresh.example.com']);
      } finally {
        await client.close();
      }
    });
  });

  test('is not served while the configuration is not valid, and is when it is valid again', async (context) => {
    const path = await snapshotFile(context);
    await served(async (stage) => {
      const first = await keptByFirst(stage, path);
      const generation = await stage.apply({ ...servers(first), envoy: { timeouts: { requestTimeout: 'soon' } } });
      const { between } = holdingRoutes();
      const second = await stage.start({ snapshotFile: path, between, ports: first.ports });
      await stage.becomes('Valid', 'False', generation);
      await until(
        async () => (second.log.some((line) => line.includes('controllers are stopped')) ? true : undefined),
        'the report of the problem',
      );
      const client = connectXds({ host: '127.0.0.1', port: first.ports.xds, nodeId: 'envoy-1' });
      await assert.rejects(subscribe(client).next());
      await client.close();
      assert.ok(!second.log.some((line) => line.includes('the kept snapshot is served')));
      await stage.apply(servers(first));
      await isReady(second);
      assert.ok(second.log.some((line) => line.includes('the kept snapshot is served')));
    });
  });

  test('is not served under another configuration', async (context) => {
    const path = await snapshotFile(context);
    await served(async (stage) => {
      const first = await keptByFirst(stage, path);
      const { between, release } = holdingRoutes();
      await stage.apply({ ...servers(first), envoy: { timeouts: { requestTimeout: '9s' } } });
      const second = await stage.start({ snapshotFile: path, between, ports: first.ports });
      await until(
        async () => (second.log.some((line) => line.includes('is of another configuration')) ? true : undefined),
        'the report of the file',
      );
      const client = connectXds({ host: '127.0.0.1', port: first.ports.xds, nodeId: 'envoy-1' });
      try {
        // The client may connect, and waits for the caches.
        const next = await until(async () => {
          try {
            return { response: subscribe(client).next() };
          } catch {
            return undefined;
          }
        }, 'a stream');
        release();
        const response = await next.response;
        assert.equal(response.controlPlane, '');
        assert.deepEqual(hostsOf(response), ['ingress_http/cart.example.com', 'ingress_http/shop.example.com']);
      } finally {
        await client.close();
      }
    });
  });
});
