import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  defineKind,
  findCondition,
  type KindOf,
  object,
  optional,
  Service,
  string,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import type { Leadership } from '../leadership/index.ts';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { preview } from '../preview/index.ts';
import { derivation, fold, index } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { type KeySet, type SinkBatch, type SinkContext, type SinkDefinition, type SinkResult, sink } from './sink.ts';

const Site = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ host: string(), service: optional(string()) }),
  status: object({ conditions: conditions(), seen: optional(string()), delivery: optional(string()) }),
});
type Site = KindOf<typeof Site>;

const site = (name: string, host: string, service?: string): Site => ({
  apiVersion: Site.apiVersion,
  kind: 'Site',
  metadata: { namespace: 'default', name },
  spec: { host, ...(service === undefined ? {} : { service }) },
});
const ref = (name: string) => ({ namespace: 'default', name });
const hostOf = ({ spec }: Site) => spec.host;
const hostsOf = ({ spec }: Site) => [spec.host];

/** By object: `host service-type`; throws for the host `bad`, waits for nothing. */
const route = derivation<string>({
  name: 'route',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const found = read.get(Site, { namespace, name }, ({ spec }) => spec);
    if (found?.host === 'bad') throw new Error('the host is bad');
    const type = found?.service === undefined ? '' : read.get(Service, ref(found.service), ({ spec }) => spec?.type);
    return `${found?.host ?? 'none'}${type ? ` ${type}` : ''}`;
  },
});

/** A test's view of a sink, and its means to make it fail. */
interface Seen {
  readonly batches: string[];
  context: SinkContext<string, string> | undefined;
  /** Instead of accepting. */
  answer: (batch: SinkBatch<string>) => void | SinkResult | Promise<void | SinkResult>;
}

function recorded(definition: Partial<SinkDefinition<string, string>> = {}) {
  const seen: Seen = { batches: [], context: undefined, answer: () => {} };
  const routes = sink<string, string>({
    name: 'routes',
    of: route,
    keys: Site,
    reads: [Site, Service],
    lease: 'none',
    open(context) {
      seen.context = context;
      return {
        take(batch) {
          const lines = batch.changes.map(
            ({ key, before, after }) => `${key.split('/')[1]}: ${before ?? '-'} → ${after ?? '-'}`,
          );
          const head = `${batch.snapshot ? 'snapshot ' : ''}${batch.withdrawal ? 'withdrawal ' : ''}`;
          seen.batches.push(`${head}${lines.toSorted().join(', ')}`);
          return seen.answer(batch);
        },
      };
    },
    ...definition,
  });
  const status = reconciler<Site>({
    name: 'status',
    resource: Site,
    reconcile({ object: { metadata }, read }) {
      const view = read.sink(routes);
      const key = `${metadata.namespace}/${metadata.name}`;
      const { state, failures } = view.state(key);
      const seenThere = view.report(key);
      return plan({
        status: {
          delivery: `${state}${failures > 0 ? ` ${failures}` : ''}`,
          ...(seenThere ? { seen: seenThere } : {}),
        },
      });
    },
  });
  return {
    seen,
    routes,
    operators: [operator({ name: 'ingress', kinds: [Site], reconcilers: [status], sinks: [routes] })],
  };
}

async function staged(
  given: readonly Site[],
  check: (stage: Stage, seen: Seen) => Promise<void>,
  definition: Partial<SinkDefinition<string, string>> = {},
  more: Partial<Parameters<typeof createStage>[0]> = {},
): Promise<void> {
  const { seen, operators } = recorded(definition);
  const stage = await createStage({
    operators,
    given: async (client) => {
      for (const one of given) await client.create(Site, one);
    },
    ...more,
  });
  try {
    await check(stage, seen);
  } finally {
    await stage.end();
  }
}

const edit = async (stage: Stage, name: string, host: string) => {
  await stage.client.patch(Site, ref(name), 'merge', { spec: { host } });
  await stage.settle();
};
const deliveryOf = async (stage: Stage, name: string) => (await stage.client.get(Site, ref(name))).status?.delivery;

