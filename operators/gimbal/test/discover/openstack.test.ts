import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, EndpointSlice, Service, silentLogger } from '@capstan/kube';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  type RecordingTransport,
  recordingTransport,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import { createDiscoverer, DEFAULT_SETTINGS, type Discoverer } from '../../src/discover/discoverer.ts';
import type { CloudCredentials } from '../../src/discover/openstack/credentials.ts';
import { createCloudSource } from '../../src/discover/openstack/remote-cloud.ts';
import { createSession } from '../../src/discover/openstack/session.ts';
import { createMetrics, type DiscovererMetrics } from '../../src/discover/report/metrics.ts';
import { createFakeCloud, type FakeCloud } from './fake-cloud.ts';
import { addressesOf, discovered, metric, namespace } from './stage.ts';

const LB = '5a5c3d9e-e679-43ec-b9fc-9bc51132541e';
const LB2 = '6b6c3d9e-e679-43ec-b9fc-9bc51132541e';

interface CloudStage {
  readonly clock: VirtualClock;
  readonly cloud: FakeCloud;
  readonly local: TestCluster;
  readonly sent: RecordingTransport;
  readonly discoverer: Discoverer;
  readonly metrics: DiscovererMetrics;
  /** Another process in its place. */
  restart(): Promise<void>;
}

const PASSWORD: CloudCredentials['login'] = {
  username: 'gimbal',
  password: 's3cr3t',
  userDomain: 'Default',
  project: 'admin',
  projectDomain: 'Default',
};

async function staged(
  test: (stage: CloudStage) => Promise<void>,
  given: (cloud: FakeCloud) => void = () => {},
  login: CloudCredentials['login'] = PASSWORD,
): Promise<void> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const local = await createTestCluster({ clock, random });
  await namespace(local.client, 'team1', 'team2');
  const cloud = createFakeCloud(clock);
  cloud.projects.push({ id: 'p1', name: 'team1' }, { id: 'p2', name: 'team2' });
  given(cloud);
  const sent = recordingTransport(local.transport());
  const metrics = createMetrics({ backend: 'stack', type: 'openstack', version: 'test', clock });
  const common = { clock, random, logger: silentLogger };
  const start = () => {
    const session = createSession({
      credentials: { authUrl: 'http://cloud.example:5000/v3', login, region: undefined, ca: undefined },
      interface: 'public',
      open: cloud.open,
      clock,
      timeoutMs: 5_000,
    });
    const source = createCloudSource({
      ...common,
      open: () => Promise.resolve(session),
      backend: 'stack',
      projects: { include: [], exclude: [] },
      writeEndpoints: false,
      periodMs: 30_000,
      observe: metrics,
    });
    const discoverer = createDiscoverer({
      ...common,
      backend: 'stack',
      client: createClient({ ...common, transport: sent }),
      remote: source,
      version: 'test',
      identity: 'one',
      metrics,
      settings: DEFAULT_SETTINGS,
    });
    const stopping = new AbortController();
    const done = discoverer.run(stopping.signal);
    const stop = async () => {
      stopping.abort();
      await clock.settle();
      await done;
    };
    return { discoverer, stop };
  };
  let running = start();
  try {
    await clock.advance(2_000);
    await test({
      clock,
      cloud,
      local,
      sent,
      metrics,
      get discoverer() {
        return running.discoverer;
      },
      async restart() {
        await running.stop();
        running = start();
        await clock.advance(2_000);
      },
    });
  } finally {
    await running.stop();
    await local.close();
  }
}

