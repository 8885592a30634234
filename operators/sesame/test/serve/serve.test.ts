import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { Lease, Service } from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { connectXds } from '../../src/xds/index.ts';
import { configuration, NAMESPACE, type Replica, ref, type ServeStage, served, servers, until } from './fixtures.ts';

const ready = (replica: Replica, status = 200) =>
  until(async () => ((await replica.get('/readyz'))?.status === status ? true : undefined), `readyz ${status}`);

/** A replica whose configuration is there and in force. */
async function running(
  stage: ServeStage,
  options: Parameters<ServeStage['start']>[0] = {},
): Promise<{ replica: Replica; generation: number }> {
  const replica = await stage.start({ flags: [], ...options });
  const generation = await stage.apply(servers(replica));
  await stage.becomes('Applied', 'True', generation);
  await ready(replica);
  return { replica, generation };
}

describe('sesame serve', { concurrency: 1 }, () => {
  test('runs with defaults while there is no configuration, and takes the one that is created', async () => {
    await served(async (stage) => {
      const [health = 0, xds = 0] = await freePorts(2);
      const replica = await stage.start({
        flags: [
          `--health-port=${health}`,
          `--http-port=${health}`,
          '--health-address=127.0.0.1',
          '--http-address=127.0.0.1',
          `--xds-port=${xds}`,
        ],
      });
      await until(async () => ((await replica.get('/readyz', health))?.status === 200 ? true : undefined), 'readiness');
      assert.ok(replica.log.some((line) => line.includes('there is none; defaults are in force')));
      const lease = await stage.cluster.client.get(Lease, ref('sesame-pod-0'));
      assert.match(lease.metadata.annotations?.['projectsesame.io/instance-state'] ?? '', /"state":"Running"/);
      const generation = await stage.apply({ envoy: { timeouts: { requestTimeout: '7s' } } });
      const applied = await stage.becomes('Applied', 'True', generation);
      assert.equal(applied.message, 'generation 1 is in force in 1 instance');
      assert.equal((await stage.condition('Valid'))?.reason, 'Valid');
      const object = await stage.cluster.client.get(SesameConfiguration, ref());
      assert.deepEqual(object.metadata.finalizers, ['projectsesame.io/configuration']);
      assert.deepEqual(object.status?.instances, [
        { name: 'pod-0', state: 'Running', source: 'resource', generation: 1 },
      ]);
    });
  });

  test('applies edits of listeners and routes without an interruption of xDS', async () => {
    await served(async (stage) => {
      const { client } = stage.cluster;
      await client.create(Service, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: ref('shop'),
        spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
      });
      await client.create(HTTPProxy, {
        apiVersion: 'projectsesame.io/v1',
        kind: 'HTTPProxy',
        metadata: ref('shop'),
        spec: {
          virtualhost: { fqdn: 'shop.example.com' },
          routes: [{ conditions: [{ prefix: '/' }], services: [{ name: 'shop', port: 80 }] }],
        },
      });
      const { replica } = await running(stage);
      const xds = connectXds({ host: '127.0.0.1', port: replica.ports.xds, nodeId: 'envoy-1' });
      try {
        const listeners = xds.open({ type: 'lds', isDelta: false });
        listeners.request({});
        const first = await listeners.next();
        assert.ok(!JSON.stringify([...first.resources.values()]).includes('request_timeout'));
        listeners.ack(first);
        const generation = await stage.apply({ ...servers(replica), envoy: { timeouts: { requestTimeout: '9s' } } });
        const second = await listeners.next();
        assert.match(JSON.stringify([...second.resources.values()]), /request_timeout":"9s"/);
        await stage.becomes('Applied', 'True', generation);
      } finally {
        await xds.close();
      }
    });
  });

  test('warns of objects that the configuration names and that are not there, until they are', async () => {
    await served(async (stage) => {
      const { client } = stage.cluster;
      const { replica } = await running(stage);
      const generation = await stage.apply({
        ...servers(replica),
        httpproxy: { fallbackCertificate: { namespace: NAMESPACE, name: 'gone' } },
        rateLimitService: { extensionService: `${NAMESPACE}/limits`, domain: 'shop' },
      });
      await stage.becomes('Applied', 'True', generation);
      const warnings = () => stage.condition('Valid').then((valid) => valid?.warnings?.map(({ message }) => message));
      const fallback = `spec.httpproxy.fallbackCertificate: Secret ${NAMESPACE}/gone cannot be used: it does not exist; create it or correct the name`;
      const found = await until(
        async () => ((await warnings())?.length === 2 ? warnings() : undefined),
        'two warnings',
      );
      assert.deepEqual(found, [
        fallback,
        `spec.rateLimitService.extensionService: ExtensionService ${NAMESPACE}/limits does not exist; create it or correct the name`,
      ]);
      assert.equal((await stage.condition('Valid'))?.status, 'True');
      await client.create(ExtensionService, {
        apiVersion: ExtensionService.apiVersion,
        kind: ExtensionService.kind,
        metadata: ref('limits'),
        spec: { services: [{ name: 'limits', port: 80 }] },
      });
      assert.deepEqual(
        await until(async () => ((await warnings())?.length === 1 ? warnings() : undefined), 'one warning'),
        [fallback],
      );
    });
  });

  test('serves without a feature that is disabled, as if its kind were not there', async () => {
    await served(async (stage) => {
      await stage.cluster.client.create(ExtensionService, {
        apiVersion: ExtensionService.apiVersion,
        kind: ExtensionService.kind,
        metadata: ref('limits'),
        spec: { services: [{ name: 'limits', port: 80 }] },
      });
      const { replica } = await running(stage, { disabledFeatures: ['extensionservices'] });
      await stage.apply({
        ...servers(replica),
        rateLimitService: { extensionService: `${NAMESPACE}/limits`, domain: 'shop' },
      });
      const valid = await until(async () => {
        const condition = await stage.condition('Valid');
        return condition?.warnings?.length === 1 ? condition : undefined;
      }, 'the warning');
      assert.match(valid.warnings?.[0]?.message ?? '', /ExtensionService \S+\/limits does not exist/);
      const found = await stage.cluster.client.get(ExtensionService, ref('limits'));
      assert.equal(found.status?.conditions, undefined);
    });
  });

  test('moves its servers when their address changes, and answers what they are for', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage);
      assert.equal((await replica.get('/healthz'))?.status, 200);
      assert.match((await replica.get('/metrics'))?.body ?? '', /process_|capstan_|nodejs_/);
      assert.equal((await replica.get('/nope'))?.status, 404);
      assert.match((await replica.get('/debug/config', replica.ports.debug))?.body ?? '', /"xdsServer"/);
      const [moved = 0, metrics = 0] = await freePorts(2);
      const generation = await stage.apply({
        xdsServer: { port: replica.ports.xds },
        health: { address: '127.0.0.1', port: moved },
        metrics: { address: '127.0.0.1', port: metrics },
      });
      await stage.becomes('Applied', 'True', generation);
      assert.equal((await replica.get('/healthz', moved))?.status, 200);
      assert.equal((await replica.get('/metrics', moved))?.status, 404);
      assert.equal((await replica.get('/metrics', metrics))?.status, 200);
      assert.equal(await replica.get('/healthz'), undefined);
    });
  });

  test('stops its controllers for an invalid edit, says why, and starts again when it is corrected', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage);
      const before = await stage.apply({
        ...servers(replica),
        envoy: { timeouts: { requestTimeout: 'soon' }, http: { port: 0 } },
      });
      const valid = await stage.becomes('Valid', 'False', before);
      assert.equal(valid.reason, 'ErrorPresent');
      assert.equal(valid.message, 'there are 2 errors; see errors');
      assert.deepEqual(
        valid.errors?.map(({ type, reason }) => `${type} ${reason}`),
        ['NetworkError OutOfRange', 'TimeoutError InvalidValue'],
      );
      assert.match(
        valid.errors?.[1]?.message ?? '',
        /^spec\.envoy\.timeouts\.requestTimeout: is not a duration \("soon"\); /,
      );
      await ready(replica, 503);
      assert.equal((await replica.get('/healthz'))?.status, 200);
      assert.match((await replica.get('/readyz'))?.body ?? '', /the configuration is not valid/);
      await until(async () => ((await isOpen(replica.ports.xds)) ? undefined : true), 'the xDS port to close');
      assert.equal((await stage.condition('Applied'))?.reason, 'InvalidConfiguration');
      assert.ok(replica.log.some((line) => line.startsWith('error') && line.includes('spec.envoy.http.port')));
      const after = await stage.apply(servers(replica));
      await stage.becomes('Applied', 'True', after);
      await ready(replica);
      assert.equal(await isOpen(replica.ports.xds), true);
      assert.equal((await stage.condition('Valid'))?.errors, undefined);
    });
  });

  test('keeps the last valid configuration with --invalid-config-policy=keep-last-good', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage, { policy: 'keep-last-good' });
      const generation = await stage.apply({ ...servers(replica), debug: { logLevel: 'loud' } });
      await stage.becomes('Valid', 'False', generation);
      assert.equal((await replica.get('/readyz'))?.status, 200);
      assert.equal(await isOpen(replica.ports.xds), true);
    });
  });

  test('falls back to defaults when the configuration is deleted, and releases it', async () => {
    await served(async (stage) => {
      const replica = await stage.start({});
      const [health = 0] = await freePorts(1);
      const flags = [
        `--health-port=${health}`,
        '--health-address=127.0.0.1',
        `--http-port=${health}`,
        '--http-address=127.0.0.1',
        `--xds-port=${replica.ports.xds}`,
      ];
      await replica.stop();
      const again = await stage.start({ flags });
      const generation = await stage.apply({ envoy: { timeouts: { requestTimeout: '3s' } } });
      await stage.becomes('Applied', 'True', generation);
      await stage.cluster.client.delete(SesameConfiguration, ref());
      await until(
        async () => ((await stage.cluster.client.find(SesameConfiguration, ref())) === undefined ? true : undefined),
        'the object to go',
      );
      assert.equal((await again.get('/readyz', health))?.status, 200);
      assert.ok(
        again.log.some(
          (line) => line.startsWith('warn') && line.includes('is being deleted while in use; defaults are in force'),
        ),
      );
    });
  });

  test('reports a port that is in use, and goes on when it is free', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage);
      const blocker = createServer();
      await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
      const { port } = blocker.address() as { port: number };
      await stage.apply({ ...servers(replica), metrics: { address: '127.0.0.1', port } });
      const applied = await until(async () => {
        const condition = await stage.condition('Applied');
        return condition?.reason === 'Failed' ? condition : undefined;
      }, 'Failed');
      assert.match(
        applied.message,
        new RegExp(`pod-0: 127\\.0\\.0\\.1:${port}: the port is in use; choose another port`),
      );
      await new Promise((resolve) => blocker.close(resolve));
      await stage.becomes('Applied', 'True', 2);
    });
  });

  test('never looks at the configuration of another namespace, nor at one of another name', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage);
      await stage.cluster.client.create(SesameConfiguration, {
        ...configuration({ health: { port: 1 } }),
        metadata: { name: 'sesame', namespace: 'kube-system' },
      });
      await stage.cluster.client.create(SesameConfiguration, configuration({ health: { port: 1 } }, 'other'));
      const generation = await stage.apply({ ...servers(replica), enableExternalNameService: true });
      await stage.becomes('Applied', 'True', generation);
      for (const where of [{ name: 'sesame', namespace: 'kube-system' }, ref('other')]) {
        const { status, metadata } = await stage.cluster.client.get(SesameConfiguration, where);
        assert.deepEqual([status?.conditions, metadata.finalizers], [undefined, undefined]);
      }
    });
  });

  test('leaves the finalizer of another Sesame in the same namespace alone', async () => {
    await served(async (stage) => {
      const { client } = stage.cluster;
      const { replica } = await running(stage);
      const [health = 0, xds = 0] = await freePorts(2);
      const other = configuration({ leaderElection: { configmap: { name: 'other', namespace: NAMESPACE } } }, 'other');
      await client.create(SesameConfiguration, other);
      const flags = [
        `--health-port=${health}`,
        '--health-address=127.0.0.1',
        `--http-port=${health}`,
        '--http-address=127.0.0.1',
      ];
      await stage.start({ name: 'other', flags: [...flags, `--xds-port=${xds}`] });
      await until(
        async () => ((await stage.condition('Applied', 'other'))?.status === 'True' ? true : undefined),
        'the other one',
      );
      const settled = await client.get(SesameConfiguration, ref('other'));
      assert.deepEqual(settled.metadata.finalizers, ['projectsesame.io/configuration']);
      // The first one has seen all of it once its own configuration is applied again.
      const generation = await stage.apply({ ...servers(replica), enableExternalNameService: true });
      await stage.becomes('Applied', 'True', generation);
      const later = await client.get(SesameConfiguration, ref('other'));
      assert.equal(later.metadata.resourceVersion, settled.metadata.resourceVersion);
    });
  });

  test('ends when the configuration is invalid, or changes, in the modes of the first implementation', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage, { errorMode: 'exit' });
      await stage.apply({ ...servers(replica), debug: { logLevel: 'loud' } });
      assert.equal(await replica.ended, 1);
      assert.equal((await stage.condition('Valid'))?.status, 'False');
    });
    await served(async (stage) => {
      const { replica } = await running(stage);
      await replica.stop();
      const second = await stage.start({ changeMode: 'restart' });
      await stage.apply({ ...servers(second), enableExternalNameService: false });
      const object = await stage.cluster.client.get(SesameConfiguration, ref());
      await until(async () => (second.log.some((line) => line.includes('in force')) ? true : undefined), 'a start');
      await stage.apply({ ...servers(second), enableExternalNameService: true });
      assert.equal(await second.ended, 0);
      assert.ok(object);
    });
  });

  for (const [what, namespace] of [
    ['whose namespace does not exist', 'missing'],
    ['that its account may not use', 'default'],
  ] as const)
    test(`a lock ${what} is an error of the configuration, and its status is written all the same`, async () => {
      const lock = { leaderElection: { configmap: { name: 'lock', namespace } } };
      await served(
        async (stage) => {
          const replica = await stage.start();
          await stage.apply(servers(replica, lock));
          const condition = await stage.becomes('Valid', 'False');
          assert.deepEqual(
            condition.errors?.map(({ type, reason }) => [type, reason]),
            [['LeaderElectionError', 'LockNotUsable']],
          );
          const message = condition.errors?.[0]?.message ?? '';
          assert.match(message, new RegExp(`leaderElection.configmap.*names the Lease ${namespace}/lock`));
          await stage.becomes('Applied', 'True');
          const generation = await stage.apply(servers(replica));
          await stage.becomes('Valid', 'True', generation);
        },
        { isDenied: true },
      );
    });

  test('a replica that starts with an invalid configuration replaces the error of the one before', async () => {
    await served(async (stage) => {
      const first = await stage.start();
      await stage.apply(servers(first, { debug: { kubernetesLogLevel: 10 } }));
      await stage.becomes('Valid', 'False');
      await first.stop();
      const generation = await stage.apply(servers(first, { envoy: { http: { port: 70_000 } } }));
      await stage.start();
      const condition = await stage.becomes('Valid', 'False', generation);
      assert.match(JSON.stringify(condition.errors), /envoy.http.port/);
    });
  });

  test('is applied when every replica has it, and a replica that is gone does not count', async () => {
    await served(async (stage) => {
      const { replica } = await running(stage);
      const [health = 0, xds = 0] = await freePorts(2);
      const own = [
        `--health-port=${health}`,
        '--health-address=127.0.0.1',
        `--http-port=${health}`,
        '--http-address=127.0.0.1',
        `--xds-port=${xds}`,
      ];
      const second = await stage.start({ flags: own });
      await until(async () => {
        const condition = await stage.condition('Applied');
        return condition?.message === 'generation 1 is in force in 2 instances' ? true : undefined;
      }, 'two instances');
      const generation = await stage.apply({ ...servers(replica), policy: { requestHeaders: { set: { A: 'b' } } } });
      assert.match((await stage.becomes('Applied', 'True', generation)).message, /in 2 instances/);
      await second.stop();
      await until(async () => {
        const condition = await stage.condition('Applied');
        return condition?.message === 'generation 2 is in force in 1 instance' ? true : undefined;
      }, 'one instance');
      const { items } = await stage.cluster.client.list(Lease, { namespace: NAMESPACE });
      assert.ok(!items.some(({ metadata }) => metadata.name === 'sesame-pod-1'));
    });
  });
});

function isOpen(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    (error: unknown) => !String((error as { cause?: { code?: string } }).cause?.code).includes('ECONNREFUSED'),
  );
}
