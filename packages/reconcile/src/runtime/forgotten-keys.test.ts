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
      names.filter((name) => binding?.failures.peek(`default/${name}`) !== undefined),
      [],
    );
    assert.equal(binding?.failures.size, 0);
  });
});

test('the report about an object goes with it, and one that takes its name is served at once', async () => {
  let attempts = 0;
  const through = (client: Client) =>
    replacing(client, 'apply', () => {
      attempts++;
      return Promise.reject(refusal(403, 'Forbidden', 'exceeded quota'));
    });
  await onRuntime({ through }, async ({ client, clock, runtime }) => {
    await client.create(Thing, thing('a'));
    await clock.advance(600_000);
    const [binding] = runtime.bindings;
    assert.equal(binding?.failures.size, 1);
    await client.delete(Thing, ref('a'));
    await clock.advance(10);
    assert.equal(binding?.failures.size, 0);
    const before = attempts;
    await client.create(Thing, thing('a'));
    await clock.advance(100);
    assert.ok(attempts > before, 'it waits for the end of the back-off of the object before it');
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
    assert.equal(runtime.bindings[0]?.foreign.size, 0);
  });
});
