import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Envoy, Struct } from '../envoy/index.ts';
import { placeMetadata, placeOf } from './listener-place.ts';
import { createXdsStage, listener, put } from './xds.test-support.ts';
import { connectXds } from './xds-client.ts';

const addressOf = (value: unknown) => (value as Envoy.Listener).address?.socket_address;

suite('the place of listeners', () => {
  for (const isDelta of [false, true])
    test(`a client keeps the ports that it declares, others move (${isDelta ? 'delta' : 'state of the world'})`, async (context) => {
      const { store, client, server } = await createXdsStage(context);
      const metadata = placeMetadata({ ports: { ingress_http: 8080 } }) as Struct;
      const declaring = connectXds({ host: '127.0.0.1', port: server.port, nodeId: 'envoy-2', metadata });
      context.after(() => declaring.close());
      const streams = [client, declaring].map((each) => each.open({ type: 'lds', isDelta }));
      const seen = () =>
        Promise.all(
          streams.map(async (stream) => {
            const response = await stream.next();
            stream.ack(response);
            return ['ingress_http', 'other'].map((name) => addressOf(response.resources.get(name))?.port_value);
          }),
        );
      put(store, listener('ingress_http', 8080, 'r'), listener('other', 7000, 'r'));
      for (const stream of streams) stream.request({});
      assert.deepEqual(await seen(), [
        [8080, 7000],
        [8080, 7000],
      ]);
      put(store, listener('ingress_http', 9080, 'r'), listener('other', 7001, 'r'));
      assert.deepEqual(await seen(), [
        [9080, 7001],
        [8080, 7001],
      ]);
    });

  test('a listener that is at its place is the resource that all clients share', () => {
    const http = listener('ingress_http', 8080, 'r');
    assert.equal(http.at({ ports: { ingress_http: 8080, stats: 1 } }), http);
    assert.equal(http.at({ ports: { constructor: 5 } }), http);
    assert.notEqual(http.at({ address: '127.64.0.9' }), http);
  });

  test('metadata that names no address and no port is ignored', () => {
    const wrong: readonly object[] = [
      {},
      { 'projectsesame.io/bind-address': 'example.test' },
      { 'projectsesame.io/listener-ports': 'many' },
      { 'projectsesame.io/listener-ports': null },
      { 'projectsesame.io/listener-ports': { a: 0, b: 65_536, c: 1.5, d: '80', e: null } },
      {
        'projectsesame.io/listener-ports': Object.fromEntries(
          Array.from({ length: 65 }, (_, index) => [`${index}`, 80]),
        ),
      },
    ];
    for (const metadata of wrong) assert.equal(placeOf(metadata as Record<string, unknown>), undefined);
    const place = { address: '127.64.0.9', ports: { a: 1, b: 65_535 } };
    assert.deepEqual(placeOf(placeMetadata(place)), place);
  });
});
