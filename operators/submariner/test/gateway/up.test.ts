// `capstan up --cables real`: clusters of one machine with real cables between namespaces, and nothing left at the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTraffic } from '../cables/capture.ts';
import { skip } from '../cables/underlay.ts';
import { until } from '../until.ts';
import { networkNamespaces, openLocalSet } from './local-set.ts';

test('capstan up connects its clusters by real cables, rolls a gateway without a loss, and removes them', {
  skip,
  timeout: 400_000,
}, async (t) => {
  const set = await openLocalSet('ipsec');
  t.after(() => set.close());
  assert.deepEqual(
    (await set.connections('east')).map(
      ({ endpoint, usingCableDriver }) => `${endpoint.cluster_id} ${usingCableDriver}`,
    ),
    ['west ipsec'],
  );
  // Other tests may have namespaces of their own meanwhile.
  assert.ok(set.namespaces.length >= 4, set.namespaces.join());
  const traffic = startTraffic(set.sender('west'), set.address('east'));
  await set.roll('east');
  const { received, lost } = await traffic.stop();
  assert.ok(received > 500, `only ${received} packets were answered`);
  assert.ok(lost <= 5, `${lost} packets were lost`);
  await set.close();
  const left = () => networkNamespaces().filter((name) => set.namespaces.includes(name));
  await until(
    'the namespaces are gone',
    90_000,
    () => Promise.resolve(left().length === 0),
    () => Promise.resolve(left()),
  );
});
