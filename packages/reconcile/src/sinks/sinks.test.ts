import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, defineKind, findCondition, object, Service } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { derivation, fold, index } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { type KeySet, sink } from './sink.ts';
import { deliveryOf, edit, hostOf, recorded, ref, Site, site, staged } from './sinks.test-support.ts';

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

test('a name that is used twice in an operator is refused', () => {
  const { routes } = recorded();
  const twin = reconciler({ name: 'routes', resource: ConfigMap, reconcile: () => plan() });
  assert.throws(() => operator({ name: 'x', kinds: [], reconcilers: [twin], sinks: [routes] }), /named routes/);
});
