// What gateways publish of the pairs that they resolved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatOutcomes, outcomeOf, publishedFor } from './agreement.ts';

test('an outcome is equal for equal drivers and options, whatever their order', () => {
  const one = outcomeOf({ driver: 'vxlan', options: { vxlanID: '7', port: '4789' } });
  assert.equal(one, outcomeOf({ driver: 'vxlan', options: { port: '4789', vxlanID: '7' } }));
  assert.equal(one, 'vxlan(port=4789,vxlanID=7)');
  assert.equal(outcomeOf({ driver: undefined, options: {} }), 'not connected');
});

test('the text does not depend on the order in which clusters arrived, and is read back for one cluster', () => {
  const text = formatOutcomes(
    new Map([
      ['west', 'ipsec'],
      ['north', 'vxlan'],
      ['east', 'ipsec'],
    ]),
  );
  assert.equal(text, '{"ipsec":["east","west"],"vxlan":["north"]}');
  assert.deepEqual(publishedFor(text, 'west'), { state: 'resolved', outcome: 'ipsec' });
  assert.deepEqual(publishedFor(text, 'south'), { state: 'unresolved' });
  assert.deepEqual(publishedFor(undefined, 'west'), { state: 'unpublished' });
  assert.deepEqual(publishedFor('no JSON', 'west'), { state: 'unpublished' });
});
