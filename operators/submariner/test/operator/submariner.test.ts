// A Submariner becomes gateways, with the least that they need.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  DaemonSet,
  type Kind,
  Node,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { Cluster, Gateway, Submariner } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';

const NAMESPACE = 'submariner-operator';
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const GATEWAY = ref('submariner-gateway');
const PSK = Buffer.from('a pre-shared key of a test, 32 b').toString('base64');

function submariner(spec: object): Submariner {
  return {
    apiVersion: Submariner.apiVersion,
    kind: 'Submariner',
    metadata: { ...ref('submariner') },
    spec: {
      clusterID: 'east',
      clusterCIDR: '10.11.0.0/16',
      serviceCIDR: '10.101.0.0/16',
      ...spec,
    } as Submariner['spec'],
  };
}

const secret = (name: string, data: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: ref(name),
  data,
});

async function played(spec: object, check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [createSubmariner()],
    async given(client) {
      await client.create(
        { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster', apiVersion: 'v1' },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      );
      await client.create(Secret, secret('psk', { psk: PSK }));
      await client.create(Submariner, submariner(spec));
    },
  });
  try {
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

const condition = async ({ client }: Stage, type: string) => {
  const { status } = await client.get(Submariner, ref('submariner'));
  return status?.conditions?.find((each) => each.type === type);
};
const environment = async ({ client }: Stage) => {
  const { spec } = await client.get(DaemonSet, GATEWAY);
  return new Map(spec?.template.spec?.containers[0]?.env?.map(({ name, value }) => [name, value]));
};

describe('a Submariner', () => {
  test('a Submariner that is deleted leaves nothing behind, neither in its namespace nor at the cluster scope', () =>
    played({ ceIPSecPSK: PSK }, async ({ client, settle }) => {
      const kinds = [DaemonSet, ServiceAccount, Role, RoleBinding, ClusterRole, ClusterRoleBinding, Secret] as const;
      const left = async () => {
        const found = await Promise.all(
          kinds.map((kind: Kind) => client.list(kind, { labelSelector: 'capstan.dev/inventory' })),
        );
        return found.map(({ items }) => items.length);
      };
      assert.deepEqual(await left(), [1, 1, 1, 1, 1, 1, 1]);
      await client.delete(Submariner, ref('submariner'));
      await settle();
      assert.equal(await client.find(Submariner, ref('submariner')), undefined);
      assert.deepEqual(await left(), [0, 0, 0, 0, 0, 0, 0]);
    }));

  test('gets gateways with its drivers, and secrets as files only', () =>
    played(
      {
        ceIPSecPSKSecret: 'psk',
        cableDriver: 'vxlan',
        cableDrivers: ['ipsec', 'wireguard'],
        combinedCableDrivers: ['vxlan', 'ipsec'],
        cableDriverCustomConfig: 'options',
      },
      async (stage) => {
        const env = await environment(stage);
        assert.equal(env.get('SUBMARINER_CABLEDRIVER'), 'vxlan');
        assert.equal(env.get('SUBMARINER_CABLEDRIVERS'), 'vxlan,ipsec,wireguard');
        assert.equal(env.get('SUBMARINER_COMBINEDCABLEDRIVERS'), 'vxlan+ipsec');
        assert.equal(env.get('CE_IPSEC_PSKSECRET'), 'psk');
        assert.equal(env.has('CE_IPSEC_PSK'), false);
        const { spec } = await stage.client.get(DaemonSet, GATEWAY);
        const volumes = spec?.template.spec?.volumes ?? [];
        assert.deepEqual(volumes.find(({ name }) => name === 'psk')?.secret?.secretName, 'psk');
        assert.deepEqual(volumes.find(({ name }) => name === 'cable-driver-config')?.configMap, {
          name: 'options',
          optional: true,
          defaultMode: 420,
        });
        assert.deepEqual(spec?.template.spec?.nodeSelector, { 'submariner.io/gateway': 'true' });
        assert.equal((await condition(stage, 'Configured'))?.reason, 'ConfigMapMissing');
        const { rules } = await stage.client.get(Role, GATEWAY);
        assert.ok(!JSON.stringify(rules).includes('secrets'));
      },
    ));

  test('a Submariner with a plain cableDriver works as before', () =>
    played({ ceIPSecPSKSecret: 'psk', cableDriver: 'libreswan' }, async (stage) => {
      const env = await environment(stage);
      assert.equal(env.get('SUBMARINER_CABLEDRIVER'), 'ipsec');
      assert.equal(env.has('SUBMARINER_CABLEDRIVERS'), false);
    }));

  test('a Submariner that carries secrets in clear gets Secrets, warnings, and nothing in the environment', () =>
    played({ ceIPSecPSK: PSK, brokerK8sApiServerToken: 'a-token-of-the-test' }, async (stage) => {
      const { data } = await stage.client.get(Secret, ref('submariner-gateway-psk'));
      assert.equal(data?.['psk'], PSK);
      const daemonSet = JSON.stringify(await stage.client.get(DaemonSet, GATEWAY));
      const { status } = await stage.client.get(Submariner, ref('submariner'));
      for (const text of [PSK, 'a-token-of-the-test', Buffer.from('a-token-of-the-test').toString('base64')]) {
        assert.ok(!daemonSet.includes(text));
        assert.ok(!JSON.stringify(status).includes(text));
      }
      assert.equal(status?.warnings?.length, 2);
    }));

  test('becomes a Cluster whose labels of users are kept', () =>
    played(
      { ceIPSecPSKSecret: 'psk', clusterLabels: { env: 'production', 'example.com/zone': 'a' } },
      async (stage) => {
        await stage.client.patch(Cluster, ref('east'), 'merge', { metadata: { labels: { mine: 'yes' } } });
        await stage.client.patch(Submariner, ref('submariner'), 'merge', { spec: { clusterLabels: { env: 'test' } } });
        await stage.settle();
        const { metadata, spec } = await stage.client.get(Cluster, ref('east'));
        assert.equal(metadata.labels?.['env'], 'test');
        assert.equal(metadata.labels?.['mine'], 'yes');
        assert.deepEqual(spec.cluster_cidr, ['10.11.0.0/16']);
        const edits = { env: 'edge', 'example.com/zone': 'b' };
        await stage.client.patch(Cluster, ref('east'), 'merge', { metadata: { labels: edits } });
        await stage.settle();
        const { labels } = (await stage.client.get(Cluster, ref('east'))).metadata;
        assert.deepEqual([labels?.['env'], labels?.['example.com/zone']], ['edge', 'b'], 'what a user set stays');
        await stage.client.patch(Cluster, ref('east'), 'merge', { metadata: { labels: { 'example.com/zone': null } } });
        await stage.settle();
        const { metadata: after } = await stage.client.get(Cluster, ref('east'));
        assert.equal(after.labels?.['example.com/zone'], undefined, 'what a user removed does not come back');
      },
    ));

  test('brings an added label to its Cluster, removes one that was removed, and leaves those set by hand', () =>
    played({ ceIPSecPSKSecret: 'psk', clusterLabels: { env: 'production', region: 'eu' } }, async (stage) => {
      const labels = async () => (await stage.client.get(Cluster, ref('east'))).metadata.labels;
      const hand = { mine: 'yes', region: 'us' };
      await stage.client.patch(Cluster, ref('east'), 'merge', { metadata: { labels: hand } });
      await stage.settle();
      // A second join with other labels replaces the map.
      const clusterLabels = { region: 'eu', 'example.com/tier': 'edge', zone: 'a' };
      await stage.client.patch(Submariner, ref('submariner'), 'json', [
        { op: 'replace', path: '/spec/clusterLabels', value: clusterLabels },
      ]);
      await stage.settle();
      const expected = { 'example.com/tier': 'edge', zone: 'a', mine: 'yes', region: 'us' };
      const own = (found: Record<string, string> | undefined) =>
        Object.fromEntries(Object.entries(found ?? {}).filter(([key]) => !key.startsWith('capstan.dev/')));
      assert.deepEqual(own(await labels()), expected);
      await stage.restart();
      await stage.settle();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('restarts no gateway when labels change', () =>
    played({ ceIPSecPSKSecret: 'psk' }, async (stage) => {
      const before = (await stage.client.get(DaemonSet, GATEWAY)).metadata.generation;
      await stage.client.patch(Submariner, ref('submariner'), 'merge', { spec: { clusterLabels: { env: 'test' } } });
      await stage.settle();
      assert.equal((await stage.client.get(DaemonSet, GATEWAY)).metadata.generation, before);
      await stage.client.patch(Submariner, ref('submariner'), 'merge', { spec: { cableDriver: 'wireguard' } });
      await stage.settle();
      assert.equal((await stage.client.get(DaemonSet, GATEWAY)).metadata.generation, (before ?? 0) + 1);
    }));

  test('reports the fields of the original in its status', () =>
    played(
      {
        ceIPSecPSKSecret: 'psk',
        globalCIDR: '242.0.0.0/16',
        colorCodes: 'blue',
        natEnabled: true,
        airGappedDeployment: true,
        version: '9.9',
      },
      async (stage) => {
        for (const [name, providerID] of [
          ['n1', undefined],
          ['n2', 'aws:///eu-central-1a/i-0abc'],
        ] as const)
          await stage.client.create(Node, {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: { name },
            ...(providerID !== undefined && { spec: { providerID } }),
            status: { nodeInfo: { kubeletVersion: 'v1.34.1' } as NonNullable<Node['status']>['nodeInfo'] },
          });
        const counts = {
          desiredNumberScheduled: 2,
          currentNumberScheduled: 2,
          updatedNumberScheduled: 1,
          numberReady: 1,
          numberMisscheduled: 0,
        };
        await stage.client.patch(DaemonSet, GATEWAY, 'merge', { status: counts }, { subresource: 'status' });
        await stage.settle();
        const { status } = await stage.client.get(Submariner, ref('submariner'));
        const { conditions: _, gatewayDaemonSetStatus: gateways, ...own } = status ?? {};
        assert.deepEqual(own, {
          clusterID: 'east',
          clusterCIDR: '10.11.0.0/16',
          serviceCIDR: '10.101.0.0/16',
          globalCIDR: '242.0.0.0/16',
          colorCodes: 'blue',
          natEnabled: true,
          airGappedDeployment: true,
          version: '9.9',
          deploymentInfo: { kubernetesType: 'k8s', kubernetesVersion: 'v1.34.1', cloudProvider: 'aws' },
          warnings: own.warnings,
          gateways: [],
          observedGeneration: 1,
        });
        assert.deepEqual(gateways, { desired: 2, ready: 1, mismatchedContainerImages: true, status: counts });
      },
    ));

  test('a Submariner whose networks overlap those of another cluster reports it in Joined, until they do not', () =>
    played({ ceIPSecPSKSecret: 'psk', brokerK8sApiServer: '127.0.0.1:1', brokerK8sSecret: 'psk' }, async (stage) => {
      assert.equal((await condition(stage, 'Joined'))?.reason, 'Waiting');
      const west = { cluster_id: 'west', service_cidr: [], cluster_cidr: ['10.11.128.0/17'], global_cidr: [] };
      await stage.client.create(Cluster, {
        apiVersion: Cluster.apiVersion,
        kind: 'Cluster',
        metadata: ref('west'),
        spec: west,
      });
      await stage.settle();
      const found = await condition(stage, 'Joined');
      assert.deepEqual([found?.status, found?.reason], ['False', 'OverlappingSubnets']);
      assert.match(found?.message ?? '', /10\.11\.0\.0\/16 overlaps 10\.11\.128\.0\/17 of cluster "west"/);
      await stage.client.patch(Cluster, ref('west'), 'merge', { spec: { cluster_cidr: ['10.12.0.0/16'] } });
      await stage.settle();
      assert.equal((await condition(stage, 'Joined'))?.reason, 'Waiting');
    }));

  test('names the cables that are down in Connected, each with its remedy', () =>
    played({ ceIPSecPSKSecret: 'psk' }, async (stage) => {
      assert.equal(await condition(stage, 'Connected'), undefined);
      const endpoint = (id: string) => ({
        cluster_id: id,
        cable_name: `submariner-cable-${id}`,
        hostname: id,
        subnets: [],
        private_ip: '192.0.2.1',
        public_ip: '',
        nat_enabled: false,
        backend: 'vxlan',
      });
      await stage.client.create(Gateway, {
        apiVersion: Gateway.apiVersion,
        kind: 'Gateway',
        metadata: ref('node-1'),
      });
      const report = async (...connections: object[]) => {
        const status = { haStatus: 'active', connections };
        await stage.client.patch(Gateway, ref('node-1'), 'merge', { status });
        await stage.settle();
        return condition(stage, 'Connected');
      };
      const up = { status: 'connected', endpoint: endpoint('north') };
      const statusMessage =
        'cable driver "wireguard" required by policy "fast" is not available in cluster "east"; install it';
      const lacking = await report(up, { status: 'error', statusMessage, endpoint: endpoint('west') });
      assert.deepEqual(
        [lacking?.status, lacking?.reason, lacking?.message],
        ['False', 'CablesDown', `1 of 2 cables: cluster "west": ${statusMessage}`],
      );
      assert.equal((await report(up, { status: 'connecting', endpoint: endpoint('west') }))?.reason, 'Connecting');
      assert.equal((await report(up, { status: 'none', endpoint: endpoint('west') }))?.status, 'True');
    }));

  const refused: readonly [string, object, string, RegExp][] = [
    [
      'an unknown driver',
      { cableDrivers: ['gre'] },
      'InvalidConfiguration',
      /cable driver "gre" is not known; use one of ipsec/,
    ],
    ['overlapping networks', { serviceCIDR: '10.11.8.0/24' }, 'InvalidConfiguration', /10\.11\.8\.0\/24 overlaps/],
    ['no pre-shared key', {}, 'MissingSecret', /name a Secret in ceIPSecPSKSecret/],
    ['a Secret that does not exist', { ceIPSecPSKSecret: 'none' }, 'MissingSecret', /Secret none: does not exist/],
  ];
  for (const [what, spec, reason, message] of refused) {
    test(`a Submariner with ${what} reports it`, () =>
      played(spec, async (stage) => {
        const found = await condition(stage, 'Deployed');
        assert.deepEqual([found?.status, found?.reason], ['False', reason]);
        assert.match(found?.message ?? '', message);
      }));
  }

  test('keeps its gateways when an edit makes it invalid, and writes nothing after a restart', () =>
    played({ ceIPSecPSKSecret: 'psk' }, async (stage) => {
      const before = await stage.client.get(DaemonSet, GATEWAY);
      await stage.client.patch(Submariner, ref('submariner'), 'merge', { spec: { cableDriver: 'gre' } });
      await stage.settle();
      const after = await stage.client.get(DaemonSet, GATEWAY);
      assert.equal(after.metadata.uid, before.metadata.uid);
      assert.equal(after.metadata.generation, before.metadata.generation);
      await stage.restart();
      await stage.settle();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('takes a ConfigMap that comes later', () =>
    played({ ceIPSecPSKSecret: 'psk', cableDriverCustomConfig: { configMapName: 'options' } }, async (stage) => {
      await stage.client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: ref('options'),
        data: { vxlanID: '100' },
      });
      await stage.settle();
      assert.equal((await condition(stage, 'Configured'))?.status, 'True');
    }));
});
