// The status that the operator reports on policies, on a broker and on a member.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Lease, Namespace, ServiceAccount } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { Broker, CablePolicies, Cluster, ORIGIN_LABEL } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';
import { ADMISSION } from '../../src/policy/admission.ts';

const NAMESPACE = 'submariner-k8s-broker';
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const policy = (name: string, spec: unknown): CablePolicies => ({
  apiVersion: CablePolicies.apiVersion,
  kind: 'CablePolicies',
  metadata: ref(name),
  spec,
});
const cluster = (id: string, labels: Record<string, string>): Cluster => ({
  apiVersion: Cluster.apiVersion,
  kind: 'Cluster',
  metadata: { ...ref(id), labels },
  spec: { cluster_id: id, service_cidr: [], cluster_cidr: [], global_cidr: [] },
});

async function played(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    // Members write their objects on the broker themselves.
    ruled: '0034: a member that was not heard of',
    operators: [createSubmariner()],
    given: async (client) => {
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
      for (const [id, location] of [
        ['c1', 'cloud'],
        ['c2', 'on-premise'],
        ['c3', 'cloud'],
        ['c4', 'cloud'],
      ] as const)
        await client.create(Cluster, cluster(id, { location }));
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const condition = async ({ client }: Stage, name: string, type: string) => {
  const { status } = await client.get(CablePolicies, ref(name));
  return status?.conditions?.find((each) => each.type === type);
};

describe('a broker', () => {
  test('gets its default policy and the initial ones once, and leaves them to users', () =>
    played(async (stage) => {
      const spec = { defaultCableDriver: 'vxlan', initialPolicies: [{ name: 'first', spec: { name: 'ipsec' } }] };
      await stage.client.create(Broker, {
        apiVersion: Broker.apiVersion,
        kind: 'Broker',
        metadata: ref('submariner-broker'),
        spec: spec as Broker['spec'],
      });
      await stage.settle();
      assert.deepEqual((await stage.client.get(CablePolicies, ref('default'))).spec, [
        { cableDriver: { name: 'vxlan' } },
      ]);
      assert.ok(await stage.client.find(CablePolicies, ref('first')));
      await stage.client.patch(CablePolicies, ref('default'), 'merge', { spec: [{ cableDriver: { name: 'ipsec' } }] });
      await stage.settle();
      assert.deepEqual((await stage.client.get(CablePolicies, ref('default'))).spec, [
        { cableDriver: { name: 'ipsec' } },
      ]);
      const { status } = await stage.client.get(Broker, ref('submariner-broker'));
      assert.deepEqual(
        status?.clusters?.map(({ id }) => id),
        ['c1', 'c2', 'c3', 'c4'],
      );
      const was = await stage.client.get(CablePolicies, ref('first'));
      await stage.restart();
      await stage.settle();
      assert.deepEqual((await stage.client.get(CablePolicies, ref('first'))).status, was.status);
      assert.deepEqual(stage.transport.writes, []);
    }));
});

test("a member's copy of the broker is ready, names where to edit it, and deploys nothing", () =>
  played(async (stage) => {
    const metadata = { ...ref('submariner-broker'), labels: { [ORIGIN_LABEL]: 'submariner-broker' } };
    const spec = { defaultCableDriver: 'vxlan' } as Broker['spec'];
    await stage.client.create(Broker, { apiVersion: Broker.apiVersion, kind: 'Broker', metadata, spec });
    await stage.settle();
    const { status } = await stage.client.get(Broker, ref('submariner-broker'));
    const [ready] = status?.conditions ?? [];
    assert.deepEqual([ready?.type, ready?.status, ready?.reason], ['Ready', 'True', 'Copy']);
    assert.match(ready?.message ?? '', /edit them there/);
    assert.equal(await stage.client.find(CablePolicies, ref('default')), undefined);
  }));

describe('a broker with members', () => {
  const broker = (spec: object): Broker => ({
    apiVersion: Broker.apiVersion,
    kind: 'Broker',
    metadata: ref('submariner-broker'),
    spec: spec as Broker['spec'],
  });

  test('restores a deleted default policy as it last was valid, and its pairs keep that driver meanwhile', () =>
    played(async (stage) => {
      await stage.client.create(Broker, broker({ defaultCableDriver: 'vxlan' }));
      await stage.settle();
      const edit = (name: string) =>
        stage.client.patch(CablePolicies, ref('default'), 'merge', { spec: [{ cableDriver: { name } }] });
      await edit('wireguard');
      await stage.settle();
      await edit('wiregard');
      await stage.settle();
      await stage.client.delete(CablePolicies, ref('default'));
      await stage.settle();
      const restored = await stage.client.get(CablePolicies, ref('default'));
      assert.deepEqual(restored.spec, [{ cableDriver: { name: 'wireguard' } }]);
      assert.equal(restored.status?.matchedPairs, 6);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('removes a member that was not heard of for memberTimeout, and no other', () =>
    played(async (stage) => {
      const heartbeat = (id: string, renewTime: number) =>
        stage.client.apply(
          Lease,
          {
            apiVersion: Lease.apiVersion,
            kind: 'Lease',
            metadata: ref(`submariner-member-${id}`),
            spec: { holderIdentity: id, renewTime: new Date(renewTime).toISOString().replace('Z', '000Z') },
          } as Lease,
          { fieldManager: 'test', force: true },
        );
      const ids = async () =>
        (await stage.client.list(Cluster, { namespace: NAMESPACE })).items.map(({ spec }) => spec.cluster_id);
      for (const id of ['c1', 'c2']) await heartbeat(id, stage.clock.now());
      await stage.client.create(ServiceAccount, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: ref('cluster-c1'),
      });
      await stage.client.create(Broker, broker({ memberTimeout: '10m' }));
      await stage.settle();
      await stage.clock.advance(6 * 60_000);
      await heartbeat('c2', stage.clock.now());
      await stage.settle();
      assert.deepEqual(await ids(), ['c1', 'c2', 'c3', 'c4']);
      await stage.clock.advance(5 * 60_000);
      await stage.settle();
      assert.deepEqual(await ids(), ['c2', 'c3', 'c4'], 'c3 and c4 never sent a heartbeat: their age is not known');
      assert.equal(await stage.client.find(ServiceAccount, ref('cluster-c1')), undefined);
      await stage.client.patch(Broker, ref('submariner-broker'), 'merge', { spec: { memberTimeout: 'soon' } });
      await stage.settle();
      const { status } = await stage.client.get(Broker, ref('submariner-broker'));
      assert.match(status?.conditions?.[0]?.message ?? '', /spec\.memberTimeout: "soon" is not a duration/);
    }));
});

describe('a policy', () => {
  test('counts its pairs, and counts again when a label changes', () =>
    played(async (stage) => {
      await stage.client.create(CablePolicies, policy('default', { name: 'vxlan' }));
      await stage.client.create(
        CablePolicies,
        policy('p', {
          leftClusterSelector: { location: 'on-premise' },
          rightClusterSelector: { location: 'cloud' },
          name: 'ipsec',
        }),
      );
      await stage.settle();
      const pairs = async (name: string) => (await stage.client.get(CablePolicies, ref(name))).status?.matchedPairs;
      assert.deepEqual([await pairs('p'), await pairs('default')], [3, 3]);
      await stage.client.patch(Cluster, ref('c4'), 'merge', { metadata: { labels: { location: 'on-premise' } } });
      await stage.settle();
      assert.deepEqual([await pairs('p'), await pairs('default')], [4, 2]);
      const { status } = await stage.client.get(CablePolicies, ref('p'));
      assert.equal(status?.effective?.[0]?.cableDriver.name, 'ipsec');
      assert.equal((await condition(stage, 'p', 'Accepted'))?.reason, 'Accepted');
    }));

  test('a policy that is wrong, selects nothing, contradicts another or misses its ConfigMap reports it', () =>
    played(async (stage) => {
      await stage.client.create(CablePolicies, policy('wrong', { name: 'gre' }));
      await stage.client.create(
        CablePolicies,
        policy('idle', { leftClusterSelector: { location: 'moon' }, name: 'ipsec', options: 'options' }),
      );
      await stage.client.create(
        CablePolicies,
        policy('a', { leftClusterSelector: { location: 'cloud' }, name: 'ipsec' }),
      );
      await stage.client.create(
        CablePolicies,
        policy('b', { leftClusterSelector: { location: 'cloud' }, name: 'vxlan' }),
      );
      await stage.settle();
      const wrong = await condition(stage, 'wrong', 'Accepted');
      assert.deepEqual([wrong?.status, wrong?.reason], ['False', 'Invalid']);
      assert.match(wrong?.message ?? '', /Unsupported value: "gre"/);
      assert.equal((await condition(stage, 'idle', 'Accepted'))?.reason, 'SelectsNothing');
      assert.equal((await condition(stage, 'idle', 'OptionsResolved'))?.status, 'False');
      for (const name of ['a', 'b'])
        assert.match((await condition(stage, name, 'Conflicting'))?.message ?? '', /for c1 and c2/);
      await stage.client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: ref('options'),
        data: { dpdDelay: '5' },
      });
      await stage.client.delete(CablePolicies, ref('b'));
      await stage.settle();
      assert.equal((await condition(stage, 'idle', 'OptionsResolved'))?.status, 'True');
      assert.equal(await condition(stage, 'a', 'Conflicting'), undefined);
    }));

  test('a policy whose ConfigMap has a wrong option names the key and the value, and stays in force as it was', () =>
    played(async (stage) => {
      const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('options'), data: { dpdDelay: '20' } };
      await stage.client.create(ConfigMap, config);
      await stage.client.create(CablePolicies, policy('p', { name: 'ipsec', options: 'options' }));
      await stage.settle();
      await stage.client.patch(ConfigMap, ref('options'), 'merge', { data: { dpdDelay: '20x' } });
      await stage.settle();
      const accepted = await condition(stage, 'p', 'Accepted');
      assert.deepEqual([accepted?.status, accepted?.reason], ['False', 'Invalid']);
      assert.match(accepted?.message ?? '', /ConfigMap options.*data\[dpdDelay\]: Invalid value: "20x"/);
      assert.equal((await stage.client.get(CablePolicies, ref('p'))).status?.matchedPairs, 6);
    }));

  test('a policy with an empty label value is accepted with a warning, and one without a value is refused', () =>
    played(async (stage) => {
      await stage.client.create(
        CablePolicies,
        policy('empty', { leftClusterSelector: { location: '' }, name: 'ipsec' }),
      );
      await stage.client.create(CablePolicies, policy('null', { leftClusterSelector: { env: null }, name: 'ipsec' }));
      await stage.settle();
      const empty = await condition(stage, 'empty', 'Accepted');
      assert.deepEqual([empty?.status, empty?.reason], ['True', 'EmptyLabelValue']);
      assert.match(empty?.message ?? '', /quote it: location: "!production"/);
      const [check] = ADMISSION;
      const findings = check?.check(policy('empty', { leftClusterSelector: { location: '' }, name: 'ipsec' }), {
        list: () => [],
      });
      assert.deepEqual([findings?.errors, findings?.warnings?.length], [[], 1]);
      const none = await condition(stage, 'null', 'Accepted');
      assert.equal(none?.reason, 'Invalid');
      assert.match(none?.message ?? '', /is a YAML tag on an empty value: quote it, as in env: "!production"/);
    }));

  test('a policy without encryption is not accepted where the broker asks for it, and decides no pair', () =>
    played(async (stage) => {
      await stage.client.create(CablePolicies, policy('default', { name: 'ipsec' }));
      await stage.client.create(
        CablePolicies,
        policy('open', { leftClusterSelector: { location: 'cloud' }, name: 'vxlan' }),
      );
      await stage.settle();
      assert.equal((await condition(stage, 'open', 'Accepted'))?.reason, 'Accepted');
      await stage.client.create(Broker, {
        apiVersion: Broker.apiVersion,
        kind: 'Broker',
        metadata: ref('submariner-broker'),
        spec: { minimumSecurity: 'encrypted' } as Broker['spec'],
      });
      await stage.settle();
      const accepted = await condition(stage, 'open', 'Accepted');
      assert.deepEqual([accepted?.status, accepted?.reason], ['False', 'NotEncrypted']);
      assert.match(accepted?.message ?? '', /minimumSecurity/);
      const pairs = async (name: string) => (await stage.client.get(CablePolicies, ref(name))).status?.matchedPairs;
      assert.deepEqual([await pairs('open'), await pairs('default')], [0, 6]);
    }));

  test('a policy that an edit makes invalid keeps the rules that were accepted last', () =>
    played(async (stage) => {
      const rule = {
        leftClusterSelector: { location: 'on-premise' },
        cableDriver: { name: 'ipsec', options: { data: { dpdDelay: '7' } } },
      };
      await stage.client.create(CablePolicies, policy('default', { name: 'vxlan' }));
      await stage.client.create(CablePolicies, policy('p', rule));
      await stage.settle();
      const status = async () => (await stage.client.get(CablePolicies, ref('p'))).status;
      assert.equal((await status())?.matchedPairs, 3);
      await stage.client.patch(CablePolicies, ref('p'), 'merge', {
        spec: { ...rule, cableDriver: { name: 'ipsek' } },
      });
      await stage.settle();
      const accepted = await condition(stage, 'p', 'Accepted');
      assert.deepEqual([accepted?.status, accepted?.reason], ['False', 'Invalid']);
      assert.match(accepted?.message ?? '', /"ipsek".*; the rules that were accepted last stay in force$/);
      assert.equal((await status())?.matchedPairs, 3);
      assert.deepEqual((await status())?.effective?.[0]?.cableDriver, { name: 'ipsec', options: { dpdDelay: '7' } });
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('named default must not have selectors', () =>
    played(async (stage) => {
      await stage.client.create(
        CablePolicies,
        policy('default', { leftClusterSelector: { location: 'cloud' }, name: 'vxlan' }),
      );
      await stage.settle();
      const accepted = await condition(stage, 'default', 'Accepted');
      assert.deepEqual([accepted?.status, accepted?.reason], ['False', 'Invalid']);
      assert.match(accepted?.message ?? '', /cannot have cluster selectors/);
    }));
});

describe('a policy of several rules', () => {
  test('shows the drivers of all of them in the column Driver', () =>
    played(async (stage) => {
      const rules = ['ipsec', 'vxlan', 'ipsec'].map((name, index) => ({
        leftClusterSelector: { location: 'cloud', index: String(index) },
        cableDriver: { name },
      }));
      await stage.client.create(CablePolicies, policy('several', rules));
      await stage.settle();
      const { status } = await stage.client.get(CablePolicies, ref('several'));
      assert.equal(status?.drivers, 'ipsec,vxlan');
      const [version] = CablePolicies.crd().spec.versions;
      const column = version?.additionalPrinterColumns?.find(({ name }) => name === 'Driver');
      assert.equal(column?.jsonPath, '.status.drivers');
    }));
});

describe('a cluster', () => {
  const accepted = async ({ client }: Stage, id: string) =>
    (await client.get(Cluster, ref(id))).status?.conditions?.find(({ type }) => type === 'Accepted');
  const networks = ({ client }: Stage, id: string, cidr: string) =>
    client.patch(Cluster, ref(id), 'merge', { spec: { cluster_cidr: [cidr] } });

  test('a cluster whose subnets overlap those of another is reported on both, and no longer when they do not', () =>
    played(async (stage) => {
      await networks(stage, 'c1', '10.1.0.0/16');
      await networks(stage, 'c2', '10.1.128.0/17');
      await networks(stage, 'c3', 'fd10::/48');
      await stage.settle();
      for (const id of ['c1', 'c2']) assert.equal((await accepted(stage, id))?.reason, 'OverlappingSubnets');
      assert.match(
        (await accepted(stage, 'c2'))?.message ?? '',
        /10\.1\.128\.0\/17 overlaps 10\.1\.0\.0\/16 of cluster "c1"/,
      );
      for (const id of ['c3', 'c4']) assert.equal((await accepted(stage, id))?.status, 'True');
      await networks(stage, 'c2', '10.2.0.0/16');
      await stage.settle();
      for (const id of ['c1', 'c2']) assert.equal((await accepted(stage, id))?.status, 'True');
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('a cluster with an invalid subnet reports it', () =>
    played(async (stage) => {
      await networks(stage, 'c1', '10.1.0.0');
      await stage.settle();
      assert.equal((await accepted(stage, 'c1'))?.reason, 'InvalidSubnet');
    }));
});
