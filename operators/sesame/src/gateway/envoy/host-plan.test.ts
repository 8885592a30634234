import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Listener } from '../api/objects.ts';
import { gatewaySpec, listener, lookupOf } from '../gateway.test-support.ts';
import { gatewayState } from '../listeners/listener-state.ts';
import { attach } from '../routes/attachment.ts';
import { type AttachedRoute, attachedCounts, planHosts } from './host-plan.ts';

const listenersOf = (...given: Listener[]) => gatewayState(gatewaySpec(...given), 'default', lookupOf()).listeners;

function route(key: string, listeners: ReturnType<typeof listenersOf>, ...hostnames: string[]): AttachedRoute {
  const parent = { name: 'edge' };
  const own = { kind: 'HTTPRoute', namespace: 'default', hostnames } as const;
  return {
    kind: 'HTTPRoute',
    key,
    attachments: [attach(own, parent, { namespace: 'default', listeners }, lookupOf())],
  };
}

/** `LISTENER HOST: routes`. */
const planned = (...given: Parameters<typeof planHosts>) =>
  planHosts(...given)
    .map(({ listener: name, host, routes }) => `${name} ${host}: ${routes.map((each) => each.split('/')[1]).join(' ')}`)
    .toSorted();

suite('hosts of a Gateway', () => {
  test('routes of one host are in the order of their precedence', () => {
    const listeners = listenersOf(listener('all'));
    const routes = [route('old', listeners, 'a.test'), route('new', listeners, 'a.test', 'b.test')];
    assert.deepEqual(planned(listeners, routes), ['all a.test: old new', 'all b.test: new']);
  });

  test('a name belongs to the most specific listener of its port, and to no other', () => {
    const listeners = listenersOf(
      listener('all'),
      listener('wild', { hostname: '*.test' }),
      listener('narrow', { hostname: '*.b.test' }),
      listener('exact', { hostname: 'a.test' }),
      listener('elsewhere', { port: 81 }),
    );
    const routes = [route('any', listeners), route('named', listeners, 'a.test', 'x.b.test', 'x.test', 'c.org')];
    assert.deepEqual(planned(listeners, routes), [
      'all *: any',
      'all c.org: named',
      'elsewhere *: any',
      'elsewhere a.test: named',
      'elsewhere c.org: named',
      'elsewhere x.b.test: named',
      'elsewhere x.test: named',
      'exact a.test: any named',
      'narrow *.b.test: any',
      'narrow x.b.test: named',
      'wild *.test: any',
      'wild x.test: named',
    ]);
  });

  test('a listener that is not served has no hosts, and its routes are counted all the same', () => {
    const listeners = listenersOf(listener('tls', { protocol: 'HTTPS', port: 443 }));
    const routes = [route('any', listeners)];
    assert.deepEqual(planned(listeners, routes), []);
    assert.deepEqual([...attachedCounts(routes)], [['tls', 1]]);
  });
});
