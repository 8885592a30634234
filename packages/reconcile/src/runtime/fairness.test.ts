import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, sleep } from '@capstan/kube';
import { operator } from '../operator.ts';
import { onRuntime, ref, replacing, Thing, thing, things } from './runtime.test-support.ts';

/** Fewer workers than keys that change all the time. */
const fewWorkers = [operator({ name: 'test', kinds: [Thing], reconcilers: [{ ...things, concurrency: 4 }] })];

test('a new object is served although others change all the time and every worker is busy', async () => {
  const slow = {
    through: (client: Parameters<typeof replacing>[0], clock: Parameters<typeof sleep>[0]) =>
      replacing(client, 'apply', async (call) => {
        await sleep(clock, 100);
        return call();
      }),
  };
  await onRuntime({ ...slow, operators: fewWorkers }, async ({ client, clock }) => {
    const hot = Array.from({ length: 12 }, (_, at) => `hot${at}`);
    for (const name of hot) await client.create(Thing, thing(name));
    await clock.advance(5_000);
    let served: number | undefined;
    for (let tick = 0; tick < 60 && served === undefined; tick++) {
      for (const name of hot) await client.patch(Thing, ref(name), 'merge', { spec: { value: `v${tick}` } });
      if (tick === 10) await client.create(Thing, thing('new'));
      await clock.advance(100);
      if ((await client.find(ConfigMap, ref('new'))) !== undefined) served = tick;
    }
    assert.ok(served !== undefined, '5 s after its creation the child of the new object is still missing');
  });
});
