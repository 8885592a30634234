// A cluster whose Submariner is edited by hand to name another broker: it leaves the broker that it recorded first, with the operator
// and servers over TLS. The test writes the published data of its gateway.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { type Cluster as EmbeddedCluster, startCluster } from '@capstan/apiserver';
import {
  type Client,
  connect,
  createClient,
  DaemonSet,
  Event,
  Secret,
  ServiceAccount,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createManager } from '@capstan/reconcile';
import { parse } from 'yaml';
import { runSubctl } from '../../src/commands/index.ts';
import { allowSelfService, bind, CLIENT_ROLE, tokenOf } from '../../src/deployment/broker-objects.ts';
import {
  BROKER_NAMESPACE,
  CablePolicies,
  Cluster,
  Endpoint,
  MEMBER_NAMESPACE,
  OWNER_ANNOTATION,
  Submariner,
} from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';
import { type CuttableProxy, createCuttableProxy } from '../gateway/cuttable-proxy.ts';
import { until } from '../until.ts';

const here = (name: string) => ({ namespace: MEMBER_NAMESPACE, name });
const there = (name: string) => ({ namespace: BROKER_NAMESPACE, name });
const SUBMARINER = here('submariner');
const SECRET = here('submariner-broker-secret');
const LIMIT_MS = 60_000;

