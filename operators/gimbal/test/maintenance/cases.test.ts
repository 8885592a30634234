// The table of maintenance cases, played on a cluster.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Ingress, type KubeObject, Service } from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import { DRAINED_ANNOTATION, MAINTENANCE_ANNOTATION } from '../../src/maintenance/index.ts';
import {
  backend,
  condition,
  HTTPProxy,
  httpRoute,
  NAMESPACE,
  type Played,
  played,
  proxy,
  ref,
  routeKind,
  routeWrites,
  service,
  stateOn,
  type Weight,
} from './fixtures.ts';

const isDrained = { status: 'True', reason: 'Drained' };

const specOf = (object: KubeObject) => JSON.stringify((object as { spec?: unknown }).spec);

interface Row {
  case: string;
  services: Record<string, Weight | object>;
  maintenance?: object;
  also?: string[];
  weights: Weight[];
  drained?: { status: string; reason: string };
  blocked?: string;
  gateway?: true;
}

const keep = { maintenance: { onNoCapacity: 'Keep' } };

const noCapacity = { status: 'False', reason: 'NoCapacity' };

const ROWS: Row[] = [
  { case: '1', services: { 'x-a': 50, 'y-b': 50 }, weights: [0, 50] },
  { case: '2', services: { 'x-a': '_', 'y-b': '_' }, weights: [0, 1] },
  { case: '3', services: { 'x-a': 100, 'y-b': '_' }, weights: [0, 1] },
  {
    case: '4, Zero',
    services: { 'x-a': 100, 'y-b': 0 },
    weights: [100, 0],
    drained: noCapacity,
    blocked: 'NoCapacity',
  },
  {
    case: '4, Keep',
    services: { 'x-a': 100, 'y-b': 0 },
    maintenance: keep,
    weights: [100, 0],
    drained: noCapacity,
    blocked: 'NoCapacity',
  },
  {
    case: '4, promoteZero',
    services: { 'x-a': 100, 'y-b': 0 },
    maintenance: { maintenance: { promoteZero: true } },
    weights: [0, 1],
  },
  { case: '5, Zero', services: { 'x-a': '_' }, weights: [0], drained: noCapacity, blocked: 'NoCapacity' },
  {
    case: '5, Keep',
    services: { 'x-a': '_' },
    maintenance: keep,
    weights: ['_'],
    drained: noCapacity,
    blocked: 'NoCapacity',
  },
  { case: '6, Zero', services: { 'x-a': 90, 'x-b': 10 }, weights: [0, 0], drained: noCapacity, blocked: 'NoCapacity' },
  {
    case: '6, Keep',
    services: { 'x-a': 90, 'x-b': 10 },
    maintenance: keep,
    weights: [90, 10],
    drained: noCapacity,
    blocked: 'NoCapacity',
  },
  { case: '7', services: { 'x-a': 20, 'y-b': 30, 'z-c': 50 }, weights: [0, 30, 50] },
  {
    case: '9, Zero',
    services: { 'x-a': '_', 'y-b': '_' },
    also: ['y'],
    weights: [0, 0],
    drained: noCapacity,
    blocked: 'NoCapacity',
  },
  { case: '11', services: { 'x-a': 0, 'y-b': 50 }, weights: [0, 50] },
  { case: '12', services: { 'x-a': { mirror: true }, 'y-b': '_' }, weights: [0, 1] },
  { case: '13', services: { 'x-a': 1, 'y-b': 1 }, weights: [0, 1], gateway: true },
  { case: '14, Zero', services: { 'x-a': 1 }, weights: [0], blocked: 'NoCapacity', gateway: true },
  {
    case: '14, Keep',
    services: { 'x-a': 1 },
    maintenance: keep,
    weights: [1],
    drained: noCapacity,
    blocked: 'NoCapacity',
    gateway: true,
  },
  { case: '17', services: { 'local-l': '_', 'x-a': '_' }, weights: [1, 0] },
];

