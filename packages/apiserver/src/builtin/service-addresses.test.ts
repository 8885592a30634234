import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServiceSpec, UnknownObject } from '@capstan/kube';
import { manualClock, seeded, testServer } from '../server.test-support.ts';
import { createApiServer } from '../server.ts';
import { createServicePool } from './service-pool.ts';

const SERVICES = '/api/v1/namespaces/default/services';
const MERGE = { contentType: 'application/merge-patch+json' };
const service = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const IN_RANGE = /^127\.(?:9[6-9]|10\d|11[01])\./;
const specOf = (object: UnknownObject) => object['spec'] as ServiceSpec;

describe('addresses of services', () => {
  it('gives each its own, and the families that go with it', async () => {
    const { ok } = testServer();
    const first = specOf(await ok('POST', SERVICES, service('a')));
    const second = specOf(await ok('POST', SERVICES, service('b')));
    assert.deepEqual(first.clusterIPs, [first.clusterIP]);
    assert.match(first.clusterIP ?? '', IN_RANGE);
    assert.notEqual(first.clusterIP, second.clusterIP);
    assert.deepEqual([first.ipFamilies, first.ipFamilyPolicy], [['IPv4'], 'SingleStack']);
  });

  it('begins elsewhere in each cluster: those of one machine share its addresses', async () => {
    const made = [1, 2].map(async (seed) => {
      const { ok } = testServer({ random: seeded(seed) });
      return specOf(await ok('POST', SERVICES, service('a'))).clusterIP;
    });
    const [one, other] = await Promise.all(made);
    assert.notEqual(one, other);
  });

  it('addresses of a load balancer are removed when the service is one no longer', async () => {
    const { ok } = testServer();
    await ok('POST', SERVICES, service('a', { type: 'LoadBalancer' }));
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } };
    await ok('PATCH', `${SERVICES}/a/status`, { status }, MERGE);
    const changed = await ok('PATCH', `${SERVICES}/a`, { spec: { type: 'NodePort' } }, MERGE);
    assert.deepEqual(changed['status'], { loadBalancer: {} });
  });

  it('has no field manager', async () => {
    const { ok } = testServer();
    const made = await ok('POST', SERVICES, service('a'));
    const fields = made.metadata.managedFields?.[0]?.fieldsV1?.['f:spec'] as object;
    assert.ok(!('f:clusterIP' in fields) && 'f:ports' in fields);
  });

  it('gives a wished one, unless it is taken or not ours', async () => {
    const { ok, refused } = testServer();
    await ok('POST', SERVICES, service('a', { clusterIP: '127.97.1.1' }));
    const taken = await refused('POST', SERVICES, service('b', { clusterIP: '127.97.1.1' }));
    assert.equal(
      taken.details?.causes?.[0]?.message,
      'Invalid value: ["127.97.1.1"]: failed to allocate IP 127.97.1.1: provided IP is already allocated',
    );
    const foreign = await refused('POST', SERVICES, service('b', { clusterIP: '10.0.0.1' }));
    assert.match(foreign.message ?? '', /not in the valid range\. The range of valid IPs is 127\.96\.0\.0\/12/);
    await ok('DELETE', `${SERVICES}/a`);
    await ok('POST', SERVICES, service('b', { clusterIP: '127.97.1.1' }));
  });

  it('gives none to a headless one, nor to an alias', async () => {
    const { ok } = testServer();
    const headless = specOf(await ok('POST', SERVICES, service('a', { clusterIP: 'None', selector: { a: 'b' } })));
    assert.deepEqual([headless.clusterIPs, headless.ipFamilyPolicy], [['None'], 'SingleStack']);
    const alias = specOf(await ok('POST', SERVICES, service('b', { type: 'ExternalName', externalName: 'x.example' })));
    assert.deepEqual([alias.clusterIP, alias.ipFamilies], [undefined, undefined]);
  });

  it('stays with who replaces it without naming it, and does not change', async () => {
    const { ok, refused } = testServer();
    const made = await ok('POST', SERVICES, service('a'));
    const replaced = specOf(await ok('PUT', `${SERVICES}/a`, service('a', { selector: { a: 'b' } })));
    assert.equal(replaced.clusterIP, specOf(made).clusterIP);
    const moved = await refused('PATCH', `${SERVICES}/a`, { spec: { clusterIP: '127.98.0.1' } }, MERGE);
    assert.equal(moved.details?.causes?.[0]?.message, 'Invalid value: ["127.98.0.1"]: may not change once set');
  });

  it('goes when the service becomes an alias, and comes back', async () => {
    const { ok } = testServer();
    await ok('POST', SERVICES, service('a'));
    const alias = { type: 'ExternalName', externalName: 'x.example', clusterIP: null, clusterIPs: null };
    assert.equal(specOf(await ok('PATCH', `${SERVICES}/a`, { spec: alias }, MERGE)).clusterIP, undefined);
    const back = specOf(await ok('PATCH', `${SERVICES}/a`, { spec: { type: 'ClusterIP', externalName: null } }, MERGE));
    assert.match(back.clusterIP ?? '', IN_RANGE);
  });

  it('is not taken by a dry run', async () => {
    const { ok } = testServer();
    const query = { dryRun: 'All' };
    const tried = specOf(await ok('POST', SERVICES, service('a', { clusterIP: '127.97.0.9' }), { query }));
    assert.equal(tried.clusterIP, '127.97.0.9');
    await ok('POST', SERVICES, service('b', { clusterIP: '127.97.0.9' }));
  });

  it('stays what it was in an object that is carried over', async () => {
    const { ok } = testServer();
    const made = await ok('POST', SERVICES, service('a'));
    // The same object, written unchanged into another server, keeps its addresses.
    const other = createApiServer({ clock: manualClock(), random: seeded(1) });
    const { metadata, ...rest } = made;
    const transport = other.transport();
    await transport.request({ method: 'POST', path: SERVICES, body: { ...rest, metadata: { name: metadata.name } } });
    const answer = await transport.request({ method: 'POST', path: SERVICES, body: service('b') });
    assert.notEqual(specOf(answer.body as UnknownObject).clusterIP, specOf(made).clusterIP);
  });
});

