import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject, Namespace, Service } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { evaluate } from '../runtime/writer/evaluate.ts';
import { derivation } from './derivation.ts';
import { fact } from './fact.ts';
import { index } from './kind-index.ts';
import type { Reader } from './reader.ts';
import { at, owner, READS, seen, service } from './world-reader.test-support.ts';

const nameOf = ({ metadata }: KubeObject) => metadata.name;

describe('a read', () => {
  const objects = [service('b'), service('a', { app: 'x' }), service('c', { app: 'x' }, 'other')];

  test('a read of one object gives it, through a projection if there is one', () => {
    assert.deepEqual(
      seen(({ read }) => read.get(Service, at('a')), { objects }),
      objects[1],
    );
    assert.equal(
      seen(({ read }) => read.get(Service, at('a'), nameOf), { objects }),
      'a',
    );
  });

  test('a read of an absent object returns that: absent is an answer', () => {
    assert.equal(
      seen(({ read }) => read.get(Service, at('z')) ?? 'absent', { objects }),
      'absent',
    );
  });

  test('a read of an unknown value suspends the run, and names the value', () => {
    const waiting = seen(({ read }) => read.get(Service, at('a')), { unknown: ['Service'] });
    assert.deepEqual(waiting, { state: 'suspended', waitingFor: ['Service/default/a'] });
  });

  test('a read of many gives those selected, sorted', () => {
    const names = (where?: Parameters<Reader['list']>[1]) =>
      seen(({ read }) => read.list(Service, where ?? {}, nameOf), { objects });
    assert.deepEqual(names(), ['a', 'b', 'c']);
    assert.deepEqual(names({ namespace: 'other' }), ['c']);
    assert.deepEqual(names({ labels: 'app=x' }), ['a', 'c']);
    assert.deepEqual(names({ labels: { matchLabels: { app: 'x' } }, namespace: 'default' }), ['a']);
    assert.deepEqual(names({ where: isB }), ['b']);
    assert.deepEqual(
      seen(({ read }) => read.list(Service).map(nameOf), { objects }),
      ['a', 'b', 'c'],
    );
  });

  test('a read by content gives those that mention the key', () => {
    const byApp = index(Service, 'app', ({ metadata }) => (metadata.labels?.['app'] ? [metadata.labels['app']] : []));
    assert.deepEqual(
      seen(({ read }) => read.by(byApp, 'x', nameOf), { objects }),
      ['a', 'c'],
    );
    assert.deepEqual(
      seen(({ read }) => read.by(byApp, 'y'), { objects }),
      [],
    );
  });

  test('through an index, a fact or a derivation that every run creates again is refused', () => {
    const checks: Record<string, (read: Reader) => unknown> = {
      'index app of Service': (read) =>
        read.by(
          index(Service, 'app', () => []),
          'x',
        ),
      'fact weather': (read) => read.fact(fact({ name: 'weather', fetch: () => Promise.resolve('sunny') }), 'here'),
      'derivation sum': (read) => read.derived(derivation({ name: 'sum', compute: () => 1 }), 'x'),
    };
    for (const [what, check] of Object.entries(checks)) {
      const careless = reconciler({
        name: 'careless',
        resource: ConfigMap,
        reads: READS,
        reconcile({ read }) {
          check(read);
          return plan();
        },
      });
      const evaluations = evaluate({
        operator: operator({ name: 'test', kinds: [], reconcilers: [careless] }),
        clock: createVirtualClock(),
        objects: [owner, { ...owner, metadata: { ...at('another'), uid: 'v' } }],
      });
      const errors = evaluations.flatMap((one) => (one.plan.state === 'error' ? one.plan.error.message : []));
      assert.ok(errors.length > 0, `refused: ${what}`);
      assert.match(errors[0] ?? '', new RegExp(`test.careless reads through two definitions of the ${what}.*create`));
    }
  });

  test('a read of a kind that is not declared is refused, before it is answered', () => {
    const message = /test\.reads reads Deployment\.apps, which it does not declare.*add it/;
    assert.throws(() => seen(({ read }) => read.get(Deployment, at('a'))), message);
    assert.throws(() => seen(({ read }) => read.list(Deployment)), message);
    assert.throws(
      () =>
        seen(({ read }) =>
          read.by(
            index(Deployment, 'x', () => []),
            'x',
          ),
        ),
      message,
    );
    assert.throws(() => seen(({ read }) => read.access(Deployment)), message);
  });

  test('a read of a kind that only another reconciler declares is refused too', () => {
    const one = reconciler({ name: 'one', resource: ConfigMap, reads: [Service], reconcile: () => plan() });
    for (const check of [
      (read: Reader) => read.list(Service),
      (read: Reader) =>
        read.by(
          index(Service, 'x', () => []),
          'x',
        ),
    ]) {
      const two = reconciler({
        name: 'two',
        resource: ConfigMap,
        reconcile({ read }) {
          check(read);
          return plan();
        },
      });
      const [, second] = evaluate({
        operator: operator({ name: 'test', kinds: [], reconcilers: [one, two] }),
        clock: createVirtualClock(),
        objects: [owner],
      });
      assert.equal(second?.plan.state, 'error');
    }
  });

  test('a read without the namespace that a kind needs is refused: it cannot be known to be absent', () => {
    assert.throws(() => seen(({ read }) => read.get(Service, { name: 'a' })), /Service a without a namespace/);
    assert.equal(
      seen(({ read }) => read.get(Namespace, { name: 'n' }) ?? 'absent'),
      'absent',
    );
  });

  test('a read of a cluster-scoped object takes no notice of a namespace', () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    assert.equal(
      seen(({ read }) => read.get(Namespace, at('n'), nameOf), { objects: [namespace] }),
      'n',
    );
  });

  test('a read of a fact gives its known state, or suspends', () => {
    const weather = fact({ name: 'weather', fetch: () => assert.fail('nothing is fetched here') });
    const state = { value: 'sunny', error: undefined };
    assert.deepEqual(
      seen(({ read }) => read.fact(weather, 'here'), { facts: [{ fact: weather, key: 'here', state }] }),
      state,
    );
    assert.deepEqual(
      seen(({ read }) => read.fact(weather, 'there')),
      { state: 'suspended', waitingFor: ['fact weather/there'] },
    );
  });

  test('a read of a derivation gives its value, computed with reads of its own', () => {
    const count = derivation({
      name: 'count',
      compute: ({ key, read }) => ({ many: read.list(Service, { namespace: key }).length }),
    });
    assert.deepEqual(
      seen(({ read }) => read.derived(count, 'default'), { objects }),
      { many: 2 },
    );
    assert.equal(
      seen(({ read }) => read.derived(count, 'default', ({ many }) => many), { objects }),
      2,
    );
  });

  test('a read of the time is false before an instant and true from then on', () => {
    const clock = createVirtualClock({ start: 1000 });
    assert.deepEqual(
      seen(({ read }) => [read.reached(999), read.reached(1000), read.reached(1001)], { clock }),
      [true, true, false],
    );
  });

  test('a read of a kind that the server does not show returns that, and nothing else', () => {
    assert.equal(
      seen(({ read }) => read.access(Service)),
      'served',
    );
    for (const access of ['forbidden', 'not-served'] as const) {
      assert.equal(
        seen(({ read }) => read.access(Service), { access: { Service: access } }),
        access,
      );
      const waiting = seen(({ read }) => read.list(Service), { access: { Service: access } });
      assert.equal((waiting as { state: string }).state, 'suspended');
    }
  });
});