describe('a sink', () => {
  test('gets one snapshot of every key first, and then what changes', () =>
    staged([site('a', 'a.example'), site('b', 'b.example')], async (stage, seen) => {
      assert.deepEqual(seen.batches, ['snapshot a: - → a.example, b: - → b.example']);
      await edit(stage, 'a', 'c.example');
      await stage.client.delete(Site, ref('b'));
      await stage.settle();
      assert.deepEqual(seen.batches.slice(1), ['a: a.example → c.example', 'b: b.example → -']);
    }));

  test('hears nothing of what changes nothing that its derivation reads', () =>
    staged([site('a', 'a.example')], async (stage, seen) => {
      await stage.client.patch(Site, ref('a'), 'merge', { metadata: { labels: { x: 'y' } } });
      await stage.settle();
      assert.equal(seen.batches.length, 1);
    }));

  test('gets what follows from other objects', () =>
    staged([site('a', 'a.example', 'web')], async (stage, seen) => {
      const spec = { type: 'ClusterIP', ports: [{ port: 80 }] };
      await stage.client.create(Service, { apiVersion: 'v1', kind: 'Service', metadata: ref('web'), spec });
      await stage.settle();
      assert.deepEqual(seen.batches, ['snapshot a: - → a.example', 'a: a.example → a.example ClusterIP']);
    }));

  test('keeps the last value of a key that cannot be evaluated any more', () =>
    staged([site('a', 'a.example')], async (stage, seen) => {
      await edit(stage, 'a', 'bad');
      assert.equal(seen.batches.length, 1);
      assert.deepEqual(seen.context?.current().get('default/a')?.value, 'a.example');
      assert.equal(await deliveryOf(stage, 'a'), 'failed 1');
      await edit(stage, 'a', 'good.example');
      assert.deepEqual(seen.batches.slice(1), ['a: a.example → good.example']);
      assert.equal(await deliveryOf(stage, 'a'), 'delivered');
    }));

  test('takes one batch at a time; what changes meanwhile is one entry with the oldest before and the newest after', () =>
    staged([site('a', '1')], async (stage, seen) => {
      const release = Promise.withResolvers<void>();
      seen.answer = () => release.promise;
      await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: '2' } });
      await stage.clock.advance(100);
      for (const host of ['3', '4', '5']) {
        await stage.client.patch(Site, ref('a'), 'merge', { spec: { host } });
        await stage.clock.advance(100);
      }
      assert.deepEqual(seen.batches.slice(1), ['a: 1 → 2']);
      seen.answer = () => {};
      release.resolve();
      await stage.settle();
      assert.deepEqual(seen.batches.slice(2), ['a: 2 → 5']);
    }));

  test('a sink that throws gets the keys again with waits that grow, as they are by then', () =>
    staged([site('a', '1')], async (stage, seen) => {
      seen.answer = () => {
        throw new Error('the peer is away');
      };
      await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: '2' } });
      await stage.clock.advance(60_000);
      const tries = seen.batches.length - 1;
      assert.ok(tries >= 5 && tries <= 9, `${tries} tries in a minute`);
      assert.equal(await deliveryOf(stage, 'a'), `failed ${tries}`);
      seen.answer = () => {};
      await edit(stage, 'a', '3');
      assert.equal(seen.batches.at(-1), 'a: 1 → 3');
      assert.equal(await deliveryOf(stage, 'a'), 'delivered');
    }));

  test('gets a value again that was changed back after a try that failed: what is outside is not known', () =>
    staged([site('a', '1')], async (stage, seen) => {
      seen.answer = () => {
        throw new Error('half of it was done');
      };
      await edit(stage, 'a', '2');
      seen.answer = () => {};
      await edit(stage, 'a', '1');
      assert.equal(seen.batches.at(-1), 'a: 1 → 1');
    }));

  test('a sink that never returns is given up with its session, and everything is delivered by the next one', () =>
    staged(
      [site('a', '1'), site('b', '1')],
      async (stage, seen) => {
        let isAborted = false;
        seen.answer = ({ signal }) =>
          new Promise(() => {
            signal.addEventListener('abort', () => (isAborted = true));
          });
        await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: '2' } });
        await stage.clock.advance(5_000);
        assert.equal(isAborted, true);
        seen.answer = () => {};
        await stage.client.patch(Site, ref('b'), 'merge', { spec: { host: '2' } });
        await stage.clock.advance(5_000);
        assert.deepEqual(seen.batches, ['snapshot a: - → 1, b: - → 1', 'a: 1 → 2'], 'no second take beside the first');
        const { message } =
          findCondition((await stage.client.get(Site, ref('b'))).status?.conditions, 'ReconcileError') ?? {};
        assert.match(message ?? '', /waiting for the sink ingress\.routes since \d{4}-/);
        await stage.clock.advance(60_000);
        assert.equal(seen.batches.at(-1), 'snapshot a: - → 2, b: - → 2');
        assert.equal(await deliveryOf(stage, 'a'), 'delivered');
      },
      { timeoutMs: 5_000 },
    ));

  test('says which keys could not be delivered, and the others are', () =>
    staged([site('a', '1'), site('b', '1')], async (stage, seen) => {
      seen.answer = ({ changes }) => ({
        failed: new Map(changes.filter(({ after }) => after === 'poison').map(({ key }) => [key, new Error('no')])),
      });
      await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: 'poison' } });
      await edit(stage, 'b', '2');
      assert.equal(await deliveryOf(stage, 'b'), 'delivered');
      assert.match((await deliveryOf(stage, 'a')) ?? '', /^failed/);
    }));

  test('is not held up by one bad key in a batch that throws as a whole: halves find it', () =>
    staged(
      Array.from({ length: 8 }, (_, at) => site(`s${at}`, '1')),
      async (stage, seen) => {
        seen.answer = ({ changes }) => {
          if (changes.some(({ after }) => after === 'poison')) throw new Error('no');
        };
        for (let at = 0; at < 8; at++)
          await stage.client.patch(Site, ref(`s${at}`), 'merge', { spec: { host: at === 3 ? 'poison' : '2' } });
        await stage.clock.advance(30_000);
        const states = await Promise.all(Array.from({ length: 8 }, (_, at) => deliveryOf(stage, `s${at}`)));
        assert.deepEqual(
          states.map((state) => state?.split(' ')[0]),
          states.map((_, at) => (at === 3 ? 'failed' : 'delivered')),
        );
      },
    ));

  test('reports rows that reconcilers read', () =>
    staged([site('a', '1')], async (stage, seen) => {
      seen.context?.report('default/a', 'acknowledged 1');
      await stage.settle();
      assert.equal((await stage.client.get(Site, ref('a'))).status?.seen, 'acknowledged 1');
    }));

  test('answers from its current values with content versions, without evaluation', () =>
    staged([site('a', '1'), site('b', '1')], async (stage, seen) => {
      const current = seen.context?.current();
      const version = current?.get('default/a')?.version;
      assert.equal(version, current?.get('default/b')?.version);
      await edit(stage, 'a', '2');
      assert.notEqual(current?.get('default/a')?.version, version);
      await edit(stage, 'a', '1');
      assert.equal(current?.get('default/a')?.version, version);
    }));

  test('gets a snapshot again after a restart', () =>
    staged([site('a', '1')], async (stage, seen) => {
      await stage.restart();
      assert.deepEqual(seen.batches, ['snapshot a: - → 1', 'snapshot a: - → 1']);
    }));

  test('a sink whose snapshot fails gets it again as a whole', () => {
    const { seen, operators } = recorded();
    seen.answer = () => {
      throw new Error('not yet');
    };
    return (async () => {
      const stage = await createStage({
        operators,
        given: async (client) => void (await client.create(Site, site('a', '1'))),
      });
      try {
        assert.match((await deliveryOf(stage, 'a')) ?? '', /^failed/);
        seen.answer = () => {};
        await stage.clock.advance(120_000);
        assert.equal(seen.batches.at(-1), 'snapshot a: - → 1');
        assert.equal(await deliveryOf(stage, 'a'), 'delivered');
      } finally {
        await stage.end();
      }
    })();
  });
});