describe('node ports', () => {
  const portOf = (object: UnknownObject) => specOf(object).ports?.[0]?.nodePort ?? 0;

  it('gives each port one of the range, TCP and UDP of a number the same', async () => {
    const { ok } = testServer();
    const ports = [
      { name: 'a', port: 53 },
      { name: 'b', port: 53, protocol: 'UDP' },
      { name: 'c', port: 80 },
    ];
    const given = specOf(await ok('POST', SERVICES, service('a', { type: 'NodePort', ports }))).ports ?? [];
    assert.ok(given.every(({ nodePort = 0 }) => nodePort >= 30_000 && nodePort <= 32_767));
    assert.equal(given[0]?.nodePort, given[1]?.nodePort);
    assert.notEqual(given[0]?.nodePort, given[2]?.nodePort);
  });

  it('gives a port that is added to a Service one of its own, although another has its number', async () => {
    const { ok } = testServer();
    await ok('POST', SERVICES, service('a', { ports: [{ name: 'tcp', port: 53 }] }));
    const ports = [
      { name: 'tcp', port: 53 },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ];
    const [tcp, udp] = specOf(await ok('PUT', `${SERVICES}/a`, service('a', { type: 'NodePort', ports }))).ports ?? [];
    assert.notEqual(tcp?.nodePort, udp?.nodePort);
  });

  it('refuses two ports of one Service that clash for the ports alone, not for node ports that were drawn', async () => {
    const { ok, refused } = testServer();
    await ok('POST', SERVICES, service('a'));
    const ports = [
      { name: 'x', port: 80 },
      { name: 'y', port: 80 },
    ];
    const { details } = await refused('PUT', `${SERVICES}/a`, service('a', { type: 'LoadBalancer', ports }));
    assert.deepEqual(
      details?.causes?.map(({ field }) => field),
      ['spec.ports[1]'],
    );
  });

  it('keeps the port of the health check, and does not let it change', async () => {
    const { ok, refused } = testServer();
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
    const made = specOf(await ok('POST', SERVICES, service('a', local))).healthCheckNodePort;
    assert.equal(specOf(await ok('PUT', `${SERVICES}/a`, service('a', local))).healthCheckNodePort, made);
    const changed = service('a', { ...local, healthCheckNodePort: made === 30_500 ? 30_501 : 30_500 });
    const { message } = await refused('PUT', `${SERVICES}/a`, changed);
    assert.match(message ?? '', /spec\.healthCheckNodePort: Forbidden: field is immutable/);
  });

  it('refuses one that is taken or outside', async () => {
    const { ok, refused } = testServer();
    const wanting = (name: string, nodePort: number) =>
      service(name, { type: 'NodePort', ports: [{ port: 80, nodePort }] });
    await ok('POST', SERVICES, wanting('a', 30_080));
    const taken = await refused('POST', SERVICES, wanting('b', 30_080));
    assert.equal(taken.details?.causes?.[0]?.message, 'Invalid value: 30080: provided port is already allocated');
    const outside = await refused('POST', SERVICES, wanting('b', 80));
    assert.match(outside.message ?? '', /The range of valid ports is 30000-32767/);
  });

  it('keeps it through a replacement, and gives it back with the type', async () => {
    const { ok } = testServer();
    const made = portOf(await ok('POST', SERVICES, service('a', { type: 'NodePort' })));
    assert.equal(portOf(await ok('PUT', `${SERVICES}/a`, service('a', { type: 'NodePort' }))), made);
    assert.equal(portOf(await ok('PATCH', `${SERVICES}/a`, { spec: { type: 'ClusterIP' } }, MERGE)), 0);
    await ok('POST', SERVICES, service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: made }] }));
  });
});

