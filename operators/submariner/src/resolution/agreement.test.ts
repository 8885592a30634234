// The outcomes that gateways publish for the pairs that they resolved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentForCopy, formatOutcomes, publishedFor, RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import { disagreementOf, outcomeOf } from './agreement.ts';
import type { Decision } from './decision.ts';

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

const ends = { local: 'b', remote: 'a' };
const decided = (driver: Decision['driver'], options = {}) => ({ driver, options }) as Decision;
const published = (outcome: string) => ({ state: 'resolved', outcome }) as const;

test('equal outcomes, outcomes of older versions and pairs without a driver are no disagreement', () => {
  assert.equal(outcomeOf({ driver: 'ipsec', options: {} }), 'ipsec');
  assert.equal(disagreementOf(decided('vxlan'), ends, published('vxlan')), undefined);
  assert.equal(disagreementOf(decided('vxlan'), ends, { state: 'unpublished' }), undefined);
  assert.equal(disagreementOf(decided(undefined), ends, published('ipsec')), undefined);
  assert.equal(disagreementOf(decided(undefined), ends, { state: 'unresolved' }), undefined);
});

test('a driver without encryption waits for the other end, and one with encryption does not', () => {
  const waiting = disagreementOf(decided('vxlan'), ends, { state: 'unresolved' });
  assert.deepEqual(waiting, {
    holds: true,
    isRefused: false,
    message: 'waiting until cluster "a" has resolved this pair too',
  });
  assert.equal(disagreementOf(decided('ipsec'), ends, { state: 'unresolved' }), undefined);
});

for (const { own, theirs, holds, isRefused } of [
  { own: 'vxlan', theirs: 'ipsec', holds: true, isRefused: true },
  { own: 'vxlan', theirs: 'not connected', holds: true, isRefused: false },
  { own: 'vxlan', theirs: 'carrier-pigeon', holds: true, isRefused: true },
  { own: 'vxlan', theirs: 'vxlan(port=1)', holds: false, isRefused: false },
  { own: 'ipsec', theirs: 'vxlan', holds: false, isRefused: false },
  { own: 'ipsec', theirs: 'wireguard', holds: false, isRefused: false },
] as const)
  test(`an end with ${own} beside one with ${theirs} ${isRefused ? 'gives up its open cable' : holds ? 'brings up no cable' : 'reports the difference alone'}`, () => {
    const found = disagreementOf(decided(own), ends, published(theirs));
    assert.equal(found?.holds, holds);
    assert.equal(found?.isRefused, isRefused);
    assert.equal(
      found?.message.startsWith(`cluster "a" resolves ${theirs}, cluster "b" resolves ${own}; `),
      true,
      found?.message,
    );
    assert.match(found?.message ?? '', holds ? /keeps a cable with encryption/ : /is connected when both agree/);
  });