describe('the keys of a sink', () => {
  const byHost = index(Site, 'by-host', ({ spec }: Site) => [spec.host]);
  const countOf = derivation<string>({
    name: 'count',
    compute: ({ key, read }) => String(read.by(byHost, key, hostOf).length),
  });
  const hosts = fold<Site, string, Map<string, number>, readonly string[]>({
    name: 'hosts',
    kind: Site,
    part: hostOf,
    empty: () => new Map(),
    put(counts, _member, host, previous) {
      if (previous !== undefined) counts.set(previous, (counts.get(previous) ?? 1) - 1);
      counts.set(host, (counts.get(host) ?? 0) + 1);
    },
    remove: (counts, _member, host) => void counts.set(host, (counts.get(host) ?? 1) - 1),
    result: (counts) =>
      [...counts]
        .filter(([, count]) => count > 0)
        .map(([host]) => host)
        .toSorted(),
  });
  const sets: Record<string, KeySet | readonly KeySet[]> = {
    'an index': byHost,
    'a derivation for each object': {
      each: Site,
      keys: derivation<readonly string[]>({
        name: 'host-of-site',
        compute({ key, read }) {
          const [namespace = '', name = ''] = key.split('/');
          return [read.get(Site, { namespace, name }, hostOf) ?? ''];
        },
      }),
    },
    'a fold': hosts,
    'two sets that unite': [byHost, hosts],
  };
  for (const [title, keys] of Object.entries(sets)) {
    test(`come from ${title}, and go with the last that names them`, async () => {
      const batches: string[] = [];
      const counts = sink<string>({
        name: 'counts',
        of: countOf,
        keys,
        reads: [Site],
        lease: 'none',
        open: () => ({
          take({ changes, snapshot }) {
            batches.push(
              `${snapshot ? 'snapshot ' : ''}${changes
                .map(({ key, before, after }) => `${key}: ${before ?? '-'} → ${after ?? '-'}`)
                .toSorted()
                .join(', ')}`,
            );
          },
        }),
      });
      const stage = await createStage({
        operators: [operator({ name: 'counts', kinds: [Site], reconcilers: [], sinks: [counts] })],
        given: async (client) => {
          await client.create(Site, site('a', 'x'));
          await client.create(Site, site('b', 'x'));
        },
      });
      try {
        assert.deepEqual(batches.splice(0), ['snapshot x: - → 2']);
        await edit(stage, 'b', 'y');
        assert.deepEqual(batches.splice(0).join(', ').split(', ').toSorted(), ['x: 2 → 1', 'y: - → 1']);
        await edit(stage, 'a', 'y');
        assert.deepEqual(batches.splice(0).join(', ').split(', ').toSorted(), ['x: 1 → -', 'y: 1 → 2']);
      } finally {
        await stage.end();
      }
    });
  }

  test('are complete without those of an optional kind that is not served', async () => {
    const Absent = defineKind({
      group: 'absent.dev',
      version: 'v1',
      kind: 'Absent',
      scope: 'Namespaced',
      spec: object({}),
    });
    const { seen, operators } = recorded({
      keys: [Site, Absent],
      reads: [Site, Service, reading(Absent, 'everywhere', { optional: true })],
    });
    const stage = await createStage({
      operators,
      given: async (client) => void (await client.create(Site, site('a', '1'))),
    });
    try {
      assert.deepEqual(seen.batches, ['snapshot a: - → 1']);
    } finally {
      await stage.end();
    }
  });
});

