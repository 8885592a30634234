import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Route } from '../../model/route.ts';
import { clustersOf } from '../../routing/envoy/route-message.ts';
import type { GRPCRoute, GRPCRouteMatch } from '../api/objects.ts';
import { ruleContext, servedRoute, service } from '../gateway.test-support.ts';
import { translateGrpcRoute } from './grpc-rules.ts';

function translated(...matches: GRPCRouteMatch[]) {
  const spec = { rules: [{ matches, backendRefs: [{ name: 'a', port: 80 }] }] };
  return translateGrpcRoute(
    { spec } as unknown as GRPCRoute,
    ruleContext({ services: [service('a')] }, { kind: 'GRPCRoute' }),
  );
}

suite('rules of a GRPCRoute', () => {
  const cases: [name: string, method: GRPCRouteMatch['method'], expected: object][] = [
    ['everything', undefined, { prefix: '/' }],
    ['a method of a service', { service: 'a.B', method: 'C' }, { path: '/a.B/C' }],
    ['a service', { service: 'a.B' }, { prefix: '/a.B/' }],
    ['a method of any service', { method: 'C' }, { safe_regex: { regex: '^/[^/]+/C' } }],
    [
      'expressions',
      { type: 'RegularExpression', service: 'a.*', method: 'C|D' },
      { safe_regex: { regex: '^/(?:a.*)/(?:C|D)' } },
    ],
  ];
  for (const [name, method, expected] of cases)
    test(`match ${name}`, () => {
      const [entry] = translated({ method }).routes;
      assert.deepEqual(entry && servedRoute(entry).match, expected);
    });

  test('calls have no deadline but their own, and go to backends over HTTP/2', () => {
    const [entry] = translated({}).routes;
    assert.equal(entry && servedRoute(entry).route?.timeout, '0s');
    const plain = ruleContext({ services: [service('a')] });
    const http = translateGrpcRoute({ spec: { rules: [{ backendRefs: [{ name: 'a', port: 80 }] }] } } as never, plain);
    const clusterOf = (route: Route | undefined) => (route ? clustersOf(route)[0]?.name : undefined);
    assert.notEqual(clusterOf(entry), clusterOf(http.routes[0]));
  });
});
