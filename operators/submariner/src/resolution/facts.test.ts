// The facts about clusters and endpoints from which pairs are decided.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterFacts } from './cluster-labels.ts';
import { offerOfEndpoint } from './endpoint-offer.ts';

const endpoint = (spec: object) => offerOfEndpoint(spec as Parameters<typeof offerOfEndpoint>[0]);

test('a cluster is selected by its own labels and its id, and not by labels of the sync', () => {
  const labels = { site: 'x', 'submariner-io/clusterID': 'other', 'capstan.dev/inventory': 'y' };
  const facts = clusterFacts({ metadata: { name: 'a', labels }, spec: { cluster_id: 'a' } });
  assert.deepEqual(facts, { id: 'a', labels: { site: 'x', 'submariner.io/cluster-id': 'a' } });
  assert.deepEqual(clusterFacts({ metadata: { name: 'b' }, spec: { cluster_id: 'b' } }).labels, {
    'submariner.io/cluster-id': 'b',
  });
});

test('an endpoint offers the drivers of its list with their options, and leaves out those that are not known', () => {
  const backends = [
    { cable_driver: { name: 'vxlan', config: { vxlanID: '7' } } },
    { cable_driver: { name: 'wireguard' } },
    { cable_driver: { name: 'carrier-pigeon' } },
  ];
  const { backend, drivers } = endpoint({ backend: 'vxlan', backend_config: { old: 'x' }, backends });
  assert.equal(backend, 'vxlan');
  assert.deepEqual(
    [...drivers],
    [
      ['vxlan', { vxlanID: '7' }],
      ['wireguard', {}],
    ],
  );
});

test('an endpoint without a list offers its backend, if that is known', () => {
  assert.deepEqual([...endpoint({ backend: 'vxlan', backend_config: { a: '1' } }).drivers], [['vxlan', { a: '1' }]]);
  assert.deepEqual([...endpoint({ backend: 'vxlan' }).drivers], [['vxlan', {}]]);
  assert.deepEqual([...endpoint({ backend: 'carrier-pigeon' }).drivers], []);
});
