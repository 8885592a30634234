// The plan of a gateway for an Endpoint, and the message for each problem of a pair.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { ConfigMap } from '@capstan/kube';
import { plan, reading, reconciler } from '@capstan/reconcile';
import { planOf } from '@capstan/testing';
import { Broker, CablePolicies, Cluster, Endpoint, type EndpointSpec } from '../kinds/index.ts';
import { RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import { CELL, createCell } from './cell.ts';
import { createEndpointPlan, type EndpointPlan } from './wanted-cable.ts';

const namespace = 'submariner-operator';

const cluster = (id: string, cidrs: string[] = []): Cluster => ({
  apiVersion: Cluster.apiVersion,
  kind: 'Cluster',
  metadata: { namespace, name: id, uid: id, labels: {} },
  spec: { cluster_id: id, service_cidr: [], cluster_cidr: cidrs, global_cidr: [] },
});
const endpoint = (id: string, more: Partial<EndpointSpec> = {}): Endpoint => ({
  apiVersion: Endpoint.apiVersion,
  kind: 'Endpoint',
  metadata: { namespace, name: id, uid: `endpoint-${id}` },
  spec: {
    cluster_id: id,
    cable_name: `cable-${id}`,
    hostname: id,
    subnets: id === 'west' ? ['10.12.0.0/16'] : [],
    private_ip: '192.0.2.2',
    public_ip: '',
    nat_enabled: false,
    backend: 'vxlan',
    backend_config: {},
    backends: [drivers('vxlan', {}), drivers('ipsec', {})],
    ...more,
  },
});
const drivers = (name: string, config: Record<string, string>) => ({ cable_driver: { name, config } });
const policy = (name: string, rule: object): CablePolicies => ({
  apiVersion: CablePolicies.apiVersion,
  kind: 'CablePolicies',
  metadata: { namespace, name, uid: name },
  spec: [rule],
});
const broker = (spec: Partial<Broker['spec']>): Broker => ({
  apiVersion: Broker.apiVersion,
  kind: 'Broker',
  metadata: { namespace, name: 'submariner-broker', uid: 'broker' },
  spec: { allowMemberPolicies: true, minimumSecurity: 'any', onConflict: 'pick', ...spec },
});
const DEFAULT = policy('default', { cableDriver: { name: 'vxlan' } });

/** Returns the plan of the gateway of east for the Endpoint of west. */
function planned(objects: readonly KubeObject[], options: Record<string, string> = {}): EndpointPlan | undefined {
  const cell = createCell('driver-options', options);
  const derived = createEndpointPlan({
    clusterID: 'east',
    namespace,
    local: { privateIP: '192.0.2.1', subnets: ['10.11.0.0/16'], sourceIP: undefined },
    preferredServer: false,
    options: cell.source,
  });
  let found: EndpointPlan | undefined;
  const reader = reconciler<Endpoint>({
    name: 'reader',
    resource: Endpoint,
    reads: [
      reading(Endpoint, 'everywhere'),
      reading(Cluster, 'everywhere'),
      reading(CablePolicies, 'everywhere'),
      reading(Broker, 'everywhere'),
      ConfigMap,
    ],
    writesStatus: false,
    reconcile({ read }) {
      found = read.derived(derived, `${namespace}/west`);
      return plan({});
    },
  });
  planOf(reader, objects, { key: `${namespace}/west`, sources: [{ source: cell.source, rows: { [CELL]: options } }] });
  return found;
}

const USUAL = [
  cluster('east'),
  cluster('west'),
  endpoint('east', { private_ip: '192.0.2.1' }),
  endpoint('west'),
  DEFAULT,
];
const without = (kind: string, name: string) =>
  USUAL.filter((each) => each.kind !== kind || each.metadata.name !== name);

describe('the cable of an Endpoint', () => {
  test('has the driver and the options of its policy, and what only this end needs', () => {
    const rule = { cableDriver: { name: 'vxlan', options: { data: { vxlanID: '77' } } } };
    const { wanted, problem } = planned([...without('CablePolicies', 'default'), policy('default', rule)], {
      mtu: '1300',
      vxlanID: '5',
      dpdDelay: '7',
    }) ?? { wanted: undefined, problem: undefined };
    assert.equal(problem, undefined);
    assert.deepEqual([wanted?.driver, wanted?.policy], ['vxlan', 'default']);
    assert.deepEqual(wanted?.cable.options, { mtu: '1300', vxlanID: '77' });
    assert.deepEqual(wanted?.cable.remoteSubnets, ['10.12.0.0/16']);
  });

  test('takes subnets of IPv6, and what discovery needs', () => {
    const west = endpoint('west', {
      subnets: ['10.12.0.0/16', 'fd10:0002::/64', 'nonsense'],
      public_ip: '203.0.113.2',
      nat_enabled: true,
      backend_config: { 'natt-discovery-port': '4490', 'preferred-server': 'true' },
    });
    const { wanted } = planned([...without('Endpoint', 'west'), west]) ?? {};
    assert.deepEqual(wanted?.cable.remoteSubnets, ['10.12.0.0/16', 'fd10:2::/64']);
    assert.deepEqual(
      [wanted?.cable.remotePublicIP, wanted?.cable.remoteDiscoveryPort, wanted?.cable.role],
      ['203.0.113.2', 4490, 'client'],
    );
  });

  test('keeps the driver that was accepted last when an edit makes its policy invalid', () => {
    const invalid = {
      ...policy('p', { cableDriver: { name: 'ipsek' } }),
      status: { effective: [{ cableDriver: { name: 'ipsec', options: { dpdDelay: '7' } } }] },
    };
    const { wanted } = planned([...USUAL, invalid]) ?? {};
    assert.deepEqual([wanted?.driver, wanted?.policy, wanted?.cable.options], ['ipsec', 'p', { dpdDelay: '7' }]);
    assert.equal(planned([...USUAL, policy('p', { cableDriver: { name: 'ipsek' } })])?.wanted?.driver, 'vxlan');
  });

  const problems: [string, readonly KubeObject[], string, RegExp][] = [
    ['the other Cluster is not known yet', without('Cluster', 'west'), 'connecting', /^waiting for Cluster "west"$/],
    [
      'a subnet overlaps one of this cluster',
      [...without('Endpoint', 'west'), endpoint('west', { subnets: ['10.11.128.0/17'] })],
      'error',
      /^cluster "west": its subnet 10\.11\.128\.0\/17 overlaps 10\.11\.0\.0\/16 of cluster "east"; use networks/,
    ],
    [
      'a subnet overlaps one of a third cluster',
      [...USUAL, cluster('north'), endpoint('north', { subnets: ['10.12.3.0/24'] })],
      'error',
      /overlaps 10\.12\.3\.0\/24 of cluster "north"/,
    ],
    [
      'a subnet of this cluster overlaps one of a third cluster, to which the other end sends its packets',
      [...USUAL, cluster('aft'), endpoint('aft', { subnets: ['10.11.3.0/24'] })],
      'error',
      /^cluster "east": its subnet 10\.11\.0\.0\/16 overlaps 10\.11\.3\.0\/24 of cluster "aft"/,
    ],
    [
      'a subnet is not declared by the Cluster',
      [...without('Cluster', 'west'), cluster('west', ['10.99.0.0/16'])],
      'error',
      /its Endpoint has the subnet 10\.12\.0\.0\/16, which its Cluster does not declare/,
    ],
    [
      'the other end lacks the driver',
      [...without('CablePolicies', 'default'), policy('default', { cableDriver: { name: 'wireguard' } })],
      'error',
      /cable driver "wireguard" required by policy "default" is not available in cluster "east" \(available: ipsec, vxlan\)/,
    ],
    [
      'policies contradict each other, and the broker refuses such pairs',
      [
        ...USUAL,
        broker({ onConflict: 'refuse' }),
        policy('a', { cableDriver: { name: 'ipsec' } }),
        policy('b', { cableDriver: { name: 'vxlan' } }),
      ],
      'conflict',
      /policies "a" \(ipsec\) and "b" \(vxlan\) contradict each other/,
    ],
    [
      'nothing with encryption selects the pair, and the broker asks for it',
      [...USUAL, broker({ minimumSecurity: 'encrypted' })],
      'error',
      /which the broker asks for \(minimumSecurity\)/,
    ],
    [
      'the policy selects no cable',
      [...without('CablePolicies', 'default'), policy('default', { cableDriver: { name: 'none' } })],
      'none',
      /uses none/,
    ],
  ];
  for (const [what, objects, status, message] of problems)
    test(`is refused when ${what}`, () => {
      const found = planned(objects);
      assert.equal(found?.wanted, undefined);
      assert.equal(found?.problem?.status, status);
      assert.match(found?.problem?.message ?? '', message);
      assert.equal(found?.problem?.keepsCable, undefined);
    });

  test('is kept while an option differs that both ends must share', () => {
    const west = endpoint('west', { backends: [drivers('vxlan', { vxlanID: '9' })] });
    const found = planned([...without('Endpoint', 'west'), west]);
    assert.equal(found?.problem?.keepsCable, true);
    assert.match(found?.problem?.message ?? '', /its default in cluster "east", "9" in cluster "west"/);
  });

  test('is kept only if it encrypts, where the policy asks for encryption and an option differs', () => {
    const west = endpoint('west', { backends: [drivers('ipsec', { ikeProposals: 'aes128-sha256-ecp256' })] });
    const ipsec = policy('default', { cableDriver: { name: 'ipsec' } });
    const others = USUAL.filter(({ kind, metadata }) => kind !== 'CablePolicies' && metadata.uid !== 'endpoint-west');
    assert.equal(planned([...others, west, ipsec])?.problem?.keepsCable, 'encrypted');
  });
});

describe('two ends that resolve a pair differently', () => {
  const published = (outcomes: Record<string, string[]>): Endpoint => {
    const west = endpoint('west');
    const annotations = { [RESOLVED_ANNOTATION]: JSON.stringify(outcomes) };
    return { ...west, metadata: { ...west.metadata, annotations } };
  };
  const objectsWith = (west: Endpoint, driver: string) => [
    ...USUAL.filter(({ kind, metadata }) => kind !== 'CablePolicies' && metadata.uid !== 'endpoint-west'),
    west,
    policy('default', { cableDriver: { name: driver } }),
  ];

  test('never use the driver without encryption, and name both values', () => {
    const { wanted, problem } =
      planned(objectsWith(published({ 'ipsec(dpdDelay=20)': ['east', 'north'] }), 'vxlan')) ?? {};
    assert.equal(wanted, undefined);
    assert.deepEqual([problem?.status, problem?.keepsCable], ['error', 'encrypted']);
    assert.match(
      problem?.message ?? '',
      /^cluster "east" resolves vxlan, cluster "west" resolves ipsec\(dpdDelay=20\);/,
    );
  });

  test('keep a cable without encryption where the other end has none for another reason', () => {
    const found = planned(objectsWith(published({ 'not connected': ['east'] }), 'vxlan'));
    assert.deepEqual([found?.wanted, found?.problem?.keepsCable], [undefined, true]);
  });

  test('hold back a driver without encryption where the other end knows one that this version does not', () => {
    const { wanted, problem } = planned(objectsWith(published({ 'quantum(keys=2)': ['east'] }), 'vxlan')) ?? {};
    assert.equal(wanted, undefined);
    assert.match(problem?.message ?? '', /"west" resolves quantum\(keys=2\)/);
  });

  test('try the encrypted driver, which cannot come up alone, and name both values', () => {
    const { wanted, problem, disagreement } = planned(objectsWith(published({ vxlan: ['east'] }), 'ipsec')) ?? {};
    assert.deepEqual([wanted?.driver, problem], ['ipsec', undefined]);
    assert.match(disagreement ?? '', /"east" resolves ipsec, cluster "west" resolves vxlan/);
  });

  test('wait for an end that has not resolved the pair, and not for one that publishes nothing', () => {
    const waiting = planned(objectsWith(published({ vxlan: ['north'] }), 'vxlan'));
    assert.deepEqual([waiting?.wanted, waiting?.problem?.status], [undefined, 'connecting']);
    assert.equal(planned(objectsWith(published({}), 'ipsec'))?.wanted?.driver, 'ipsec');
    assert.equal(planned(objectsWith(endpoint('west'), 'vxlan'))?.wanted?.driver, 'vxlan');
    assert.equal(planned(objectsWith(published({ vxlan: ['east'] }), 'vxlan'))?.wanted?.driver, 'vxlan');
  });
});
