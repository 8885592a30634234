// Contour's objects are served as our own, and each status has one writer: Contour while it holds its Lease, then Sesame.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Client, CustomResourceDefinition, externalKind, Lease, Namespace, Service } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { DEFAULT_CONTOUR_LEASE, routeKinds } from '../../src/kinds/contour.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { inDefault } from './fixtures.ts';

const ContoursProxy = externalKind<HTTPProxy>({
  group: 'projectcontour.io',
  version: 'v1',
  kind: 'HTTPProxy',
  plural: 'httpproxies',
  scope: 'Namespaced',
});

const parts = (isCompatible: boolean) => {
  const configuration = defaultConfiguration();
  const insecure = { ...configuration, xdsServer: { ...configuration.xdsServer, insecure: true } };
  return dataPathComponents(
    { listen: { address: '127.0.0.1', port: 0 }, ...(isCompatible && { contour: DEFAULT_CONTOUR_LEASE }) },
    insecure,
    () => undefined,
  );
};

async function install(client: Client): Promise<void> {
  const {
    HTTPProxy: proxies,
    TLSCertificateDelegation: delegations,
    ExtensionService: extensions,
  } = routeKinds(undefined);
  for (const own of [proxies.crd(), delegations.crd(), extensions.crd()]) {
    const metadata = { name: own.metadata.name?.replace('projectsesame.io', 'projectcontour.io') };
    const definition = structuredClone({ ...own, metadata, spec: { ...own.spec, group: 'projectcontour.io' } });
    // The definitions of Contour have the conditions alone.
    for (const { schema } of definition.spec.versions)
      delete schema?.openAPIV3Schema?.properties?.['status']?.properties?.['observedGeneration'];
    await client.create(CustomResourceDefinition, definition);
  }
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'projectcontour' } });
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: inDefault('shop'),
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
  });
}

const proxy = (kind: typeof ContoursProxy, name: string, fqdn: string): HTTPProxy => ({
  apiVersion: kind.apiVersion,
  kind: 'HTTPProxy',
  metadata: inDefault(name),
  spec: { virtualhost: { fqdn }, routes: [{ services: [{ name: 'shop', port: 80 }] }] },
});

const SECONDS = 15;
const leaseAt = (now: number, holderIdentity: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: DEFAULT_CONTOUR_LEASE,
  spec: { holderIdentity, leaseDurationSeconds: SECONDS, renewTime: new Date(now).toISOString().replace('Z', '000Z') },
});

async function onStage(isCompatible: boolean, check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({ operators: [parts(isCompatible).operator], given: install });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

suite('objects of projectcontour.io', () => {
  const statusOf = async (stage: Stage, name: string) => {
    await stage.settle();
    const { status } = await stage.client.get(ContoursProxy, inDefault(name));
    return [status?.currentStatus, status?.conditions?.map(({ type }) => type)];
  };
  const UNREAD = ['NotReconciled', undefined];

  test('get their status from Sesame when Contour gives its Lease up, and keep it when Contour comes back', () =>
    onStage(true, async (stage) => {
      await stage.client.create(Lease, leaseAt(stage.clock.now(), 'contour-0'));
      await stage.client.create(ContoursProxy, proxy(ContoursProxy, 'shop', 'shop.test'));
      assert.deepEqual(await statusOf(stage, 'shop'), UNREAD);
      const hold = (holderIdentity: string) =>
        stage.client.patch(Lease, DEFAULT_CONTOUR_LEASE, 'merge', {
          spec: leaseAt(stage.clock.now(), holderIdentity).spec ?? {},
        });
      await hold('');
      assert.deepEqual(await statusOf(stage, 'shop'), ['valid', ['Valid']]);
      await hold('contour-1');
      assert.deepEqual(await statusOf(stage, 'shop'), ['valid', ['Valid']]);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('get their status from Sesame when the Lease of a Contour that crashed has expired', () =>
    onStage(true, async (stage) => {
      await stage.client.create(Lease, leaseAt(stage.clock.now(), 'contour-0'));
      await stage.client.create(ContoursProxy, proxy(ContoursProxy, 'shop', 'shop.test'));
      assert.deepEqual(await statusOf(stage, 'shop'), UNREAD);
      await stage.clock.advance(SECONDS * 1000);
      assert.deepEqual(await statusOf(stage, 'shop'), ['valid', ['Valid']]);
    }));

  test('share their hosts with our own: the oldest keeps one', () =>
    onStage(true, async (stage) => {
      await stage.client.create(ContoursProxy, proxy(ContoursProxy, 'first', 'shop.test'));
      await stage.settle();
      await stage.clock.advance(1000);
      await stage.client.create(HTTPProxy, proxy(HTTPProxy, 'second', 'shop.test'));
      assert.deepEqual(await statusOf(stage, 'first'), ['valid', ['Valid']]);
      const { status } = await stage.client.get(HTTPProxy, inDefault('second'));
      assert.deepEqual(
        status?.conditions?.[0]?.errors?.map(({ reason }) => reason),
        ['DuplicateVhost'],
      );
    }));

  test('are served when their class is contour, and own objects of that class too', () =>
    onStage(true, async (stage) => {
      const classed = (kind: typeof ContoursProxy, name: string) => {
        const object = proxy(kind, name, `${name}.test`);
        return { ...object, spec: { ...object.spec, ingressClassName: 'contour' } };
      };
      await stage.client.create(ContoursProxy, classed(ContoursProxy, 'a'));
      await stage.client.create(HTTPProxy, classed(HTTPProxy, 'b'));
      assert.deepEqual(await statusOf(stage, 'a'), ['valid', ['Valid']]);
      assert.equal((await stage.client.get(HTTPProxy, inDefault('b'))).status?.currentStatus, 'valid');
    }));

  test('are not read without --contour-compat', () =>
    onStage(false, async (stage) => {
      await stage.client.create(ContoursProxy, proxy(ContoursProxy, 'shop', 'shop.test'));
      assert.deepEqual(await statusOf(stage, 'shop'), UNREAD);
    }));
});
