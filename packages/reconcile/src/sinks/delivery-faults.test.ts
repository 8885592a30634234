// Deliveries that fail, and keys that several sets name: each test notices one mistake that was planted once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defineKind, type KindOf, object, silentLogger, string } from '@capstan/kube';
import { createStage, createVirtualClock } from '@capstan/testing';
import { createEngine, type Derivation } from '../engine/index.ts';
import { operator } from '../operator.ts';
import { derivation, index } from '../read/index.ts';
import { createDelivery } from './delivery.ts';
import { type SinkBatch, type SinkDefinition, sink } from './sink.ts';
import { createSinkRegistry } from './sink-tables.ts';

function delivered(answer: (batch: SinkBatch<string>) => void, more: Partial<SinkDefinition<string>> = {}) {
  const clock = createVirtualClock();
  const batches: string[] = [];
  const definition = sink<string>({
    name: 'routes',
    of: derivation<string>({ name: 'route', compute: () => '' }),
    keys: derivation<readonly string[]>({ name: 'keys', compute: () => [] }),
    lease: 'none',
    open: () => ({
      take(batch) {
        const head = batch.withdrawal ? 'withdrawal ' : batch.snapshot ? 'snapshot ' : '';
        batches.push(head + batch.changes.map(({ key, after }) => `${key}=${after ?? '-'}`).join(' '));
        answer(batch);
      },
    }),
    ...more,
  });
  const engine = createEngine({ clock });
  const delivery = createDelivery({
    id: 'test.routes',
    operator: operator({ name: 'test', kinds: [], reconcilers: [], sinks: [definition] }),
    sink: definition,
    keys: { take: () => false, isComplete: true, derivations: [], named: () => 1, stop() {} },
    tables: createSinkRegistry(engine).of('', definition),
    world: '',
    clock,
    random: () => 0,
    logger: silentLogger,
    mayAct: () => true,
  });
  const of = engine.derive({ name: 'route', compute: () => '' }) as Derivation<unknown>;
  const edit = async (key: string, value: string) => {
    delivery.take({ derivation: of, key, before: undefined, after: { state: 'value', value }, causes: [] });
    delivery.waveEnded?.();
    await clock.settle();
  };
  return { clock, delivery, batches, edit };
}

describe('a delivery that failed', () => {
  test('does not hold up a newer value of its key: that is sent at once, without the back-off', async () => {
    let isBroken = false;
    const { clock, delivery, batches, edit } = delivered(() => {
      if (isBroken) throw new Error('refused');
    });
    delivery.open();
    await clock.settle();
    batches.length = 0;
    isBroken = true;
    await edit('a', '1');
    assert.deepEqual(batches.splice(0), ['a=1']);
    isBroken = false;
    await edit('a', '2');
    assert.deepEqual(batches.splice(0), ['a=2']);
    await clock.advance(120_000);
    assert.deepEqual(batches, [], 'the failed value is not sent again');
  });

  test('a failed delivery of the snapshot leaves nothing to withdraw when the lease is lost', async () => {
    const { clock, delivery, batches, edit } = delivered(
      () => {
        throw new Error('refused');
      },
      { onLost: 'withdraw' },
    );
    await edit('a', '1');
    delivery.open();
    await clock.settle();
    assert.deepEqual(batches.splice(0), ['snapshot a=1']);
    await delivery.close({ drain: false });
    assert.deepEqual(batches, []);
  });
});

describe('a key that two sets name', () => {
  const Site = defineKind({
    group: 'test.capstan.dev',
    version: 'v1',
    kind: 'Site',
    scope: 'Namespaced',
    spec: object({ host: string() }),
  });
  type Site = KindOf<typeof Site>;
  const byHost = index(Site, 'by-host', ({ spec }: Site) => [spec.host]);

  for (const isFirst of [true, false]) {
    test(`stays while the ${isFirst ? 'second' : 'first'} names it`, async () => {
      const batches: string[] = [];
      const fixed = derivation<readonly string[]>({ name: 'fixed', compute: () => ['x'] });
      const counts = sink<string>({
        name: 'counts',
        of: derivation<string>({
          name: 'count',
          compute: ({ key, read }) => String(read.by(byHost, key, ({ spec }) => spec.host).length),
        }),
        keys: isFirst ? [byHost, fixed] : [fixed, byHost],
        reads: [Site],
        lease: 'none',
        open: () => ({
          take({ changes }) {
            batches.push(...changes.map(({ key, before, after }) => `${key}: ${before ?? '-'} → ${after ?? '-'}`));
          },
        }),
      });
      const stage = await createStage({
        operators: [operator({ name: 'counts', kinds: [Site], reconcilers: [], sinks: [counts] })],
        given: async (client) =>
          void (await client.create(Site, {
            apiVersion: Site.apiVersion,
            kind: Site.kind,
            metadata: { namespace: 'default', name: 'a' },
            spec: { host: 'x' },
          })),
      });
      try {
        assert.deepEqual(batches.splice(0), ['x: - → 1']);
        await stage.client.patch(Site, { namespace: 'default', name: 'a' }, 'merge', { spec: { host: 'y' } });
        await stage.settle();
        assert.deepEqual(batches.splice(0).toSorted(), ['x: 1 → 0', 'y: - → 1']);
        await stage.client.patch(Site, { namespace: 'default', name: 'a' }, 'merge', { spec: { host: 'x' } });
        await stage.settle();
        assert.deepEqual(batches.splice(0).toSorted(), ['x: 0 → 1', 'y: 1 → -']);
      } finally {
        await stage.end();
      }
    });
  }
});