describe('a sink with a lease', () => {
  function lease() {
    let holds = true;
    const listeners = new Set<(holds: boolean) => void>();
    const leadership: Leadership = {
      get holds() {
        return holds;
      },
      run: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const set = (value: boolean) => {
      holds = value;
      for (const listener of listeners) listener(value);
    };
    return { leadership, set };
  }

  test('delivers while it is held, and starts with a snapshot when it is gained again', async () => {
    const { leadership, set } = lease();
    await staged(
      [site('a', '1')],
      async (stage, seen) => {
        assert.equal(seen.context?.mayAct(), true);
        set(false);
        await stage.clock.advance(1000);
        assert.equal(seen.context?.mayAct(), false);
        await edit(stage, 'a', '2');
        assert.equal(seen.batches.length, 1);
        set(true);
        await stage.settle();
        assert.deepEqual(seen.batches.slice(1), ['snapshot a: - → 2']);
      },
      { lease: { name: 'gateway' } },
      { runtime: { sinkLeadership: () => leadership } },
    );
  });

  test('aborts a delivery that is under way when it is lost', async () => {
    const { leadership, set } = lease();
    await staged(
      [site('a', '1')],
      async (stage, seen) => {
        let isAborted = false;
        seen.answer = ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              isAborted = true;
              reject(new Error('aborted'));
            });
          });
        await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: '2' } });
        await stage.clock.advance(100);
        set(false);
        await stage.clock.advance(100);
        assert.equal(isAborted, true);
        seen.answer = () => {};
        set(true);
        await stage.settle();
        assert.equal(seen.batches.at(-1), 'snapshot a: - → 2');
      },
      { lease: { name: 'gateway' } },
      { runtime: { sinkLeadership: () => leadership } },
    );
  });

  test('withdraws what it delivered when it is lost, if it says so, and at the end', async () => {
    const { leadership, set } = lease();
    const { seen, operators } = recorded({ lease: 'operator', onLost: 'withdraw' });
    const stage = await createStage({
      operators,
      given: async (client) => void (await client.create(Site, site('a', '1'))),
      runtime: { leadership: () => leadership },
    });
    let mayAct: boolean | undefined;
    seen.answer = () => {
      mayAct = seen.context?.mayAct();
    };
    set(false);
    await stage.clock.advance(1000);
    assert.deepEqual(seen.batches.slice(1), ['withdrawal a: 1 → -']);
    assert.deepEqual(
      [mayAct, seen.context?.mayAct()],
      [true, false],
      'it may act during the withdrawal, and not after it',
    );
    set(true);
    await stage.settle();
    await stage.end();
    assert.deepEqual(seen.batches.slice(2), ['snapshot a: - → 1', 'withdrawal a: 1 → -']);
  });

  test('a sink that is gained again during the withdrawal starts with a snapshot after it, never at the same time', async () => {
    const { leadership, set } = lease();
    await staged(
      [site('a', '1')],
      async (stage, seen) => {
        const released = Promise.withResolvers<void>();
        seen.answer = ({ withdrawal }) => (withdrawal ? released.promise : undefined);
        set(false);
        await stage.clock.advance(100);
        set(true);
        await stage.clock.advance(100);
        assert.deepEqual(seen.batches.slice(1), ['withdrawal a: 1 → -']);
        released.resolve();
        await stage.settle();
        assert.deepEqual(seen.batches.slice(2), ['snapshot a: - → 1']);
        assert.equal(await deliveryOf(stage, 'a'), 'delivered');
      },
      { lease: { name: 'gateway' }, onLost: 'withdraw' },
      { runtime: { sinkLeadership: () => leadership } },
    );
  });

  test('a sink without a lease delivers in every replica, leader or not', async () => {
    const { leadership } = lease();
    const follower: Leadership = { ...leadership, holds: false };
    await staged(
      [site('a', '1')],
      async (_stage, seen) => assert.deepEqual(seen.batches, ['snapshot a: - → 1']),
      {},
      {
        runtime: { leadership: () => follower },
      },
    );
  });
});

