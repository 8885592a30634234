import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, findCondition } from '@capstan/kube';
import { createTestLease } from '@capstan/testing';
import { onRuntime, ref, replacing, Thing, thing } from './runtime.test-support.ts';

test('a foreign object in the way of a child is re-checked after the lease was lost and regained', async () => {
  const lease = createTestLease();
  const given = { leadership: () => lease.leadership };
  await onRuntime(given, async ({ client, clock }) => {
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('a'), data: { mine: 'x' } });
    await client.create(Thing, thing('a'));
    await clock.advance(5_000);
    const { status } = await client.get(Thing, ref('a'));
    assert.equal(findCondition(status?.conditions, 'ReconcileError')?.reason, 'Conflict');
    lease.set(false);
    await clock.advance(5_000);
    lease.set(true);
    await clock.advance(5_000);
    await client.delete(ConfigMap, ref('a'));
    await clock.advance(120_000);
    assert.equal((await client.find(ConfigMap, ref('a')))?.data?.['value'], 'a');
  });
});

test('nothing is written when the lease is lost between looking at the server and the write', async () => {
  const lease = createTestLease();
  const given = {
    leadership: () => lease.leadership,
    through: (client: Parameters<typeof replacing>[0]) =>
      replacing(client, 'find', async (call) => {
        const answer = await call();
        lease.loseSilently();
        return answer;
      }),
  };
  await onRuntime(given, async ({ client, clock }) => {
    await client.create(Thing, thing('a'));
    await clock.advance(5_000);
    assert.equal(await client.find(ConfigMap, ref('a')), undefined);
  });
});
