// The networks that must never be reached in clear text, from the objects about a pair.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, type KubeObject } from '@capstan/kube';
import { plan, reading, reconciler } from '@capstan/reconcile';
import { planOf } from '@capstan/testing';
import type { Backstop } from '../drivers/backstop.ts';
import { Broker, CablePolicies, Cluster, Endpoint, type EndpointSpec } from '../kinds/index.ts';
import { RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import { takeProtections } from './backstop-sink.ts';
import { closedNetworks, createProtection, type Protection } from './protection.ts';

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
    subnets: id === 'west' ? ['10.12.0.0/16', 'fd10:2::/64'] : [],
    private_ip: '192.0.2.2',
    public_ip: '',
    nat_enabled: false,
    backend: 'vxlan',
    backend_config: {},
    backends: ['vxlan', 'ipsec'].map((name) => ({ cable_driver: { name, config: {} } })),
    ...more,
  },
});
const policy = (name: string, driver: string): CablePolicies => ({
  apiVersion: CablePolicies.apiVersion,
  kind: 'CablePolicies',
  metadata: { namespace, name, uid: name },
  spec: [{ cableDriver: { name: driver } }],
});
const broker = (spec: Partial<Broker['spec']>): Broker => ({
  apiVersion: Broker.apiVersion,
  kind: 'Broker',
  metadata: { namespace, name: 'submariner-broker', uid: 'broker' },
  spec: { allowMemberPolicies: true, minimumSecurity: 'any', onConflict: 'pick', ...spec },
});

