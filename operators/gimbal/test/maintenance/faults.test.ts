// Faults around a drain: crashes, conflicts, kinds that are not served, and the deletion of the backend itself.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, Ingress, isConflict, type KubeObject, Service, silentLogger } from '@capstan/kube';
import { createRuntime, type Operator, operator, plan, reconciler, released } from '@capstan/reconcile';
import { createLives, type FaultSchedule } from '@capstan/testing';
import { DiscoveryBackend } from '../../src/index.ts';
import { ORPHANED_ANNOTATION, REMOVED_ANNOTATION } from '../../src/maintenance/index.ts';
import { createGimbal } from '../../src/operator.ts';
import { createMaintenance } from '../../src/reconcilers/maintenance-parts.ts';
import {
  backend,
  condition,
  HTTPProxy,
  httpRoute,
  install,
  kindOf,
  type Played,
  played,
  proxy,
  ref,
  routeKind,
  routeWrites,
  service,
  weightsOf,
} from './fixtures.ts';

const operators = [createGimbal()];

/** Another program on the same cluster. */
async function playedOn({ client, clock, random }: Played, other: Operator, check: () => Promise<void>): Promise<void> {
  const runtime = createRuntime({ operators: [other], clock, random, logger: silentLogger });
  runtime.addWorld({ name: '', client });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  await clock.advance(1000);
  try {
    await check();
  } finally {
    stopping.abort();
    await running;
  }
}

/** A cluster with four routes, on which programs live and die. */
async function mortalCluster() {
  const lives = await createLives({
    operators,
    async given(client) {
      await install(client, 'http-proxy');
      for (const one of [backend('x'), backend('y')]) await client.create(DiscoveryBackend, one);
      for (const name of ['x-a', 'y-b']) await client.create(Service, service(name));
      for (let at = 0; at < 4; at++) await client.create(HTTPProxy, proxy(`r${at}`, { 'x-a': 10 + at, 'y-b': '_' }));
    },
  });
  const { client, close } = lives;

  /** Runs a program until it rests, or dies after so many writes. */
  const live = async (options: { writes?: number; schedule?: FaultSchedule } = {}) => {
    const life = await lives.begin(operators, options.schedule);
    if (options.writes !== undefined) life.dieAfterWrites(options.writes);
    await life.settle(300_000);
    await life.end();
  };
  const setStatus = (clusterStatus: string) =>
    client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus } });
  const specs = async () =>
    (await client.list(HTTPProxy)).items.map((one) => JSON.stringify((one as { spec?: unknown }).spec));
  const weights = async () => (await client.list(HTTPProxy)).items.map(weightsOf).map(String);
  return { close, live, setStatus, specs, weights };
}

describe('case 26: an operator that dies half-way', () => {
  for (const writes of [1, 2, 3, 4, 5, 6, 7])
    test(`after ${writes} writes, while draining and while restoring`, async () => {
      const { close, live, setStatus, specs, weights } = await mortalCluster();
      await live();
      const before = await specs();
      await setStatus('Maintenance');
      await live({ writes });
      await live();
      assert.deepEqual(await weights(), ['0,1', '0,1', '0,1', '0,1']);
      await setStatus('Enabled');
      await live({ writes });
      await live();
      assert.deepEqual(await specs(), before);
      await close();
    });
});

test('a server that loses answers and refuses at random does not keep routes from where they belong', async () => {
  const { close, live, setStatus, specs, weights } = await mortalCluster();
  const schedule = {
    requests: { conflict: 0.3, lost: 0.1, unavailable: 0.1 },
    batches: { cut: 0.1, duplicated: 0.1, delayed: 0.1 },
  };
  await live();
  const before = await specs();
  await setStatus('Maintenance');
  await live({ schedule });
  await live();
  assert.deepEqual(await weights(), ['0,1', '0,1', '0,1', '0,1']);
  await setStatus('Enabled');
  await live({ schedule });
  await live();
  assert.deepEqual(await specs(), before);
  await close();
});