describe('a drain and its end', () => {
  for (const {
    case: number,
    services,
    maintenance = {},
    also = [],
    weights: expected,
    drained = isDrained,
    blocked,
    gateway,
  } of ROWS)
    test(`case ${number}`, () => {
      const route = gateway ? httpRoute('r', services as Record<string, Weight>) : proxy('r', services);
      const kind = gateway ? routeKind('http-route') : HTTPProxy;
      const scene = { objects: [route], installed: [gateway ? 'http-route' : 'http-proxy'], x: maintenance };
      return played(scene, async (stage) => {
        const before = await stage.route('r', kind);
        stage.transport.clear();
        await stage.setStatus('x', 'Maintenance');
        for (const name of also) await stage.setStatus(name, 'Maintenance');
        assert.deepEqual(await stage.weights('r', kind), expected);
        const x = await stage.backend();
        assert.deepEqual(condition(x, 'Drained'), drained);
        assert.deepEqual(
          x.status?.maintenance?.blocked?.map(({ kind: of, name, reason }) => [of, name, reason]),
          blocked === undefined ? [] : [[kind.kind, 'r', blocked]],
        );
        assert.ok(routeWrites(stage, kind.plural).length <= 1 + also.length, 'one write a route');
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, [], 'a settled cluster sees no write');
        for (const name of ['x', ...also]) await stage.setStatus(name, 'Enabled');
        const after = await stage.route('r', kind);
        assert.equal(specOf(after), specOf(before));
        assert.deepEqual(after.metadata.annotations ?? {}, before.metadata.annotations ?? {});
        assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'False', reason: 'Enabled' });
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
      });
    });

  test('case 8: backends come back one by one', () =>
    played({ objects: [proxy('r', { 'x-a': 20, 'y-b': 30, 'z-c': 50 })] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.setStatus('y', 'Maintenance');
      assert.deepEqual(await stage.weights(), [0, 0, 50]);
      assert.equal((await stage.route()).metadata.annotations?.[DRAINED_ANNOTATION], 'x,y');
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [20, 0, 50]);
      await stage.setStatus('y', 'Enabled');
      assert.deepEqual(await stage.weights(), [20, 30, 50]);
    }));

  test('case 10: the one that is back takes over from who is not', () =>
    played({ objects: [proxy('r', { 'x-a': '_', 'y-b': '_' })] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.setStatus('y', 'Maintenance');
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [1, 0]);
    }));

  test('case 15: an Ingress is reported', () => {
    const path = { path: '/', pathType: 'Prefix', backend: { service: { name: 'x-a', port: { number: 80 } } } };
    const ingress = {
      apiVersion: Ingress.apiVersion,
      kind: 'Ingress',
      metadata: ref('i'),
      spec: { rules: [{ http: { paths: [path] } }] },
    };
    return played({ objects: [ingress] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      const x = await stage.backend();
      assert.deepEqual(condition(x, 'Drained'), { status: 'False', reason: 'NoWeights' });
      assert.deepEqual(
        x.status?.maintenance?.blocked?.map(({ kind, name }) => [kind, name]),
        [['Ingress', 'i']],
      );
    });
  });

  test('case 18: a route is drained when all its rules are', () => {
    const mixed = proxy('r', { 'x-a': 9, 'y-b': 1 }) as KubeObject & { spec: { routes: object[] } };
    mixed.spec.routes.push({ conditions: [{ prefix: '/b' }], services: [{ name: 'x-b', port: 80 }] });
    return played({ objects: [mixed], x: keep }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(await stage.weights(), [0, 1, '_']);
      assert.deepEqual(condition(await stage.backend(), 'Drained'), noCapacity);
      assert.equal((await stage.backend()).status?.maintenance?.blocked?.[0]?.rule, 'routes[1]');
    });
  });
});