/** Returns the networks of west that the gateway of east protects. */
function protection(...objects: readonly KubeObject[]): Protection | undefined {
  const derived = createProtection({
    clusterID: 'east',
    namespace,
    local: { privateIP: '192.0.2.1', subnets: ['10.11.0.0/16'], sourceIP: undefined },
  });
  let found: Protection | undefined;
  const reader = reconciler<Broker>({
    name: 'reader',
    resource: Broker,
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
  const own = objects.some(({ kind }) => kind === 'Broker') ? [] : [broker({})];
  planOf(reader, [...own, ...objects], { key: `${namespace}/submariner-broker` });
  return found;
}

const EAST = [cluster('east'), endpoint('east')];
const both = ['10.12.0.0/16', 'fd10:2::/64'];

describe('the protection of a pair', () => {
  const state = (...objects: readonly KubeObject[]) => protection(...objects)?.state;
  const west = [cluster('west'), endpoint('west')];

  test('follows the driver of its policy', () => {
    for (const [driver, expected] of [
      ['ipsec', 'closed'],
      ['wireguard', 'closed'],
      ['vxlan+ipsec', 'closed'],
      ['none', 'closed'],
      ['vxlan', 'open'],
    ] as const)
      assert.equal(state(...EAST, ...west, policy('default', driver)), expected, driver);
  });

  test('holds for a driver that one end lacks, and for options that differ', () => {
    const without = endpoint('west', { backends: [{ cable_driver: { name: 'vxlan', config: {} } }] });
    assert.equal(state(...EAST, cluster('west'), without, policy('default', 'ipsec')), 'closed');
    const other = endpoint('west', { backends: [{ cable_driver: { name: 'ipsec', config: { ikeProposals: 'x' } } }] });
    assert.equal(state(...EAST, cluster('west'), other, policy('default', 'ipsec')), 'closed');
  });

  test('holds where the broker asks for encryption and no policy has it', () => {
    const strict = broker({ minimumSecurity: 'encrypted' });
    assert.equal(state(strict, ...EAST, ...west, policy('default', 'vxlan')), 'closed');
  });

  test('holds where the other end resolves a driver with encryption, and waits for one that has not resolved the pair', () => {
    const published = (outcomes: object): Endpoint => {
      const object = endpoint('west');
      const annotations = { [RESOLVED_ANNOTATION]: JSON.stringify(outcomes) };
      return { ...object, metadata: { ...object.metadata, annotations } };
    };
    const vxlan = policy('default', 'vxlan');
    assert.equal(state(...EAST, cluster('west'), published({ ipsec: ['east'] }), vxlan), 'closed');
    assert.equal(state(...EAST, cluster('west'), published({ vxlan: ['north'] }), vxlan), 'unknown');
    assert.equal(state(...EAST, cluster('west'), published({ vxlan: ['east'] }), vxlan), 'open');
  });

  test('is open where a policy asks for a driver without encryption that one end lacks', () => {
    const without = endpoint('west', { backends: [{ cable_driver: { name: 'ipsec', config: {} } }] });
    assert.equal(state(...EAST, cluster('west'), without, policy('default', 'vxlan')), 'open');
  });

  test('holds while the other cluster has no gateway, for the networks that it declares', () => {
    const declared = cluster('west', ['10.12.0.0/16']);
    assert.deepEqual(protection(...EAST, declared, policy('default', 'ipsec')), {
      cluster: 'west',
      state: 'closed',
      networks: ['10.12.0.0/16'],
    });
  });

  test('is not known while a Cluster is missing, and ends with the last object of the other cluster', () => {
    assert.equal(state(...EAST, endpoint('west'), policy('default', 'ipsec')), 'unknown');
    assert.equal(state(...west, policy('default', 'ipsec')), 'unknown');
    assert.equal(protection(...EAST, policy('default', 'ipsec')), undefined);
  });

  test('never closes networks of this cluster, nor ones that the other does not declare', () => {
    const wide = endpoint('west', { subnets: ['0.0.0.0/0', '10.11.0.0/17', '10.12.0.0/16', '192.0.2.0/24'] });
    const ipsec = policy('default', 'ipsec');
    assert.deepEqual(protection(...EAST, cluster('west'), wide, ipsec)?.networks, ['10.12.0.0/16']);
    const foreign = endpoint('west', { subnets: ['10.12.0.0/16', '203.0.113.0/24'] });
    assert.deepEqual(protection(...EAST, cluster('west', ['10.12.0.0/16']), foreign, ipsec)?.networks, [
      '10.12.0.0/16',
    ]);
  });
});

describe('closed networks', () => {
  const of = (name: string, networks: string[], state: Protection['state'] = 'closed') => ({
    cluster: name,
    networks,
    state,
  });

  test('are those of the cluster with the smaller id where two claim them', () => {
    const all = [of('north', ['10.12.0.0/16'], 'open'), of('west', ['10.12.128.0/17', '10.14.0.0/16'])];
    assert.deepEqual([...closedNetworks(all)], [['west', ['10.14.0.0/16']]]);
    const reverse = [of('north', ['10.12.0.0/16']), of('west', ['10.12.0.0/16'], 'open')];
    assert.deepEqual([...closedNetworks(reverse)], [['north', ['10.12.0.0/16']]]);
  });

  test('stay while a gateway is replaced, and open when the pair is gone or its policy does not encrypt', async () => {
    const held = new Map<string, readonly string[]>();
    const backstop: Pick<Backstop, 'hold' | 'holders'> = {
      async hold(holder, networks) {
        if (networks.length === 0) held.delete(holder);
        else held.set(holder, networks);
      },
      holders: () => [...held.keys()],
    };
    const protections = new Map<string, Protection>();
    const take = (after: Protection | undefined, snapshot = false) =>
      takeProtections(
        { changes: [{ key: 'ns/west', before: undefined, after }], snapshot },
        protections,
        backstop as Backstop,
      );
    held.set('cluster gone', ['10.99.0.0/16']).set('found', ['10.98.0.0/16']).set('cable west', ['10.12.0.0/16']);
    await take(of('west', both), true);
    assert.deepEqual([...held.keys()].toSorted(), ['cable west', 'cluster west'], 'what no pair needs is opened');
    await take(of('west', []));
    assert.deepEqual(held.get('cluster west'), both, 'no Endpoint for a moment');
    await take(of('west', both, 'unknown'));
    assert.deepEqual(held.get('cluster west'), both, 'no Cluster for a moment');
    await take(of('west', both, 'open'));
    assert.equal(held.has('cluster west'), false);
    await take(of('west', both));
    await take(undefined);
    assert.equal(held.has('cluster west'), false);
  });
});
