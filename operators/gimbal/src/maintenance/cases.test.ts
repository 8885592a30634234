// The table of maintenance cases, as far as one route by itself shows them; the others are played on a cluster in
// test/maintenance.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { CASES, httpRoute, keep, kindOf, proxy, reject, routeOf, weights, X, XY } from './cases.test-support.ts';
import type { Leaving } from './drain.ts';
import { away, type Played, play } from './shift.test-support.ts';

describe('maintenance of one route', () => {
  for (const { what, id = 'http-proxy', route, leaving = X, weights: expected, blocked } of CASES)
    test(`case ${what}`, () => {
      const drained = play(kindOf(id), { route }, leaving);
      assert.deepEqual(weights(drained.route), expected);
      assert.equal(blockedOf(drained), blocked);
      const again = play(kindOf(id), drained, leaving);
      assert.deepEqual([again.shift.changes, again.state], [[], drained.state], 'it is settled');
      const restored = play(kindOf(id), drained, {});
      assert.equal(JSON.stringify(restored.route), JSON.stringify(route), 'restored to the byte');
      assert.equal(restored.state, undefined);
    });

  const blockedOf = ({ shift }: Played) => [...shift.reports.values()].flatMap((one) => one.blocked)[0]?.reason;

  test('case 8: each backend gets its own back, in whatever order they return', () => {
    const route = proxy({ 'x-a': 20, 'y-b': 30, 'z-c': 50 });
    const both = play(kindOf('http-proxy'), play(kindOf('http-proxy'), { route }, X), XY);
    assert.deepEqual(weights(play(kindOf('http-proxy'), both, { y: away }).route), [20, 0, 50]);
    assert.deepEqual(weights(play(kindOf('http-proxy'), both, X).route), [0, 30, 50]);
  });

  test('case 12: a mirror is one again, with its percentage', () => {
    const route = proxy({ 'x-a': { mirror: true, weight: 30 }, 'y-b': '_' });
    const drained = play(kindOf('http-proxy'), { route }, X);
    const { spec } = drained.route as unknown as { spec: { routes: { services: object[] }[] } };
    assert.deepEqual(spec.routes[0]?.services[0], { name: 'x-a', port: 80, mirror: false, weight: 0 });
    assert.deepEqual(play(kindOf('http-proxy'), drained, {}).route, route);
  });

  test('case 12: without capacity a mirror stays one, or it would take requests', () => {
    const route = proxy({ 'x-a': { mirror: true }, 'x-b': '_' });
    assert.deepEqual(weights(play(kindOf('http-proxy'), { route }, X).route), ['_', 0]);
  });

  test('case 12: without capacity nothing is left to be mirrored where 0 means nothing', () => {
    const before = proxy({ 'x-a': { mirror: true }, 'x-b': '_' });
    const isDrainedOn = (id: string, leaving: Record<string, Leaving>) => {
      const first = play(kindOf(id), { route: before }, leaving);
      return play(kindOf(id), first, leaving).shift.reports.get('x')?.isDrained;
    };
    assert.equal(isDrainedOn('sesame-http-proxy', X), true);
    assert.equal(isDrainedOn('http-proxy', X), false, 'a sole service of Contour gets everything');
    assert.equal(isDrainedOn('http-proxy', reject), true);
    assert.equal(isDrainedOn('sesame-http-proxy', keep), false);
  });

  const PLANES: { what: string; id: string; route: KubeObject; drained: boolean; message: RegExp }[] = [
    {
      what: 'a sole service',
      id: 'http-proxy',
      route: proxy({ 'x-a': 5 }),
      drained: false,
      message: /Contour sends all of them there/,
    },
    {
      what: 'all of one backend',
      id: 'http-proxy',
      route: proxy({ 'x-a': 90, 'x-b': 10 }),
      drained: false,
      message: /Contour shares them out evenly/,
    },
    {
      what: 'a sole service',
      id: 'ingress-route',
      route: proxy({ 'x-a': 5 }),
      drained: false,
      message: /Contour sends/,
    },
    { what: 'a sole service', id: 'sesame-http-proxy', route: proxy({ 'x-a': 5 }), drained: true, message: /503/ },
    { what: 'a sole service', id: 'http-route', route: httpRoute({ 'x-a': 5 }), drained: true, message: /500/ },
  ];
  for (const { what, id, route, drained, message } of PLANES)
    test(`a route without capacity has ${what} at weight 0, as ${id} takes it`, () => {
      const { shift } = play(kindOf(id), play(kindOf(id), { route }, X), X);
      const report = shift.reports.get('x');
      assert.equal(report?.isDrained, drained);
      assert.equal(report?.blocked[0]?.reason, 'NoCapacity');
      assert.match(report?.blocked[0]?.message ?? '', message);
    });

  test('filters of a route without capacity mirror nothing, and mirror the same as before when it is back', () => {
    const filter = (percent?: number) => ({
      type: 'RequestMirror',
      requestMirror: { backendRef: { name: 'x-b', port: 80 }, ...(percent === undefined ? {} : { percent }) },
    });
    const before = routeOf({
      rules: [
        { filters: [filter()], backendRefs: [{ name: 'x-a', port: 80, weight: 1, filters: [filter(30)] }] },
        { backendRefs: [{ name: 'y-a', port: 80 }] },
      ],
    });
    const drained = play(kindOf('http-route'), { route: before }, X);
    const { spec } = drained.route as unknown as { spec: { rules: object[] } };
    assert.deepEqual(spec.rules[0], {
      filters: [filter(0)],
      backendRefs: [{ name: 'x-a', port: 80, weight: 0, filters: [filter(0)] }],
    });
    const again = play(kindOf('http-route'), drained, X);
    assert.deepEqual(again.shift.changes, []);
    assert.equal(again.shift.reports.get('x')?.isDrained, true);
    assert.deepEqual(play(kindOf('http-route'), drained, {}).route, before);
  });

  test('a filter that mirrors to the backend mirrors nothing, and the same as before when it is back', () => {
    const filters = [
      { type: 'RequestMirror', requestMirror: { backendRef: { name: 'x-m', port: 80 } } },
      {
        type: 'RequestMirror',
        requestMirror: { backendRef: { name: 'x-n' }, fraction: { numerator: 3, denominator: 7 } },
      },
      { type: 'RequestMirror', requestMirror: { backendRef: { name: 'y-m' }, percent: 5 } },
    ];
    const route = httpRoute({ 'y-b': 1 }, { filters });
    const drained = play(kindOf('http-route'), { route }, X);
    const { spec } = drained.route as unknown as { spec: { rules: { filters: { requestMirror: object }[] }[] } };
    const mirrors = spec.rules[0]?.filters.map(({ requestMirror }) => requestMirror);
    assert.deepEqual(mirrors, [
      { backendRef: { name: 'x-m', port: 80 }, percent: 0 },
      { backendRef: { name: 'x-n' }, fraction: { numerator: 0, denominator: 7 } },
      { backendRef: { name: 'y-m' }, percent: 5 },
    ]);
    assert.equal(drained.shift.reports.get('x')?.blocked.length, 0);
    assert.equal(JSON.stringify(play(kindOf('http-route'), drained, {}).route), JSON.stringify(route));
  });

  test('Reject refuses requests of a proxy without taking a service away, and gives its own policy back', () => {
    const ipAllowPolicy = [{ source: 'Remote', cidr: '10.0.0.0/8' }];
    const route = proxy({ 'x-a': 7 }, { ipAllowPolicy });
    const drained = play(kindOf('http-proxy'), { route }, reject);
    const { spec } = drained.route as unknown as { spec: { routes: Record<string, unknown>[] } };
    const [rule] = spec.routes;
    assert.deepEqual(rule?.['services'], [{ name: 'x-a', port: 80, weight: 0 }]);
    assert.deepEqual(
      [rule?.['ipAllowPolicy'], (rule?.['ipDenyPolicy'] as object[] | undefined)?.length],
      [undefined, 2],
    );
    assert.deepEqual(play(kindOf('http-proxy'), drained, {}).route, route);
  });

  test('case 15: an Ingress has no weights, and says so', () => {
    const backend = { service: { name: 'x-a', port: { number: 80 } } };
    const route = routeOf({ rules: [{ host: 'a', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] });
    const drained = play(kindOf('ingress'), { route }, X);
    assert.deepEqual(drained.shift.changes, []);
    assert.deepEqual(
      drained.shift.reports.get('x')?.blocked.map(({ rule, reason }) => [rule, reason]),
      [['rules[0].http.paths[0]', 'NoWeights']],
    );
    assert.equal(drained.shift.reports.get('x')?.isDrained, false);
  });

  test('case 18: each rule by itself; the route is drained when all of them are', () => {
    const rule = (prefix: string, services: object[]) => ({ conditions: [{ prefix }], services });
    const route = routeOf({
      routes: [
        rule('/a', [
          { name: 'x-a', weight: 9 },
          { name: 'y-b', weight: 1 },
        ]),
        rule('/b', [{ name: 'x-a' }]),
        rule('/c', [{ name: 'y-b' }]),
      ],
      tcpproxy: {
        services: [
          { name: 'x-t', port: 1 },
          { name: 'y-t', port: 1 },
        ],
      },
    });
    const drained = play(kindOf('http-proxy'), { route }, keep);
    assert.deepEqual(weights(drained.route), [0, 1, '_', '_']);
    const after = play(kindOf('http-proxy'), drained, keep);
    assert.equal(after.shift.reports.get('x')?.isDrained, false);
    const refused = play(kindOf('http-proxy'), drained, reject);
    assert.equal(play(kindOf('http-proxy'), refused, reject).shift.reports.get('x')?.isDrained, true);
  });

  const edit = (played: Played, edited: KubeObject): Played => ({ ...played, route: edited });

  test('case 19: what is written into a drained entry is its weight when it is back', () => {
    const drained = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 50, 'y-b': 50 }) }, X);
    const again = play(kindOf('http-proxy'), edit(drained, proxy({ 'x-a': 30, 'y-b': 50 })), X);
    assert.deepEqual(weights(again.route), [0, 50]);
    assert.deepEqual(again.shift.overwritten, ['routes[0] default/x-a:80']);
    assert.deepEqual(weights(play(kindOf('http-proxy'), again, {}).route), [30, 50]);
  });

  test('case 20: what is written into another entry stays', () => {
    const drained = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 50, 'y-b': 50 }) }, X);
    const again = play(kindOf('http-proxy'), edit(drained, proxy({ 'x-a': 0, 'y-b': 70 })), X);
    assert.deepEqual([weights(again.route), again.shift.overwritten], [[0, 70], []]);
    assert.deepEqual(weights(play(kindOf('http-proxy'), again, {}).route), [50, 70]);
  });

  test('case 21: entries that are added are drained, those that are removed are forgotten', () => {
    const drained = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 50, 'y-b': 50 }) }, X);
    const more = play(kindOf('http-proxy'), edit(drained, proxy({ 'x-c': 40, 'y-b': 50, 'x-a': 0 })), X);
    assert.deepEqual(weights(more.route), [0, 50, 0]);
    assert.deepEqual(weights(play(kindOf('http-proxy'), more, {}).route), [40, 50, 50]);
    const less = play(kindOf('http-proxy'), edit(drained, proxy({ 'x-a': 0 })), keep);
    assert.deepEqual(weights(less.route), [50], 'no service is left to take over');
  });

  test('a rule whose match was edited is known again by what we wrote into it', () => {
    const drained = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 50, 'y-b': '_' }) }, X);
    const edited = edit(drained, proxy({ 'x-a': 0, 'y-b': 1 }, { conditions: [{ prefix: '/new' }] }));
    const again = play(kindOf('http-proxy'), edited, X);
    assert.deepEqual(weights(play(kindOf('http-proxy'), again, {}).route), [50, '_']);
  });

  test('case 22: zeros that nothing is remembered of come back as the others are', () => {
    const forgotten = { isForgotten: true };
    const plain = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 0, 'y-b': 1 }) }, X, forgotten);
    assert.deepEqual(weights(play(kindOf('http-proxy'), plain, {}).route), ['_', '_']);
    const mean = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 0, 'y-b': 20, 'z-c': 40 }) }, X, forgotten);
    assert.deepEqual(mean.shift.guessed, ['routes[0] default/x-a:80']);
    assert.deepEqual(weights(play(kindOf('http-proxy'), mean, {}).route), [30, 20, 40]);
  });

  test('the annotation is small, and says what was there and whose it is', () => {
    const { state } = play(kindOf('http-proxy'), { route: proxy({ 'x-a': 50, 'y-b': 50 }) }, X);
    assert.match(
      state ?? '',
      /^\{"v":2,"b":\["x"\],"r":\[\{"k":"[0-9a-f]{12}","e":\[\{"i":"default\/x-a:80","b":"x","o":50,"w":0\},\{"i":"default\/y-b:80","s":50\}\]\}\]\}$/,
    );
  });
});
