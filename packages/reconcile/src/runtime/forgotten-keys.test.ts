import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, type Clock, ConfigMap, sleep } from '@capstan/kube';
import { onRuntime, ref, refusal, replacing, Thing, thing } from './runtime.test-support.ts';

const names = Array.from({ length: 10 }, (_, at) => `t${at}`);

test('a write that is refused after its object is gone leaves no report behind', async () => {
  const through = (client: Client, clock: Clock) =>
    replacing(client, 'apply', async () => {
      await sleep(clock, 1000);
      throw refusal(403, 'Forbidden', 'exceeded quota');
    });
  await onRuntime({ through }, async ({ client, clock, runtime }) => {
    for (const name of names) await client.create(Thing, thing(name));
    await clock.advance(500);
    for (const name of names) await client.delete(Thing, ref(name));
    await clock.advance(600_000);
    const [binding] = runtime.bindings;
    assert.deepEqual(
      names.filter((name) => binding?.troubles.peek(`default/${name}`) !== undefined),
      [],
    );
    assert.equal(binding?.troubles.size, 0);
  });
});

test('a foreign object that is met after its owner is gone is not kept', async () => {
  const through = (client: Client, clock: Clock) =>
    replacing(client, 'find', async (call) => {
      const answer = await call();
      await sleep(clock, 1000);
      return answer;
    });
  await onRuntime({ through }, async ({ client, clock, runtime }) => {
    for (const name of names) {
      await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref(name) });
      await client.create(Thing, thing(name));
    }
    await clock.advance(500);
    for (const name of names) await client.delete(Thing, ref(name));
    await clock.advance(600_000);
    assert.equal(runtime.bindings[0]?.strangers.size, 0);
  });
});