describe('a Submariner that is edited to name another broker', () => {
  let cluster: EmbeddedCluster;
  let folder: string;
  let proxy: CuttableProxy;
  let stop: () => Promise<void>;
  const clients = new Map<string, Client>();
  const clientOf = (name: string): Client => {
    const found = clients.get(name);
    assert.ok(found);
    return found;
  };
  const subctl = async (...argv: string[]) => {
    let stderr = '';
    const code = await runSubctl(argv, {
      stdout: () => {},
      stderr: (text) => {
        stderr += text;
      },
      env: { KUBECONFIG: join(folder, 'kubeconfig') },
      cwd: folder,
      files: {
        read: (path) => Promise.resolve(readFileSync(path, 'utf8')),
        write: (path, text) => writeFile(path, text, { mode: 0o600 }),
        stdin: () => Promise.resolve(''),
      },
      clock: systemClock,
      signal: AbortSignal.timeout(120_000),
      connect,
    });
    assert.equal(code, 0, stderr);
  };
  const read = () => clientOf('east').get(Submariner, SUBMARINER);
  const edit = (spec: object) => clientOf('east').patch(Submariner, SUBMARINER, 'merge', { spec });
  const joinedCondition = async () => (await read()).status?.conditions?.find(({ type }) => type === 'Joined');
  const describeIt = async () => {
    const { metadata, spec, status } = await read();
    return { annotations: metadata.annotations, spec, broker: status?.broker, conditions: status?.conditions };
  };
  const recorded = (server: string, id = 'east') =>
    until(
      `${id} at ${server} is recorded`,
      LIMIT_MS,
      async () => {
        const { broker } = (await read()).status ?? {};
        return broker?.server === server && broker.clusterID === id;
      },
      describeIt,
    );
  const urlOf = (broker: string, port?: number) => {
    const { clusters } = parse(cluster.kubeconfig) as {
      clusters: readonly { name: string; cluster: { server: string } }[];
    };
    const url = clusters.find(({ name }) => name === broker)?.cluster.server ?? '';
    return port === undefined ? url : url.replace(/:\d+/, `:${port}`);
  };
  /** The token of a new account of east on a broker, as its administrator hands it out. */
  const credentialsAt = async (broker: string) => {
    const [client, name, { signal }] = [clientOf(broker), 'cluster-east', new AbortController()];
    const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: there(name) };
    const { metadata } = await client.create(ServiceAccount, object);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', name, uid: metadata.uid ?? '' }];
    await bind({ client, signal }, BROKER_NAMESPACE, name, CLIENT_ROLE, { ownerReferences });
    await allowSelfService({ client, signal }, BROKER_NAMESPACE, name, ownerReferences);
    return Buffer.from(await tokenOf({ client, signal }, BROKER_NAMESPACE, name)).toString('base64');
  };
  const overwriteToken = (token: string) => clientOf('east').patch(Secret, SECRET, 'merge', { data: { token } });
  /** As the gateway of east does. */
  const publish = async (broker: string) => {
    const { metadata } = await read();
    await clientOf(broker).create(Cluster, {
      apiVersion: Cluster.apiVersion,
      kind: 'Cluster',
      metadata: { ...there('east'), annotations: { [OWNER_ANNOTATION]: metadata.uid ?? '' } },
      spec: { cluster_id: 'east', service_cidr: [], cluster_cidr: [], global_cidr: [] },
    });
    await clientOf(broker).create(Endpoint, {
      apiVersion: Endpoint.apiVersion,
      kind: 'Endpoint',
      metadata: there('east-cable'),
      spec: {
        cluster_id: 'east',
        cable_name: 'cable',
        hostname: 'east',
        subnets: [],
        private_ip: '192.0.2.1',
        public_ip: '',
        nat_enabled: false,
        backend: 'vxlan',
      },
    });
  };
  const traces = async (broker: string) => {
    const found: string[] = [];
    for (const kind of [Cluster, Endpoint, ServiceAccount] as const)
      for (const { metadata } of (await clientOf(broker).list(kind, { namespace: BROKER_NAMESPACE })).items)
        if (metadata.name?.includes('east')) found.push(`${kind.kind} ${metadata.name}`);
    return found;
  };
  const ALL = ['Cluster east', 'Endpoint east-cable', 'ServiceAccount cluster-east'];
  const warnings = async () =>
    (await clientOf('east').list(Event, { namespace: MEMBER_NAMESPACE })).items.flatMap(({ reason, note }) =>
      reason === 'BrokerNotLeft' ? [note ?? ''] : [],
    );

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'submariner-move-'));
    const clusters = ['b1', 'b2', 'east'];
    cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters });
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig, { mode: 0o600 });
    for (const { name, server } of cluster.clusters) clients.set(name, createClient({ transport: server.transport() }));
    for (const name of ['b1', 'b2'])
      await subctl('deploy-broker', '--context', name, '--cable-driver', 'vxlan', '--broker-info', join(folder, name));
    proxy = await createCuttableProxy({ host: '127.0.0.1', port: Number(new URL(urlOf('b1')).port) });
  });
  after(async () => {
    await proxy?.close();
    for (const client of clients.values()) await client.close();
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    await subctl('join', join(folder, 'b1'), '--context', 'east', '--label-gateway', 'false');
    await writeFile(
      join(folder, 'east.kubeconfig'),
      cluster.kubeconfig.replace(/current-context: .*/, 'current-context: east'),
      { mode: 0o600 },
    );
    const manager = createManager({
      operators: [createSubmariner()],
      kubeconfig: join(folder, 'east.kubeconfig'),
      installCrds: true,
      logger: silentLogger,
      env: {},
    });
    const stopping = new AbortController();
    const ended = manager.run(stopping.signal);
    stop = async () => {
      stopping.abort();
      await ended;
    };
    await recorded(urlOf('b1'));
    await until('the credentials are kept', LIMIT_MS, async () =>
      Boolean(await clientOf('east').find(Secret, here('submariner-joined-broker'))),
    );
    await publish('b1');
  });
  afterEach(async () => {
    proxy.heal();
    const east = clientOf('east');
    if ((await east.find(Submariner, SUBMARINER)) !== undefined) await east.delete(Submariner, SUBMARINER);
    await until(
      'the resource is gone',
      LIMIT_MS,
      async () => (await east.find(Submariner, SUBMARINER)) === undefined,
      describeIt,
    );
    await stop();
    for (const broker of ['b1', 'b2']) assert.deepEqual(await traces(broker), [], `traces on ${broker}`);
    for (const { metadata } of (await east.list(Event, { namespace: MEMBER_NAMESPACE })).items)
      await east.delete(Event, here(metadata.name ?? ''));
  });

  test('leaves the recorded broker, drops its copies, and goes on with the new one', async () => {
    const east = clientOf('east');
    await east.create(CablePolicies, {
      apiVersion: CablePolicies.apiVersion,
      kind: 'CablePolicies',
      metadata: {
        ...here('copy'),
        labels: { 'submariner-io/clusterID': 'west' },
        annotations: { 'submariner.io/sync-base-uid': 'u' },
      },
      spec: [{ leftClusterSelector: { a: 'b' }, cableDriver: { name: 'ipsec' } }],
    });
    assert.deepEqual(await traces('b1'), ALL);
    // The Secret first and the address later, as a user does by hand.
    const token = await credentialsAt('b2');
    await overwriteToken(token);
    await until('the operator has seen it', LIMIT_MS, async () => {
      const { data } = await east.get(Secret, here('submariner-joined-broker'));
      return data?.['token'] === token;
    });
    await edit({ brokerK8sApiServer: urlOf('b2') });
    await recorded(urlOf('b2'));
    assert.deepEqual(await traces('b1'), []);
    assert.equal(await east.find(CablePolicies, here('copy')), undefined);
    await until('the gateways are started for the new broker', LIMIT_MS, async () => {
      const { spec } = await east.get(DaemonSet, here('submariner-gateway'));
      const env = spec?.template.spec?.containers[0]?.env ?? [];
      return env.find(({ name }) => name === 'BROKER_K8S_APISERVER')?.value === urlOf('b2');
    });
    assert.deepEqual(await warnings(), []);
    await publish('b2');
  });

  test('stays where it is until the new broker accepts its token', async () => {
    await edit({ brokerK8sApiServer: urlOf('b2') });
    await until(
      'the refusal is reported',
      LIMIT_MS,
      async () => /refuses the token in its Secret/.test((await joinedCondition())?.message ?? ''),
      describeIt,
    );
    assert.equal((await joinedCondition())?.reason, 'Moving');
    const types = (await read()).status?.conditions?.map(({ type }) => type).toSorted();
    assert.deepEqual(types, ['Configured', 'Deployed', 'Joined'], 'one condition reports it');
    assert.deepEqual(await traces('b1'), ALL);
    await overwriteToken(await credentialsAt('b2'));
    await recorded(urlOf('b2'));
    assert.deepEqual(await traces('b1'), []);
    assert.deepEqual(await warnings(), []);
  });

  test('a Submariner that names its broker by another address keeps its membership', async () => {
    await edit({ brokerK8sApiServer: urlOf('b1', proxy.port) });
    await recorded(urlOf('b1', proxy.port));
    assert.deepEqual(await traces('b1'), ALL);
    await edit({ brokerK8sApiServer: urlOf('b1') });
    await recorded(urlOf('b1'));
    assert.deepEqual(await traces('b1'), ALL);
  });

  test('a Submariner that names another broker with another id leaves under the old one, and keeps the account that it still uses', async () => {
    await edit({ clusterID: 'orient' });
    await recorded(urlOf('b1'), 'orient');
    assert.deepEqual(await traces('b1'), ['ServiceAccount cluster-east']);
  });

  test('waits for a broker that cannot be reached, and goes on when the user gives it up', async () => {
    const byProxy = urlOf('b1', proxy.port);
    await edit({ brokerK8sApiServer: byProxy });
    await recorded(byProxy);
    proxy.cut();
    await overwriteToken(await credentialsAt('b2'));
    await edit({ brokerK8sApiServer: urlOf('b2') });
    await until(
      'it is reported',
      LIMIT_MS,
      async () => /cannot be reached .* annotate this resource/.test((await joinedCondition())?.message ?? ''),
      describeIt,
    );
    assert.deepEqual(await traces('b1'), ALL);
    const annotations = { 'submariner.io/left-broker': byProxy };
    await clientOf('east').patch(Submariner, SUBMARINER, 'merge', { metadata: { annotations } });
    await recorded(urlOf('b2'));
    await until('the annotation is gone', LIMIT_MS, async () => (await read()).metadata.annotations === undefined);
    assert.deepEqual(await traces('b1'), ALL, 'the administrator removes it');
    await subctl('remove-member', 'east', '--context', 'b1');
  });

  test('and deleted before it has left leaves both brokers', async () => {
    const byProxy = urlOf('b1', proxy.port);
    await edit({ brokerK8sApiServer: byProxy });
    await recorded(byProxy);
    proxy.cut();
    await overwriteToken(await credentialsAt('b2'));
    await edit({ brokerK8sApiServer: urlOf('b2') });
    await until('it waits', LIMIT_MS, async () => (await joinedCondition())?.reason === 'Moving');
    await clientOf('east').delete(Submariner, SUBMARINER);
    proxy.heal();
  });

  test('a Submariner whose old token was replaced twice goes on, and a Warning names the remedy', async () => {
    await overwriteToken(Buffer.from('a').toString('base64'));
    await until('the first is kept', LIMIT_MS, async () => {
      const { data } = await clientOf('east').get(Secret, here('submariner-joined-broker'));
      return data?.['token'] === Buffer.from('a').toString('base64');
    });
    await overwriteToken(await credentialsAt('b2'));
    await until('the second is kept', LIMIT_MS, async () => {
      const { data } = await clientOf('east').get(Secret, here('submariner-joined-broker'));
      return data?.['previous-token'] === Buffer.from('a').toString('base64');
    });
    await edit({ brokerK8sApiServer: urlOf('b2') });
    await recorded(urlOf('b2'));
    await until('a Warning is sent', LIMIT_MS, async () => (await warnings()).length > 0, warnings);
    assert.match((await warnings())[0] ?? '', /refuses the token of this cluster; .*subctl remove-member east/);
    assert.deepEqual(await traces('b1'), ALL);
    await subctl('remove-member', 'east', '--context', 'b1');
  });

  test('a Submariner that names another broker by subctl join leaves the old one once, without a Warning', async () => {
    await subctl('join', join(folder, 'b2'), '--context', 'east', '--label-gateway', 'false');
    await recorded(urlOf('b2'));
    assert.deepEqual(await traces('b1'), []);
    assert.deepEqual(await traces('b2'), ['ServiceAccount cluster-east']);
    await until('the annotation is gone', LIMIT_MS, async () => (await read()).metadata.annotations === undefined);
    assert.deepEqual(await warnings(), []);
  });

  test('a Submariner that names no broker any more leaves the recorded one', async () => {
    await edit({ brokerK8sApiServer: null });
    await until('nothing is recorded', LIMIT_MS, async () => (await read()).status?.broker === undefined, describeIt);
    assert.deepEqual(await traces('b1'), []);
  });
});