const isB = ({ metadata }: KubeObject) => metadata.name === 'b';

describe('another world', () => {
  const worlds = { broker: { objects: [service('far')] }, dark: { objects: [], unknown: ['Service'] } };

  test('is read like the own one, by its name', () => {
    assert.deepEqual(
      seen(({ read }) => read.in('broker')?.list(Service, {}, nameOf), { worlds }),
      ['far'],
    );
    assert.deepEqual(
      seen(({ read }) => read.list(Service, {}, nameOf), { worlds, objects: [service('near')] }),
      ['near'],
    );
  });

  test('another world that does not exist is undefined, and all existing ones are listed', () => {
    assert.equal(
      seen(({ read }) => read.in('nowhere') ?? 'none', { worlds }),
      'none',
    );
    assert.deepEqual(
      seen(({ read }) => read.worlds(), { worlds }),
      ['', 'broker', 'dark'],
    );
  });

  test('another world that is not known yet suspends', () => {
    const waiting = seen(({ read }) => read.in('dark')?.get(Service, at('a')), { worlds });
    assert.deepEqual(waiting, { state: 'suspended', waitingFor: ['dark/Service/default/a'] });
  });

  test('has derivations of its own', () => {
    const names = derivation({ name: 'names', compute: ({ read }) => read.list(Service, {}, nameOf) });
    const both = seen(({ read }) => [read.derived(names, ''), read.in('broker')?.derived(names, '')], { worlds });
    assert.deepEqual(both, [[], ['far']]);
  });

  test('may be read for declared kinds alone', () => {
    assert.throws(() => seen(({ read }) => read.in('broker')?.list(Deployment), { worlds }), /does not declare/);
  });
});