describe('discovery from a cloud', () => {
  it('makes a load balancer a Service under its id, with its members as endpoints', () =>
    staged(
      async ({ local, discoverer }) => {
        assert.equal(discoverer.isReady, true);
        assert.deepEqual(await discovered(local.client, 'stack'), [`team1/stack-${LB}`]);
        const service = await local.client.get(Service, { namespace: 'team1', name: `stack-${LB}` });
        assert.equal(service.metadata.labels?.['gimbal.heptio.com/load-balancer-id'], LB);
        assert.equal(service.metadata.labels?.['gimbal.heptio.com/load-balancer-name'], 'web-8080');
        assert.deepEqual(service.spec?.ports, [{ name: 'port-80', port: 80, protocol: 'TCP', targetPort: 80 }]);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5', '10.0.0.6']);
        const { items } = await local.client.list(EndpointSlice, { namespace: 'team1' });
        assert.deepEqual(items[0]?.ports, [{ name: 'port-80', port: 8080, protocol: 'TCP' }]);
      },
      (cloud) => cloud.add(LB, 'p1', ['10.0.0.5', '10.0.0.6'], { name: 'web:8080' }),
    ));

  it('follows changes and deletions, and writes nothing when nothing changed', () =>
    staged(
      async ({ clock, cloud, local, sent }) => {
        sent.clear();
        await clock.advance(600_000);
        assert.deepEqual(sent.writes, []);
        cloud.balancers[0] = { ...cloud.balancers[0], name: 'renamed' };
        await clock.advance(30_000);
        const service = await local.client.get(Service, { namespace: 'team1', name: `stack-${LB}` });
        assert.equal(service.metadata.labels?.['gimbal.heptio.com/load-balancer-name'], 'renamed');
        cloud.balancers.splice(0, 1);
        await clock.advance(30_000);
        assert.deepEqual(await discovered(local.client, 'stack'), [`team2/stack-${LB2}`]);
      },
      (cloud) => {
        cloud.add(LB, 'p1', ['10.0.0.5']);
        cloud.add(LB2, 'p2', ['10.0.0.7']);
      },
    ));

  it('D11: asks for members only where something changed, and of every fifth pool in turn', () =>
    staged(
      async ({ clock, cloud, local }) => {
        const asks = () => cloud.asked.filter((line) => line.endsWith('/members')).length;
        assert.equal(asks(), 50);
        cloud.asked.length = 0;
        await clock.advance(30_000);
        assert.equal(asks(), 10);
        assert.equal(cloud.asked.length, 14, 'four lists, and ten pools');
        // A member that changed without a trace is seen after five cycles at the latest.
        cloud.members.set('pool-lb-7', [{ id: '0', address: '10.9.9.9', protocol_port: 8080 }]);
        await clock.advance(150_000);
        assert.deepEqual(await addressesOf(local.client, 'team1/stack-lb-7'), ['10.9.9.9']);
      },
      (cloud) => {
        for (let index = 0; index < 50; index++) cloud.add(`lb-${index}`, 'p1', [`10.0.0.${index + 1}`]);
      },
    ));

  it('a member that is removed is gone with the next cycle', () =>
    staged(
      async ({ clock, cloud, local }) => {
        cloud.members.set(`pool-${LB}`, [{ id: '0', address: '10.0.0.5', protocol_port: 8080 }]);
        cloud.pools[0] = { ...cloud.pools[0], members: [{ id: '0' }] };
        await clock.advance(30_000);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5']);
      },
      (cloud) => cloud.add(LB, 'p1', ['10.0.0.5', '10.0.0.6']),
    ));

  it('reads lists page by page to their end', () =>
    staged(
      async ({ local }) => assert.equal((await discovered(local.client, 'stack')).length, 25),
      (cloud) => {
        cloud.settings.pageSize = 10;
        for (let index = 0; index < 25; index++) cloud.add(`lb-${index}`, 'p1', [`10.0.0.${index + 1}`]);
      },
    ));

  it('logs in again before its token ends, and as often as tokens are refused (D6)', () =>
    staged(
      async ({ clock, cloud, discoverer }) => {
        assert.equal(cloud.logins, 1);
        await clock.advance(3_600_000);
        assert.equal(cloud.logins, 2);
        for (let round = 0; round < 10; round++) {
          cloud.revoke();
          await clock.advance(30_000);
          assert.equal(discoverer.isLive, true, `round ${round}`);
        }
        assert.ok(cloud.logins >= 12);
      },
      (cloud) => cloud.add(LB, 'p1', ['10.0.0.5']),
    ));

  it('logs in with an application credential', () =>
    staged(
      async ({ local }) => assert.equal((await discovered(local.client, 'stack')).length, 1),
      (cloud) => cloud.add(LB, 'p1', ['10.0.0.5']),
      { id: 'app', secret: 'app-secret' },
    ));

  it('takes the projects that it may enter when it may not list all', () =>
    staged(
      async ({ local }) => assert.equal((await discovered(local.client, 'stack')).length, 1),
      (cloud) => {
        cloud.add(LB, 'p1', ['10.0.0.5']);
        cloud.settings.fault = ({ path }) => {
          if (path === '/projects') return { status: 403, headers: {}, body: { error: { message: 'no' } } };
          if (path !== '/auth/projects') return undefined;
          return { status: 200, headers: {}, body: { projects: cloud.projects, links: { next: null } } };
        };
      },
    ));
});