describe('while a backend is in maintenance', () => {
  const drained = (
    check: (stage: Played) => Promise<void>,
    services: Record<string, Weight> = { 'x-a': 50, 'y-b': 50 },
  ) =>
    played({ objects: [proxy('r', services)] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await check(stage);
    });
  const weigh = (stage: Played, name: string, weight: number) =>
    stage.edit(({ routes }) => {
      for (const one of routes.flatMap(({ services }) => services)) if (one.name === name) one.weight = weight;
    });

  test('case 19: an edit of a drained entry waits for its end', () =>
    drained(async (stage) => {
      await weigh(stage, 'x-a', 30);
      assert.deepEqual(await stage.weights(), [0, 50]);
      assert.ok(stage.events().includes('DeferredWeight'));
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [30, 50]);
    }));

  test('case 20: an edit of another entry stays', () =>
    drained(async (stage) => {
      await weigh(stage, 'y-b', 70);
      assert.deepEqual(await stage.weights(), [0, 70]);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [50, 70]);
    }));

  test('case 21: entries come and go', () =>
    drained(async (stage) => {
      await stage.edit(({ routes }) => routes[0]?.services.unshift({ name: 'x-b', port: 80, weight: 40 }));
      assert.deepEqual(await stage.weights(), [0, 0, 50]);
      await stage.edit(({ routes: [rule] }) => rule?.services.pop());
      assert.equal((await stage.backend()).status?.maintenance?.noCapacity, 1);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [40, 50]);
    }));

  test('case 22: an annotation that a user removes is written again', () =>
    drained(async (stage) => {
      const before = stateOn(await stage.route());
      const annotations = { [MAINTENANCE_ANNOTATION]: null };
      await stage.client.patch(HTTPProxy, ref('r'), 'merge', { metadata: { annotations } });
      await stage.settle();
      assert.equal(stateOn(await stage.route()), before);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));

  test('case 22: one that was removed while the operator was down is known from its copy; without that it is guessed', async () => {
    for (const isCopied of [true, false])
      await drained(
        async (stage) => {
          await stage.program.stop();
          const annotations = { [MAINTENANCE_ANNOTATION]: null };
          await stage.client.patch(HTTPProxy, ref('r'), 'merge', { metadata: { annotations } });
          if (!isCopied) await stage.client.delete(ConfigMap, ref('x-drained-weights'));
          await stage.restart();
          assert.equal(stage.events().includes('OriginalWeightUnknown'), !isCopied);
          await stage.setStatus('x', 'Enabled');
          assert.deepEqual(await stage.weights(), [isCopied ? 99 : 30, 20, 40]);
        },
        { 'x-a': 99, 'y-b': 20, 'z-c': 40 },
      );
  });

  test('case 23: the one that keeps writing over it is met with patience, and named', () =>
    drained(async (stage) => {
      for (let time = 0; time < 3; time++) {
        await stage.clock.advance(20_000);
        await weigh(stage, 'x-a', 50 + time);
        assert.deepEqual(await stage.weights(), [0, 50]);
      }
      assert.ok(stage.events().includes('ConflictingManager'));
      stage.transport.clear();
      const current = await stage.route();
      const spec = structuredClone(
        (current as unknown as { spec: { routes: { services: { weight?: number }[] }[] } }).spec,
      );
      for (const one of spec.routes[0]?.services.slice(0, 1) ?? []) one.weight = 60;
      await stage.client.patch(HTTPProxy, ref('r'), 'merge', { spec });
      await stage.clock.advance(5000);
      assert.deepEqual(routeWrites(stage), [], 'not at once');
      const x = await stage.backend();
      assert.deepEqual(condition(x, 'Drained'), { status: 'False', reason: 'ConflictingManager' });
      assert.equal(x.status?.maintenance?.blocked?.[0]?.reason, 'ConflictingManager');
      await stage.clock.advance(60_000);
      await stage.settle();
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [60, 50]);
    }));

  test('case 24: a new route is drained at first sight', () =>
    drained(async (stage) => {
      await stage.client.create(HTTPProxy, proxy('new', { 'x-a': 5, 'y-b': 5 }));
      await stage.settle();
      assert.deepEqual(await stage.weights('new'), [0, 5]);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights('new'), [5, 5]);
    }));

  test('case 25: a service that is discovered then counts, by either family of labels', () =>
    drained(async (stage) => {
      await stage.client.create(HTTPProxy, proxy('late', { 'x-late': 5, 'y-b': 5 }));
      await stage.settle();
      assert.deepEqual(await stage.weights('late'), [5, 5], 'its owner is not known');
      await stage.client.create(Service, service('x-late', 'gimbal.projectcontour.io/backend'));
      await stage.settle();
      assert.deepEqual(await stage.weights('late'), [0, 5]);
    }));

  test('a service that goes meanwhile still is whose it was', () =>
    drained(async (stage) => {
      await stage.client.delete(Service, ref('x-a'));
      await stage.settle();
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.restart();
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));

  test('a change of one route costs one route', () =>
    played({ objects: [...Array(20).keys()].map((at) => proxy(`r${at}`, { 'x-a': 1, 'y-b': 1 })) }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      stage.transport.clear();
      await stage.edit(({ routes: [rule] }) => rule?.services.push({ name: 'x-b', port: 80, weight: 3 }), 'r7');
      assert.deepEqual(routeWrites(stage), ['PATCH r7']);
    }));
});

test('a backend in another namespace that has no right to the name drains nothing', () =>
  played({ objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })] }, async (stage) => {
    await stage.pass(1000);
    const other = backend('x', { clusterStatus: 'Maintenance' }, 'kube-public');
    await stage.client.create(DiscoveryBackend, other);
    await stage.settle();
    assert.deepEqual(await stage.weights(), [50, 50]);
    const loser = await stage.client.get(DiscoveryBackend, { namespace: 'kube-public', name: 'x' });
    assert.deepEqual(condition(loser, 'Accepted'), { status: 'False', reason: 'DuplicateName' });
    assert.equal(NAMESPACE, 'default');
  }));
