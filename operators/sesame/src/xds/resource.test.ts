import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CONFIG_SOURCE, type Envoy, encodeAny } from '../envoy/index.ts';
import { createResource, type Resource } from './resource.ts';

const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const cluster: Envoy.Cluster & { readonly name: string } = {
  name: 'default/shop/80',
  type: 'EDS',
  eds_cluster_config: { eds_config: CONFIG_SOURCE, service_name: 'default/shop' },
  connect_timeout: '1.5s',
  common_lb_config: { healthy_panic_threshold: { value: 0 } },
};
const deliveries = ['grpc', 'delta', 'ads'] as const;

/** Views of the same bytes, not of equal ones. */
const placeOf = ({ buffer, byteOffset, length }: Uint8Array) => ({ slab: slabs.of(buffer), byteOffset, length });
const slabs = {
  known: [] as ArrayBufferLike[],
  of(buffer: ArrayBufferLike): number {
    if (!slabs.known.includes(buffer)) slabs.known.push(buffer);
    return slabs.known.indexOf(buffer);
  },
};

suite('a resource', () => {
  test('has the bytes of each delivery, whichever is asked for first, and encodes each once', () => {
    for (const first of deliveries) {
      const resource: Resource = createResource({ type: 'cds', name: cluster.name, value: cluster });
      const bytes = resource.bytes(first, 'whole');
      for (const delivery of deliveries) {
        assert.deepEqual(resource.bytes(delivery, 'whole'), encodeAny(CLUSTER, cluster, delivery));
        assert.deepEqual(placeOf(resource.bytes(delivery, 'whole')), placeOf(resource.bytes(delivery, 'whole')));
      }
      assert.deepEqual(placeOf(resource.bytes(first, 'whole')), placeOf(bytes));
    }
  });

  test('has one version, whatever was encoded before it was asked for', () => {
    const versionAfter = (delivery: (typeof deliveries)[number] | undefined) => {
      const resource: Resource = createResource({ type: 'cds', name: cluster.name, value: cluster });
      if (delivery) resource.bytes(delivery, 'whole');
      return resource.version('whole');
    };
    assert.deepEqual(new Set([undefined, ...deliveries].map(versionAfter)).size, 1);
  });
});