describe('a cloud with errors', () => {
  const faults = [
    ['that answers 500', 'Unreachable', () => ({ status: 500, headers: {}, body: 'oops' })],
    ['whose answer breaks off', 'Unreachable', () => new Error('the answer is called JSON and does not parse')],
    ['whose list is no list', 'Unreachable', () => ({ status: 200, headers: {}, body: { something: 'else' } })],
    [
      'that refuses the lists',
      'AuthFailed',
      () => ({ status: 403, headers: {}, body: { faultstring: 'Policy does not allow' } }),
    ],
  ] as const;
  for (const [what, type, fault] of faults) {
    it(`${what} is reported; what was discovered stays, and the backend recovers afterwards`, () =>
      staged(
        async ({ clock, cloud, local, metrics, discoverer }) => {
          cloud.settings.fault = ({ path }) => (path === '/pools' ? fault() : undefined);
          await clock.advance(300_000);
          assert.equal(discoverer.isLive, false);
          assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type }), 1);
          assert.ok((metric(metrics, 'gimbal_discoverer_error_total', { errortype: 'ListPools' }) ?? 0) > 3);
          assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5']);
          cloud.settings.fault = undefined;
          await clock.advance(330_000);
          assert.equal(discoverer.isLive, true);
          assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type }), undefined);
        },
        (cloud) => cloud.add(LB, 'p1', ['10.0.0.5']),
      ));
  }

  it('a cloud that refuses the members of one project: it is reported and stays as it was, and the others go on', () =>
    staged(
      async ({ clock, cloud, local, metrics, discoverer }) => {
        const detail = { faultstring: 'Policy does not allow' };
        cloud.settings.fault = ({ path }) =>
          path.startsWith(`/pools/pool-${LB}/`) ? { status: 403, headers: {}, body: detail } : undefined;
        for (const id of [LB, LB2]) {
          const members = cloud.members.get(`pool-${id}`) ?? [];
          members.push({ id: 'new', protocol_port: 8080, weight: 1, address: '10.0.0.99' });
          const pool = cloud.pools.find((each) => each['id'] === `pool-${id}`);
          Object.assign(pool ?? {}, { updated_at: '2', members: members.map((member) => ({ id: member['id'] })) });
        }
        await clock.advance(60_000);
        assert.equal(discoverer.isLive, true);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5']);
        assert.deepEqual(await addressesOf(local.client, `team2/stack-${LB2}`), ['10.0.0.6', '10.0.0.99']);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'RemoteError' }), 1);
        cloud.settings.fault = undefined;
        await clock.advance(60_000);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5', '10.0.0.99']);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'RemoteError' }), undefined);
      },
      (cloud) => {
        cloud.add(LB, 'p1', ['10.0.0.5']);
        cloud.add(LB2, 'p2', ['10.0.0.6']);
      },
    ));

  it('a cloud that no longer lists all projects: load balancers stay in the namespaces that they had', () =>
    staged(
      async ({ clock, cloud, local }) => {
        const own = { projects: cloud.projects.slice(1), links: { next: null } };
        cloud.settings.fault = ({ path }) => {
          if (path === '/projects') return { status: 403, headers: {}, body: { error: { message: 'no' } } };
          return path === '/auth/projects' ? { status: 200, headers: {}, body: own } : undefined;
        };
        await clock.advance(150_000);
        assert.deepEqual(await discovered(local.client, 'stack'), [`team1/stack-${LB}`, `team2/stack-${LB2}`]);
      },
      (cloud) => {
        cloud.add(LB, 'p1', ['10.0.0.5']);
        cloud.add(LB2, 'p2', ['10.0.0.6']);
      },
    ));

  it('a cloud that refuses the members of one project from the start keeps the objects of an earlier process', () =>
    staged(
      async (stage) => {
        const { clock, cloud, local, metrics } = stage;
        cloud.settings.fault = ({ path }) =>
          path.startsWith(`/pools/pool-${LB}/`) ? { status: 403, headers: {}, body: { faultstring: 'no' } } : undefined;
        await stage.restart();
        await clock.advance(150_000);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5']);
        assert.deepEqual((await discovered(local.client, 'stack')).length, 3);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'RemoteError' }), 1);
        cloud.balancers.splice(0, 1);
        await clock.advance(150_000);
        assert.equal((await discovered(local.client, 'stack')).length, 2, 'one that is not listed any more goes');
      },
      (cloud) => {
        cloud.add(LB, 'p1', ['10.0.0.5']);
        cloud.add(LB2, 'p2', ['10.0.0.6']);
        cloud.add(LB.replace('5a', '7a'), 'p2', ['10.0.0.7']);
      },
    ));

  it('a cloud whose password was changed is reported without the password', () =>
    staged(
      async ({ clock, cloud, metrics, local }) => {
        cloud.settings.password = 'another';
        cloud.revoke();
        await clock.advance(60_000);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'AuthFailed' }), 1);
        assert.equal((await discovered(local.client, 'stack')).length, 1);
        assert.doesNotMatch(metrics.registry.expose('text/plain').body, /s3cr3t/);
      },
      (cloud) => cloud.add(LB, 'p1', ['10.0.0.5']),
    ));

  it('a cloud whose project is no namespace is reported, and so is a load balancer in ERROR', () =>
    staged(
      async ({ metrics, local }) => {
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'InvalidNamespace' }), 1);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'RemoteError' }), 1);
        assert.deepEqual(await addressesOf(local.client, `team1/stack-${LB}`), ['10.0.0.5']);
      },
      (cloud) => {
        cloud.projects.push({ id: 'p3', name: 'Team Three' });
        cloud.add(LB, 'p1', ['10.0.0.5'], { provisioning_status: 'ERROR' });
        cloud.add(LB2, 'p3', ['10.0.0.6']);
      },
    ));

  it('a cloud that lists nothing all of a sudden keeps everything for two further cycles (D14)', () =>
    staged(
      async ({ clock, cloud, local, metrics }) => {
        const all = cloud.balancers.splice(0);
        await clock.advance(45_000);
        assert.equal((await discovered(local.client, 'stack')).length, 12);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'MassDeletionHeld' }), 1);
        cloud.balancers.push(...all);
        await clock.advance(30_000);
        assert.equal(metric(metrics, 'gimbal_discoverer_problems', { type: 'MassDeletionHeld' }), undefined);
        cloud.balancers.splice(0);
        await clock.advance(100_000);
        assert.equal((await discovered(local.client, 'stack')).length, 0);
      },
      (cloud) => {
        for (let index = 0; index < 12; index++) cloud.add(`lb-${index}`, 'p1', [`10.0.0.${index + 1}`]);
      },
    ));
});
