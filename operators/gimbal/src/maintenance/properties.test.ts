import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import * as fc from 'fast-check';
import type { Leaving } from './drain.ts';
import { type RouteKind, routeKinds } from './routes/index.ts';
import { setField } from './set-field.ts';
import { play } from './shift.test-support.ts';

const kindOf = (id: string) => routeKinds().find((routes) => routes.id === id) as RouteKind;

const BACKENDS = ['x', 'y', 'z'];
const serviceName = fc
  .tuple(fc.constantFrom(...BACKENDS, 'local'), fc.constantFrom('a', 'b'))
  .map((parts) => parts.join('-'));
const weight = fc.option(fc.oneof(fc.constant(0), fc.constant(1), fc.integer({ min: 0, max: 1000 })), {
  nil: undefined,
});
const port = fc.constantFrom(80, 443);
const entry = fc.record({ name: serviceName, port, weight }).map(({ weight: given, ...rest }) => ({
  ...rest,
  ...(given === undefined ? {} : { weight: given }),
}));
const withMirror = fc.tuple(entry, fc.boolean()).map(([one, mirror]) => (mirror ? { ...one, mirror } : one));
const metadata = { namespace: 'default', name: 'r' };

const proxyRoute = fc
  .record({
    rules: fc.array(fc.tuple(fc.constantFrom('/', '/a'), fc.array(withMirror, { minLength: 1, maxLength: 4 })), {
      maxLength: 3,
    }),
    tcp: fc.array(entry, { maxLength: 3 }),
  })
  .map(({ rules, tcp }) => ({
    kind: kindOf('http-proxy'),
    route: {
      apiVersion: 'projectcontour.io/v1',
      kind: 'HTTPProxy',
      metadata,
      spec: {
        virtualhost: { fqdn: 'a.example' },
        routes: rules.map(([prefix, services]) => ({
          conditions: [{ prefix }],
          services,
          timeoutPolicy: { idle: '1s' },
        })),
        ...(tcp.length === 0 ? {} : { tcpproxy: { services: tcp } }),
      },
    } as KubeObject,
  }));

const gatewayRoute = fc
  .array(
    fc.record({
      path: fc.constantFrom('/', '/a'),
      references: fc.array(entry, { maxLength: 4 }),
      mirrors: fc.array(fc.tuple(serviceName, fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined })), {
        maxLength: 2,
      }),
    }),
    { maxLength: 3 },
  )
  .map((rules) => ({
    kind: kindOf('http-route'),
    route: {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata,
      spec: {
        rules: rules.map(({ path, references, mirrors }) => ({
          matches: [{ path: { value: path } }],
          backendRefs: references,
          filters: mirrors.map(([name, percent]) => ({
            type: 'RequestMirror',
            requestMirror: { backendRef: { name }, ...(percent === undefined ? {} : { percent }) },
          })),
        })),
      },
    } as KubeObject,
  }));

const anyRoute = fc.oneof(proxyRoute, gatewayRoute);
const leaving: fc.Arbitrary<Leaving> = fc.record({
  keep: fc.constantFrom(0, 0, 0, 0.2, 0.5, 0.8),
  onNoCapacity: fc.constantFrom('Zero', 'Keep', 'Reject'),
  promoteZero: fc.boolean(),
});
const leavings = fc.dictionary(fc.constantFrom(...BACKENDS), leaving, { maxKeys: 3 });
const text = (route: KubeObject) => JSON.stringify(route);

describe('whatever the route, and whichever backend is in maintenance', () => {
  test('a drain and a return leave the route as it was, to the byte', () => {
    fc.assert(
      fc.property(anyRoute, leavings, ({ kind, route }, left) => {
        const restored = play(kind, play(kind, { route }, left), {});
        assert.deepEqual(restored.state, undefined);
        // A policy that was taken out and put back stands last; that is all.
        const hasGate = Object.values(left).some(({ onNoCapacity }) => onNoCapacity === 'Reject');
        if (hasGate) assert.deepEqual(restored.route, route);
        else assert.equal(text(restored.route), text(route));
      }),
      { numRuns: 500 },
    );
  });

  test('a drain that is made again changes nothing', () => {
    fc.assert(
      fc.property(anyRoute, leavings, ({ kind, route }, left) => {
        const once = play(kind, { route }, left);
        const twice = play(kind, once, left);
        assert.deepEqual([twice.shift.changes, twice.state], [[], once.state]);
        assert.deepEqual(twice.shift.overwritten, []);
      }),
      { numRuns: 500 },
    );
  });

  test('only who is in maintenance now matters, not in what order they went and came', () => {
    fc.assert(
      fc.property(anyRoute, fc.array(leavings, { maxLength: 6 }), leavings, ({ kind, route }, before, last) => {
        const there = before.reduce<{ route: KubeObject; state?: string | undefined }>(
          (played, left) => play(kind, played, left),
          { route },
        );
        const long = play(kind, there, last);
        const short = play(kind, { route }, last);
        assert.deepEqual([long.route, long.state], [short.route, short.state]);
      }),
      { numRuns: 500 },
    );
  });

  test('the edits of users during maintenance are in the route when all backends are back', () => {
    const step = fc.oneof(
      leavings.map((left) => ({ left })),
      fc.record({ at: fc.nat(50), value: weight }).map((edit) => ({ edit })),
    );
    fc.assert(
      fc.property(anyRoute, fc.array(step, { maxLength: 10 }), ({ kind, route }, steps) => {
        let meant = route;
        let played: { route: KubeObject; state?: string | undefined } = { route };
        let current = {};
        for (const one of steps) {
          if ('left' in one) {
            current = one.left;
            played = play(kind, played, current);
            continue;
          }
          const entries = kind
            .rulesOf(played.route)
            .flatMap((rule) => rule.entries.filter(({ role }) => role === 'service'));
          const target = entries[one.edit.at % Math.max(1, entries.length)];
          // A mirror that is drained looks like a service: its percentage is another matter.
          if (target === undefined || target.fields['mirror'] !== undefined) continue;
          // Writing the present value is an edit that no one can see.
          if (target.fields['weight'] === one.edit.value) continue;
          meant = setField(meant, `${target.path}/weight`, one.edit.value) as KubeObject;
          const edited = setField(played.route, `${target.path}/weight`, one.edit.value) as KubeObject;
          played = play(kind, { ...played, route: edited }, current);
        }
        assert.deepEqual(play(kind, played, {}).route, meant);
      }),
      { numRuns: 1000 },
    );
  });

  test('entries that are drained have no share, and another client has one where that was possible', () => {
    fc.assert(
      fc.property(anyRoute, fc.subarray(BACKENDS, { minLength: 1 }), ({ kind, route }, gone) => {
        const left = Object.fromEntries(
          gone.map((name) => [name, { keep: 0, onNoCapacity: 'Zero' as const, promoteZero: false }]),
        );
        const settled = play(kind, play(kind, { route }, left), left);
        for (const name of gone) {
          const report = settled.shift.reports.get(name);
          if (report !== undefined && report.blocked.length === 0) assert.equal(report.isDrained, true);
        }
      }),
      { numRuns: 500 },
    );
  });
});