describe('addresses of services in several clusters of a process', () => {
  const node = (name: string, nodePort?: number) =>
    service(name, { type: 'NodePort', ports: [{ port: 80, ...(nodePort !== undefined && { nodePort }) }] });
  const clusters = (random = () => seeded(1)) => {
    const servicePool = createServicePool();
    return [1, 2].map(() => testServer({ random: random(), servicePool }));
  };

  it('draws no address and no node port that another cluster has, and gives back the ones of deleted services', async () => {
    const [one, other] = clusters() as [ReturnType<typeof testServer>, ReturnType<typeof testServer>];
    const made: ServiceSpec[] = [];
    for (const { ok } of [one, other, one, other]) {
      made.push(specOf(await ok('POST', SERVICES, node(`s${made.length}`))));
    }
    assert.equal(new Set(made.map(({ clusterIP }) => clusterIP)).size, 4);
    assert.equal(new Set(made.map(({ ports }) => ports?.[0]?.nodePort)).size, 4);
    const { clusterIP } = made[0] ?? {};
    const taken = await other.refused('POST', SERVICES, service('b', { clusterIP }));
    assert.match(taken.message ?? '', /already allocated to a Service of another cluster on this machine/);
    await one.ok('DELETE', `${SERVICES}/s0`);
    assert.equal(specOf(await other.ok('POST', SERVICES, service('b', { clusterIP }))).clusterIP, clusterIP);
  });

  it('takes a node port that the user asked for in both: the node reports which of them it cannot serve', async () => {
    const [one, other] = clusters() as [ReturnType<typeof testServer>, ReturnType<typeof testServer>];
    await one.ok('POST', SERVICES, node('a', 30_777));
    await other.ok('POST', SERVICES, node('a', 30_777));
    await one.ok('DELETE', `${SERVICES}/a`);
    const refused = await other.refused('POST', SERVICES, node('b', 30_777));
    assert.match(refused.message ?? '', /provided port is already allocated/);
  });

  it('refuses an exported Service for its taken address before its resourceVersion, as Kubernetes does', async () => {
    const { ok, refused } = testServer({ checkNamespaces: false });
    const exported = await ok('POST', SERVICES, service('exported'));
    assert.equal((await refused('POST', SERVICES, exported)).code, 422);
    const { clusterIP: _, clusterIPs: __, ...rest } = specOf(exported);
    assert.equal((await refused('POST', SERVICES, { ...exported, spec: rest })).code, 400);
  });

  it('refuses a Service without a name for its address, as Kubernetes does', async () => {
    const { ok, refused } = testServer({ checkNamespaces: false });
    const nameless = { ...service(''), metadata: {} };
    const { message } = await refused('POST', SERVICES, nameless);
    assert.match(message ?? '', /failed to allocate IP: IPAddress.* is invalid: spec\.parentRef\.name: Required value/);
    const headless = await refused('POST', SERVICES, { ...nameless, spec: { ...nameless.spec, clusterIP: 'None' } });
    assert.match(headless.message ?? '', /metadata\.name: Required value/);
    await ok('POST', SERVICES, { ...nameless, metadata: { generateName: 'drawn-' } });
  });

  it('removes Endpoints with their Service, whichever client made them, and keeps their finalizers', async () => {
    const { ok, send } = testServer({ checkNamespaces: false });
    const [services, endpoints] = ['/api/v1/namespaces/default/services', '/api/v1/namespaces/default/endpoints'];
    const make = async (name: string, held: { service?: string[]; endpoints?: string[] } = {}) => {
      const metadata = (finalizers: string[] = []) => ({ name, finalizers });
      await ok('POST', services, { metadata: metadata(held.service), spec: { ports: [{ port: 80 }] } });
      await ok('POST', endpoints, { metadata: metadata(held.endpoints) });
    };
    await make('plain');
    await ok('DELETE', `${services}/plain`, undefined, { query: { dryRun: 'All' } });
    await ok('GET', `${endpoints}/plain`);
    await ok('DELETE', `${services}/plain`);
    assert.equal((await send('GET', `${endpoints}/plain`)).status, 404);

    await make('held', { service: ['example.dev/held'] });
    await ok('DELETE', `${services}/held`);
    await ok('GET', `${endpoints}/held`);
    await ok(
      'PATCH',
      `${services}/held`,
      { metadata: { finalizers: null } },
      { contentType: 'application/merge-patch+json' },
    );
    assert.equal((await send('GET', `${endpoints}/held`)).status, 404);

    await make('kept', { endpoints: ['example.dev/kept'] });
    await ok('DELETE', `${services}/kept`);
    const { metadata } = await ok('GET', `${endpoints}/kept`);
    assert.ok(metadata.deletionTimestamp);
  });
});
