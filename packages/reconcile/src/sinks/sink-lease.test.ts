import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createStage } from '@capstan/testing';
import type { Leadership } from '../leadership/index.ts';
import { operator } from '../operator.ts';
import { preview } from '../preview/index.ts';
import { derivation, index } from '../read/index.ts';
import { type SinkDefinition, sink } from './sink.ts';
import { deliveryOf, edit, hostOf, recorded, ref, Site, site, staged } from './sinks.test-support.ts';

const hostsOf = ({ spec }: Site) => [spec.host];

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
