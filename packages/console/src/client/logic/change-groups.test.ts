import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Change, groupChanges, isBookkeeping, namesOf, pluralOf } from './change-groups.ts';

const cause = (object: string) => ({
  by: 'gimbal.http-proxy-weights',
  for: 'x',
  at: '2026-01-01T00:00:00Z',
  changes: [{ object, paths: ['spec.clusterStatus'], from: 'a', to: 'b', via: [] }],
});
const change = (sequence: number, more: Partial<Change>): Change => ({
  world: '',
  kind: 'HTTPProxy.projectcontour.io',
  key: `shop/p${sequence}`,
  sequence,
  wave: sequence,
  at: new Date(1_700_000_000_000 + sequence * 1000).toISOString(),
  verb: 'changed',
  paths: [],
  more: 0,
  ...more,
});

describe('groupChanges', () => {
  it('writes with one cause are one entry, other changes stay apart', () => {
    const groups = groupChanges([
      change(5, { cause: cause('DiscoveryBackend east') }),
      change(4, { cause: cause('DiscoveryBackend east') }),
      change(3, { kind: 'Secret', key: 'default/token', verb: 'deleted' }),
      change(2, { cause: cause('DiscoveryBackend east') }),
      change(1, { cause: cause('DiscoveryBackend west') }),
    ]);
    assert.deepEqual(
      groups.map(({ title }) => title),
      ['3 HTTPProxies in shop changed', 'Secret default/token deleted', 'HTTPProxy shop/p1 changed'],
    );
  });

  it('the same cause a minute later is another entry', () => {
    const groups = groupChanges([
      change(70, { cause: cause('DiscoveryBackend east') }),
      change(1, { cause: cause('DiscoveryBackend east') }),
    ]);
    assert.equal(groups.length, 2);
  });

  it('names at most as many objects as asked', () => {
    assert.equal(namesOf([change(1, {}), change(2, {}), change(3, {})], 2), 'p1, p2 and 1 more');
    assert.equal(pluralOf('Gateway'), 'Gateways');
    assert.equal(pluralOf('Ingress'), 'Ingresses');
  });

  it('bookkeeping is a derived object, or a status without conditions and cause', () => {
    assert.ok(isBookkeeping(change(1, { kind: 'EndpointSlice.discovery.k8s.io' })));
    assert.ok(isBookkeeping(change(1, { paths: ['status.replicas'] })));
    assert.ok(!isBookkeeping(change(1, { paths: ['spec.replicas'] })));
    assert.ok(!isBookkeeping(change(1, { paths: ['status.a'], cause: cause('DiscoveryBackend east') })));
    const condition = { type: 'Ready', before: 'True', after: 'False', reason: 'Broken', message: '' };
    assert.ok(!isBookkeeping(change(1, { paths: ['status.conditions[0].status'], conditions: [condition] })));
  });
});
