import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Listener, RouteKindName } from '../api/objects.ts';
import type { ParentReference } from '../api/references.ts';
import { gatewaySpec, listener, lookupOf } from '../gateway.test-support.ts';
import { gatewayState } from '../listeners/listener-state.ts';
import { attach } from './attachment.ts';

interface Given {
  readonly listeners: Listener[];
  readonly kind?: RouteKindName;
  readonly namespace?: string;
  readonly hostnames?: string[];
  readonly parent?: Partial<ParentReference>;
}

function attached({ listeners, kind = 'HTTPRoute', namespace = 'default', hostnames, parent }: Given) {
  const lookup = lookupOf({ namespaces: { default: {}, web: { team: 'web' }, other: {} } });
  const state = gatewayState(gatewaySpec(...listeners), 'default', lookup);
  const found = attach(
    { kind, namespace, hostnames },
    { name: 'edge', ...parent },
    { namespace: 'default', listeners: state.listeners },
    lookup,
  );
  return found.refusal?.reason ?? Object.fromEntries(found.listeners.map((each) => [each.listener, each.hosts]));
}

const from = (value: 'All' | 'Same' | 'Selector' | 'None', matchLabels?: Record<string, string>) => ({
  allowedRoutes: { namespaces: { from: value, ...(matchLabels && { selector: { matchLabels } }) } },
});

suite('attachment of routes', () => {
  test('a route attaches to every listener that takes it, under the names that both have', () => {
    const listeners = [
      listener('all'),
      listener('wild', { port: 81, hostname: '*.test' }),
      listener('tcp', { port: 82, protocol: 'TCP' }),
    ];
    assert.deepEqual(attached({ listeners, hostnames: ['a.test', 'b.org'] }), {
      all: ['a.test', 'b.org'],
      wild: ['a.test'],
    });
    assert.deepEqual(attached({ listeners, kind: 'TCPRoute' }), { tcp: ['*'] });
  });

  test('sectionName and port choose listeners; both must fit the same one', () => {
    const listeners = [listener('a'), listener('b', { port: 81 })];
    assert.deepEqual(attached({ listeners, parent: { sectionName: 'b' } }), { b: ['*'] });
    assert.deepEqual(attached({ listeners, parent: { port: 80 } }), { a: ['*'] });
    for (const parent of [{ sectionName: 'c' }, { port: 99 }, { sectionName: 'a', port: 81 }])
      assert.equal(attached({ listeners, parent }), 'NoMatchingParent');
  });

  test('only kinds that the listener allows', () => {
    const listeners = [listener('a', { allowedRoutes: { kinds: [{ kind: 'GRPCRoute' }] } })];
    assert.equal(attached({ listeners }), 'NotAllowedByListeners');
    assert.deepEqual(attached({ listeners, kind: 'GRPCRoute' }), { a: ['*'] });
    assert.equal(attached({ listeners, kind: 'TLSRoute' }), 'NotAllowedByListeners');
  });

  test('only from namespaces that the listener allows; its own by default', () => {
    const of = (more: Partial<Listener>, namespace: string) =>
      attached({ listeners: [listener('a', more)], namespace });
    assert.equal(of({}, 'web'), 'NotAllowedByListeners');
    assert.deepEqual(of({}, 'default'), { a: ['*'] });
    assert.deepEqual(of(from('All'), 'web'), { a: ['*'] });
    assert.equal(of(from('None'), 'default'), 'NotAllowedByListeners');
    assert.deepEqual(of(from('Selector', { team: 'web' }), 'web'), { a: ['*'] });
    assert.equal(of(from('Selector', { team: 'web' }), 'other'), 'NotAllowedByListeners');
    assert.equal(of(from('Selector', { team: 'web' }), 'missing'), 'NotAllowedByListeners');
  });

  test('names that have nothing in common', () => {
    const listeners = [listener('a', { hostname: 'a.test' })];
    assert.equal(attached({ listeners, hostnames: ['b.test'] }), 'NoMatchingListenerHostname');
  });
});
