// The outcomes that gateways publish for the pairs that they resolved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentForCopy, formatOutcomes, publishedFor, RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import { outcomeOf } from './agreement.ts';

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

test('the copy of a member keeps the outcome for that member alone', () => {
  const contentOf = (outcomes: Record<string, string>) => ({
    labels: {},
    annotations: { [RESOLVED_ANNOTATION]: formatOutcomes(new Map(Object.entries(outcomes))), other: 'stays' },
    spec: {},
  });
  const before = contentForCopy(contentOf({ east: 'ipsec', north: 'vxlan' }), 'east');
  assert.deepEqual(before.annotations, { [RESOLVED_ANNOTATION]: '{"ipsec":["east"]}', other: 'stays' });
  assert.deepEqual(contentForCopy(contentOf({ east: 'ipsec', north: 'ipsec' }), 'east'), before);
  assert.deepEqual(contentForCopy(contentOf({ north: 'vxlan' }), 'east').annotations[RESOLVED_ANNOTATION], '{}');
});