test('a user who writes at the same moment loses nothing', () =>
  played({ objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })] }, async (stage) => {
    // Both are on their way before the program has heard of either; if it is faster all the same, as a real server's may be,
    // the user gets a conflict and writes again.
    await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Maintenance' } });
    const edit = () =>
      stage.edit(({ routes: [rule] }) => {
        for (const one of rule?.services ?? []) one.weight = one.name === 'x-a' ? 33 : 66;
      });
    await edit().catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      return edit();
    });
    assert.deepEqual(await stage.weights(), [0, 66]);
    await stage.setStatus('x', 'Enabled');
    assert.deepEqual(await stage.weights(), [33, 66]);
  }));

describe('kinds of routes', () => {
  const rules = (id: string) => {
    const entries = [
      { name: 'x-a', port: 80, weight: 3 },
      { name: 'y-b', port: 80, weight: 4 },
    ];
    if (id === 'ingress-route') return { routes: [{ match: '/', services: entries }] };
    if (id.includes('-route')) return { rules: [{ backendRefs: entries }] };
    return { routes: [{ services: entries }] };
  };
  const ids = [
    'http-proxy',
    'sesame-http-proxy',
    'heptio-http-proxy',
    'ingress-route',
    'http-route',
    'grpc-route',
    'tls-route',
    'tls-route-v1',
    'tcp-route',
    'tcp-route-v1',
    'udp-route',
    'udp-route-v1',
  ];
  for (const id of ids)
    test(`${id} may be installed while the operator runs`, () =>
      played({ objects: [], installed: [] }, async (stage) => {
        const kind = routeKind(id);
        await stage.setStatus('x', 'Maintenance');
        assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'True', reason: 'Drained' });
        await install(stage.client, id);
        await stage.client.create(kind, {
          apiVersion: kind.apiVersion,
          kind: kind.kind,
          metadata: ref('r'),
          spec: rules(id),
        } as KubeObject);
        await stage.clock.advance(300_000);
        await stage.settle();
        assert.deepEqual(await stage.weights('r', kind), [0, 4]);
        assert.equal((await stage.backend()).status?.maintenance?.routes, 1);
        await stage.setStatus('x', 'Enabled');
        assert.deepEqual(await stage.weights('r', kind), [3, 4]);
      }));

  test('kinds of routes that are taken away take their routes along, and the drain goes on', () =>
    played(
      {
        objects: [proxy('r', { 'x-a': 1, 'y-b': 1 }), httpRoute('h', { 'x-a': 1, 'y-b': 1 })],
        installed: ['http-proxy', 'http-route'],
      },
      async (stage) => {
        await stage.client.delete(CustomResourceDefinition, { name: 'httproutes.gateway.networking.k8s.io' });
        await stage.clock.advance(120_000);
        await stage.setStatus('x', 'Maintenance');
        assert.deepEqual(await stage.weights(), [0, 1]);
        assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'True', reason: 'Drained' });
      },
    ));
});

test('a paused route is left alone, and reported', () => {
  const paused = proxy('r', { 'x-a': 1, 'y-b': 1 });
  paused.metadata.annotations = { 'capstan.dev/paused': 'true' };
  return played({ objects: [paused] }, async (stage) => {
    await stage.setStatus('x', 'Maintenance');
    assert.deepEqual(await stage.weights(), [1, 1]);
    const x = await stage.backend();
    assert.equal(condition(x, 'Drained')?.status, 'False');
    assert.equal(x.status?.maintenance?.blocked?.[0]?.reason, 'Paused');
    await stage.client.patch(HTTPProxy, ref('r'), 'merge', {
      metadata: { annotations: { 'capstan.dev/paused': null } },
    });
    await stage.settle();
    assert.deepEqual(await stage.weights(), [0, 1]);
  });
});

