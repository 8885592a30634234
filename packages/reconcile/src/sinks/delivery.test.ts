import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine, type Derivation } from '../engine/index.ts';
import { operator } from '../operator.ts';
import { derivation } from '../read/index.ts';
import { createDelivery } from './delivery.ts';
import { type SinkBatch, sink } from './sink.ts';
import { createSinkRegistry } from './sink-tables.ts';

/** A delivery that has sent its snapshot; `edit` is a change of a key that a wave publishes. */
async function started(answer: (batch: SinkBatch<string>) => void = () => {}) {
  const clock = createVirtualClock();
  const batches: string[][] = [];
  const definition = sink<string, string>({
    name: 'routes',
    of: derivation<string>({ name: 'route', compute: () => '' }),
    keys: derivation<readonly string[]>({ name: 'keys', compute: () => [] }),
    lease: 'none',
    open: () => ({
      take(batch) {
        batches.push(batch.changes.map(({ key }) => key));
        answer(batch);
      },
    }),
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
    random: () => 0.5,
    logger: silentLogger,
    mayAct: () => true,
  });
  delivery.open();
  await clock.settle();
  batches.length = 0;
  const of = engine.derive({ name: 'route', compute: () => '' }) as Derivation<unknown>;
  let value = 0;
  const edit = (key: string) => {
    value += 1;
    delivery.take({ derivation: of, key, before: undefined, after: { state: 'value', value }, causes: [] });
  };
  const endWave = async () => {
    delivery.waveEnded?.();
    await clock.settle();
    return batches.splice(0).flat();
  };
  return { clock, delivery, edit, endWave };
}

describe('a delivery', () => {
  test('keeps its keys when a sink changes the batch that it takes', async () => {
    let isChanging = false;
    const { clock, edit, endWave } = await started(({ changes }) => {
      if (isChanging) (changes as unknown[]).splice(0);
    });
    isChanging = true;
    edit('a');
    assert.deepEqual(await endWave(), ['a']);
    isChanging = false;
    await clock.advance(60_000);
    assert.deepEqual(await endWave(), ['a']);
  });

  test('waits for the next wave when an object moves to another key, so that both keys go out together', async () => {
    const { delivery, edit, endWave } = await started();
    edit('old');
    delivery.expect('new', false);
    assert.deepEqual(await endWave(), []);
    edit('new');
    assert.deepEqual(await endWave(), ['old', 'new']);
  });

  test('is not held up by new objects, wave after wave', async () => {
    const { delivery, edit, endWave } = await started();
    for (let wave = 0; wave < 5; wave++) {
      edit(`edited${wave}`);
      delivery.expect(`new${wave}`, true);
      assert.deepEqual(await endWave(), [`edited${wave}`]);
    }
  });

  test('is held up for one wave at most by objects that move in every wave', async () => {
    const { delivery, edit, endWave } = await started();
    const sent: string[][] = [];
    for (let wave = 0; wave < 4; wave++) {
      edit(`edited${wave}`);
      delivery.expect(`moved${wave}`, false);
      sent.push(await endWave());
    }
    assert.deepEqual(sent, [[], ['edited0', 'edited1'], [], ['edited2', 'edited3']]);
  });
});
