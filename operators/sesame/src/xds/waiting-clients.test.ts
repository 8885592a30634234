import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeUrl } from '../envoy/index.ts';
import { cluster, createXdsStage, endpoints, put, routes } from './xds.test-support.ts';

test('nothing of the first complete set is held back from a client that waited for it', async (context) => {
  const { store, server, client } = await createXdsStage(context);
  const clusters = client.open({ type: 'cds', isDelta: false });
  clusters.request({ type_url: typeUrl('cds') });
  while (server.statistics().streams < 1) await new Promise((resolve) => setImmediate(resolve));
  await client.roundTrip();
  put(store, cluster('shop'), endpoints('shop-endpoints', 8080), routes('all', 'shop'));
  assert.equal((await clusters.next()).resources.size, 1);
  // The client asks for no endpoints: a route that waited for them would not arrive.
  const named = client.open({ type: 'rds', isDelta: false });
  named.request({ type_url: typeUrl('rds'), resource_names: ['all'] });
  assert.equal((await named.next()).resources.size, 1);
});
