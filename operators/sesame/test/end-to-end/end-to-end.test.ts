// The whole as a user meets it: `capstan up`, the program `sesame`, and a real Envoy.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Lease, Pod, Service } from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { SesameConfiguration, SesameDeployment } from '../../src/kinds/index.ts';

import {
  ENVOY,
  eventually,
  get,
  type RunningProgram,
  sesame,
  startEnvoy,
  startSesame,
  startWorld,
  type World,
} from './world.ts';

const skip = existsSync(ENVOY)
  ? false
  : 'Envoy is not there: npm run setup:real -- envoy brings it, and the tests with it run';
const NAMESPACE = `ingress-${Math.random().toString(36).slice(2, 8)}`;

suite('Sesame and Envoy in capstan up', { skip, concurrency: 1 }, () => {
  let world: World;
  before(async () => {
    world = await startWorld([NAMESPACE, 'projectsesame']);
    for (const name of ['one', 'two']) await world.backend(name);
  });
  after(() => world.stop());

  const condition = async (type: string, namespace: string, name: string) => {
    const { metadata, status } = await world.client.get(SesameConfiguration, { namespace, name });
    const found = status?.conditions?.find((each) => each.type === type);
    const isFresh = found?.observedGeneration === metadata.generation;
    return isFresh ? `${found?.status} ${found?.reason}` : undefined;
  };
  const applied = (namespace: string, name: string, more?: () => string) =>
    eventually(
      () => condition('Applied', namespace, name),
      (seen) => seen === 'True Applied',
      'Applied',
      more,
    );

  test('sesame serve with an Envoy that sesame bootstrap configures', async () => {
    const { client, folder, kubeconfig } = world;
    const [xds = 0, health = 0, debug = 0, http = 0, stats = 0, moved = 0, xdsMoved = 0] = await freePorts(7);
    const processes: RunningProgram[] = [];
    const ref = { namespace: 'projectsesame', name: 'sesame' };
    const flags = ['--kubeconfig', kubeconfig, '--insecure', '--xds-address=127.0.0.1'];
    const configuration = {
      xdsServer: { port: xds },
      health: { address: '127.0.0.1', port: health },
      metrics: { address: '127.0.0.1', port: health },
      debug: { port: debug },
      envoy: {
        http: { address: '127.0.0.1', port: http, accessLog: '/dev/null' },
        metrics: { address: '127.0.0.1', port: stats },
        health: { address: '127.0.0.1', port: stats },
        network: { adminPort: 0 },
      },
    };
    const edit = (spec: object) => client.patch(SesameConfiguration, ref, 'merge', { spec });
    try {
      await client.create(SesameConfiguration, {
        apiVersion: 'projectsesame.io/v1alpha1',
        kind: 'SesameConfiguration',
        metadata: ref,
        spec: configuration,
      });
      const serve = startSesame(['serve', ...flags], { POD_NAME: 'by-hand' });
      processes.push(serve);
      await applied(ref.namespace, ref.name, serve.output);
      const bootstrap = join(folder, 'envoy.json');
      await sesame('bootstrap', bootstrap, `--xds-port=${xds}`, `--admin-address=${join(folder, 'admin.sock')}`);
      const envoy = startEnvoy(bootstrap, 'by-hand');
      processes.push(envoy);
      const answer = async (host: string, expected: string | number) => {
        const log = () => `${serve.output()}\n${envoy.output()}`;
        await eventually(
          () => get('127.0.0.1', http, host),
          (seen) => seen === expected,
          `${expected} of ${host}`,
          log,
        );
      };

      await world.proxy('shop', 'shop.test', 'one');
      await answer('shop.test', 'one');
      await world.proxy('shop', 'shop.test', 'two');
      await answer('shop.test', 'two');

      await world.proxy('broken', 'broken.test', 'missing');
      const isInvalid = async () =>
        (await client.get(HTTPProxy, { namespace: 'default', name: 'broken' })).status?.currentStatus;
      await eventually(isInvalid, (seen) => seen === 'invalid', 'the error on the resource');
      await answer('broken.test', 503);
      await answer('shop.test', 'two');

      const explained = await sesame('explain', 'shop.test/cart', '--kubeconfig', kubeconfig);
      assert.match(explained, /from HTTPProxy default\/shop, spec\.routes\[\d\]\n {6}to Service default\/two port 80/);

      const classes: readonly (readonly [name: string, spec: object])[] = [
        ['routes', { policy: { requestHeaders: { set: { 'X-Edge': 'yes' } } } }],
        ['listeners', { envoy: { timeouts: { requestTimeout: '9s' } } }],
        ['rebind', { health: { port: moved } }],
        ['restart', { httpproxy: { rootNamespaces: ['default'] } }],
      ];
      for (const [name, spec] of classes) {
        await edit(spec);
        await applied(ref.namespace, ref.name, () => `${name}: ${serve.output()}`);
        await answer('shop.test', 'two');
      }
      assert.equal((await fetch(`http://127.0.0.1:${moved}/readyz`)).status, 200);

      await edit({ envoy: { logging: { accessLogFormat: 'xml' } } });
      await eventually(
        () => condition('Applied', ref.namespace, ref.name),
        (seen) => seen === 'False InvalidConfiguration',
        'the refusal',
      );
      assert.equal((await fetch(`http://127.0.0.1:${moved}/readyz`)).status, 503);
      await answer('shop.test', 'two');
      await edit({ envoy: { logging: { accessLogFormat: 'json' } } });
      await applied(ref.namespace, ref.name, serve.output);
      await world.proxy('shop', 'shop.test', 'one');
      await answer('shop.test', 'one');

      // The xDS server moves: Envoy needs another bootstrap, and the resource reports that.
      await edit({ xdsServer: { port: xdsMoved } });
      await applied(ref.namespace, ref.name, serve.output);
      const { status } = await client.get(SesameConfiguration, ref);
      const warnings = status?.conditions?.find(({ type }) => type === 'Valid')?.warnings ?? [];
      assert.match(JSON.stringify(warnings), /xdsServer\.port.*replace the pods of Envoy/);
      assert.equal(await serve.stop(), 0, serve.output());
      processes.splice(processes.indexOf(serve), 1);
      await eventually(
        () => client.find(Lease, { namespace: ref.namespace, name: 'sesame-by-hand' }),
        (lease) => lease === undefined,
        'the Lease to go',
      );
    } finally {
      for (const each of processes.toReversed()) await each.stop();
    }
  });

  test('a SesameDeployment is a whole ingress, follows its edits, and goes', async () => {
    const { client } = world;
    const ref = { namespace: NAMESPACE, name: 'edge' };
    await world.proxy('store', 'store.test', 'one');
    await client.create(SesameDeployment, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'SesameDeployment',
      metadata: ref,
      spec: { replicas: 2 },
    });
    const available = async () => {
      const { metadata, status } = await client.get(SesameDeployment, ref);
      const found = status?.conditions?.filter(({ observedGeneration }) => observedGeneration === metadata.generation);
      return found
        ?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`)
        .toSorted()
        .join(' ');
    };
    const ready = 'Available=True/Available ConfigurationValid=True/Valid Progressing=False/RolledOut';
    await eventually(available, (seen) => seen === ready, 'the deployment');
    const pods = await client.list(Pod, { namespace: NAMESPACE });
    const envoy = pods.items.find(({ metadata }) => metadata.name?.startsWith('envoy-edge-'));
    const podAddress = envoy?.status?.podIP ?? '';
    const { spec } = await client.get(Service, { namespace: NAMESPACE, name: 'envoy-edge' });
    // Port 80 of the Service needs rights that not every user has; the pod's own port needs none.
    const [address, port] = process.getuid?.() === 0 ? [spec?.clusterIP ?? '', 80] : [podAddress, 8080];
    const answer = (expected: string) =>
      eventually(
        () => get(address, port, 'store.test'),
        (seen) => seen === expected,
        `${expected} through Envoy`,
      );
    await answer('one');
    await world.proxy('store', 'store.test', 'two');
    await answer('two');

    const edit = (configuration: object) => client.patch(SesameDeployment, ref, 'merge', { spec: { configuration } });
    await edit({ envoy: { timeouts: { requestTimeout: '8s' } } });
    await eventually(
      async () => (await client.get(SesameConfiguration, { namespace: NAMESPACE, name: 'sesameconfig-edge' })).spec,
      (seen) => seen?.envoy?.timeouts?.requestTimeout === '8s',
      'the edit to be propagated',
    );
    await applied(NAMESPACE, 'sesameconfig-edge');
    await answer('two');
    // An edit of a listener rolls nothing.
    const after = await client.list(Pod, { namespace: NAMESPACE });
    assert.deepEqual(uidsOf(after), uidsOf(pods));

    await client.delete(SesameDeployment, ref);
    await eventually(
      () => client.find(SesameDeployment, ref),
      (seen) => seen === undefined,
      'the deployment to go',
    );
    const left = async () => [
      ...(await client.list(Pod, { namespace: NAMESPACE })).items.map(({ metadata }) => `pod ${metadata.name}`),
      ...(await client.list(Lease, { namespace: NAMESPACE })).items
        .map(({ metadata }) => metadata.name ?? '')
        .filter((name) => name.startsWith('sesame-')),
    ];
    await eventually(left, (seen) => seen.length === 0, 'its pods and their Leases to go');
    assert.equal(await get(podAddress, 8080, 'store.test'), undefined);
  });
});

function uidsOf({ items }: { readonly items: readonly Pod[] }): string[] {
  return items.map(({ metadata }) => metadata.uid ?? '').toSorted();
}