describe('a preview', () => {
  const byHost = index(Site, 'by-host', hostsOf);
  const countOf = derivation<string>({
    name: 'count',
    compute: ({ key, read }) => String(read.by(byHost, key, hostOf).length),
  });
  const disturbs: NonNullable<SinkDefinition<string, never>['disturbs']> = ({ before, after }) =>
    before !== undefined && after === undefined ? 'drains a listener' : undefined;
  const counts = sink<string>({
    name: 'counts',
    of: countOf,
    keys: byHost,
    reads: [Site],
    lease: 'none',
    disturbs,
    open: () => ({ take() {} }),
  });

  test('shows what sinks would deliver and how that disturbs, and delivers nothing', async () => {
    const { seen, routes } = recorded();
    const stage = await createStage({
      operators: [operator({ name: 'ingress', kinds: [Site], reconcilers: [], sinks: [routes, counts] })],
      given: async (client) => void (await client.create(Site, site('a', 'x'))),
    });
    try {
      const changed = await stage.client.patch(Site, ref('a'), 'merge', { spec: { host: 'y' } }, { dryRun: true });
      const { deliveries } = await preview(stage.program.runtime, [{ kind: Site, object: changed }]);
      assert.deepEqual(deliveries, [
        { by: 'ingress.routes', key: 'default/a', change: 'changed' },
        { by: 'ingress.counts', key: 'x', change: 'removed', disturbs: 'drains a listener' },
        { by: 'ingress.counts', key: 'y', change: 'added' },
      ]);
      const same = await stage.client.patch(
        Site,
        ref('a'),
        'merge',
        { metadata: { labels: { x: 'y' } } },
        { dryRun: true },
      );
      assert.deepEqual((await preview(stage.program.runtime, [{ kind: Site, object: same }])).deliveries, []);
      await stage.settle();
      assert.equal(seen.batches.length, 1);
    } finally {
      await stage.end();
    }
  });

  test('why something was delivered is in the history', () =>
    staged([site('a', '1')], async (stage) => {
      await edit(stage, 'a', '2');
      const [latest] = stage.program.runtime.history.of('routes default/a');
      assert.equal(latest?.verb, 'deliver');
      assert.deepEqual(
        latest?.cause.changes.map(({ object: changed, paths }) => `${changed}: ${paths.join(' ')}`),
        ['Site.test.capstan.dev default/a: host'],
      );
    }));
});

test('a name that is used twice in an operator is refused', () => {
  const { routes } = recorded();
  const twin = reconciler({ name: 'routes', resource: ConfigMap, reconcile: () => plan() });
  assert.throws(() => operator({ name: 'x', kinds: [], reconcilers: [twin], sinks: [routes] }), /named routes/);
});