describe('case 27: a backend that is deleted', () => {
  const FINALIZER = 'gimbal.heptio.com/discoverer';
  /** As the operator holds it until its routes are rid of it. */
  const held = { objects: [] as KubeObject[], installed: ['http-proxy', 'http-route', 'ingress-route'] };
  const remove = async (stage: Parameters<Parameters<typeof played>[1]>[0]) => {
    await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { metadata: { finalizers: [FINALIZER] } });
    await stage.client.delete(DiscoveryBackend, ref('x'));
    await stage.settle();
  };
  const specAt = async (stage: Parameters<Parameters<typeof played>[1]>[0], name: string, kind = HTTPProxy) =>
    (await stage.route(name, kind)) as KubeObject & {
      spec: { routes: Record<string, unknown>[]; rules: Record<string, unknown>[] };
    };
  const ingressRoute = (name: string, ...rules: string[][]): KubeObject => {
    const { apiVersion, kind } = routeKind('ingress-route');
    const routes = rules.map((services, at) => ({
      match: `/${at}`,
      services: services.map((one) => ({ name: one, port: 80 })),
    }));
    return { apiVersion, kind, metadata: ref(name), spec: { routes } } as KubeObject;
  };
  const ingress = (name: string, ...services: string[]): KubeObject => {
    const paths = services.map((one) => ({
      path: `/${one}`,
      pathType: 'Prefix',
      backend: { service: { name: one, port: { number: 80 } } },
    }));
    return {
      apiVersion: Ingress.apiVersion,
      kind: 'Ingress',
      metadata: ref(name),
      spec: { rules: [{ host: 'a', http: { paths } }] },
    } as KubeObject;
  };

  test('a backend that is deleted in maintenance takes its entries along, and leaves the others as their users wrote them', () =>
    played({ ...held, objects: [proxy('r', { 'x-a': 50, 'y-b': '_', 'z-c': '_' })] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(await stage.weights(), [0, 1, 1]);
      await remove(stage);
      const { spec, metadata } = await specAt(stage, 'r');
      assert.deepEqual(spec.routes[0]?.['services'], [
        { name: 'y-b', port: 80 },
        { name: 'z-c', port: 80 },
      ]);
      assert.deepEqual(metadata.annotations ?? {}, {});
    }));

  test('leaves what another backend’s maintenance did, by the same write', () =>
    played({ ...held, objects: [proxy('r', { 'x-a': 50, 'y-b': '_', 'z-c': '_' })] }, async (stage) => {
      await stage.setStatus('y', 'Maintenance');
      stage.transport.clear();
      await remove(stage);
      assert.deepEqual(routeWrites(stage), ['PATCH r']);
      assert.deepEqual(await stage.weights(), [0, 1]);
      await stage.setStatus('y', 'Enabled');
      assert.deepEqual(await stage.weights(), ['_', '_']);
    }));

  test('a proxy’s rule that has nothing left answers 503, and what was there is kept on it', () =>
    played({ ...held, objects: [proxy('r', { 'x-a': 50 })] }, async (stage) => {
      await remove(stage);
      const { spec, metadata } = await specAt(stage, 'r');
      assert.deepEqual(spec.routes[0], { conditions: [{ prefix: '/' }], directResponsePolicy: { statusCode: 503 } });
      assert.match(metadata.annotations?.[REMOVED_ANNOTATION] ?? '', /"name":"x-a"/);
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(routeWrites(stage), []);
    }));

  test('a rule of the Gateway API keeps its place, without references; a service at weight 0 takes over', () =>
    played(
      { ...held, objects: [httpRoute('h', { 'x-a': 1 }), httpRoute('i', { 'x-a': 1, 'y-b': 0 })] },
      async (stage) => {
        await remove(stage);
        const kind = routeKind('http-route');
        assert.deepEqual((await specAt(stage, 'h', kind)).spec.rules[0]?.['backendRefs'], []);
        assert.deepEqual(await stage.weights('i', kind), [1]);
      },
    ));

  test('an IngressRoute loses the rule, and its last one stays with a warning', () =>
    played(
      { ...held, objects: [ingressRoute('many', ['x-a'], ['y-b']), ingressRoute('one', ['x-a'])] },
      async (stage) => {
        await remove(stage);
        const kind = routeKind('ingress-route');
        assert.deepEqual(
          (await specAt(stage, 'many', kind)).spec.routes.map((rule) => rule['match']),
          ['/1'],
        );
        const one = await specAt(stage, 'one', kind);
        assert.equal(one.spec.routes.length, 1);
        assert.equal(one.metadata.annotations?.[ORPHANED_ANNOTATION], 'x');
        assert.ok(stage.events().includes('ReferenceKept'));
      },
    ));

  test('an Ingress loses paths, and never all of them', () =>
    played({ ...held, objects: [ingress('many', 'x-a', 'y-b'), ingress('one', 'x-a')] }, async (stage) => {
      await remove(stage);
      const pathsOf = async (name: string) =>
        (await stage.client.get(Ingress, ref(name))).spec?.rules?.flatMap(
          ({ http }) => http?.paths.map(({ path }) => path) ?? [],
        );
      assert.deepEqual(await pathsOf('many'), ['/y-b']);
      assert.deepEqual(await pathsOf('one'), ['/x-a']);
      assert.equal((await stage.client.get(Ingress, ref('one'))).metadata.annotations?.[ORPHANED_ANNOTATION], 'x');
    }));

  test('keeps its references, drained, until its discoverer is gone: what that made would only come back', () => {
    const patient = createGimbal({ maintenance: { isDiscovererGone: () => false } });
    return played({ ...held, operator: patient, objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await remove(stage);
      assert.deepEqual(await stage.weights(), [0, 50]);
    });
  });

  test('is clear of routes only once all of them are rid of it', () =>
    played({ ...held, objects: [] }, async (stage) => {
      const seen: boolean[] = [];
      const maintenance = createMaintenance();
      const watcher = reconciler<DiscoveryBackend>({
        name: 'watcher',
        resource: DiscoveryBackend,
        reads: maintenance.reconcilers.flatMap(({ reads }) => reads),
        finalizer: FINALIZER,
        reconcile({ object, read }) {
          // The inputs are read before the result counts.
          maintenance.areRoutesClear(read, object.metadata.name ?? '');
          return plan({ held: true });
        },
        release({ object, read }) {
          seen.push(maintenance.areRoutesClear(read, object.metadata.name ?? ''));
          return seen.at(-1) ? released() : plan({ held: true });
        },
      });
      await stage.program.stop();
      const { kinds, reconcilers } = createGimbal();
      const own = reconcilers.filter(({ name }) => !maintenance.reconcilers.some((one) => one.name === name));
      const whole = operator({ name: 'gimbal', kinds, reconcilers: [...own, ...maintenance.reconcilers, watcher] });
      await playedOn(stage, whole, async () => {
        await stage.client.create(HTTPProxy, proxy('r', { 'x-a': 50, 'y-b': 50 }));
        await stage.clock.advance(1000);
        await stage.client.delete(DiscoveryBackend, ref('x'));
        await stage.clock.advance(10_000);
        assert.deepEqual([seen.at(0), seen.at(-1)], [false, true]);
        assert.deepEqual(await stage.weights(), [50]);
        assert.equal(await stage.client.find(DiscoveryBackend, ref('x')), undefined);
      });
    }));

  test('and that should leave everything behind gives the weights back and touches no reference', () =>
    played(
      { ...held, objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })], x: { deletionPolicy: 'Orphan' } },
      async (stage) => {
        await stage.setStatus('x', 'Maintenance');
        await remove(stage);
        assert.deepEqual(await stage.weights(), [50, 50]);
      },
    ));
  assert.equal(kindOf(proxy('r', {})), HTTPProxy);
});
