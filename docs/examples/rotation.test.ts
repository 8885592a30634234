import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCondition, type KindOf, Secret } from '@capstan/kube';
import { createStage, objectOf, type Stage } from '@capstan/testing';
import tokens, { ApiToken } from './rotation.ts';

type ApiToken = KindOf<typeof ApiToken>;
const HOUR_MS = 60 * 60 * 1000;
const ref = { namespace: 'default', name: 'ci' };
const secretRef = { namespace: 'default', name: 'ci-token' };

async function staged(check: (stage: Stage, tokenOf: () => Promise<string>) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [tokens],
    given: async (client) =>
      void (await client.create(ApiToken, objectOf<ApiToken>(ApiToken, { metadata: ref, spec: { days: 1 } }))),
  });
  try {
    await check(stage, async () => (await stage.client.get(Secret, secretRef)).data?.['token'] ?? '');
  } finally {
    await stage.end();
  }
}

describe('the example of a rotation by time', () => {
  test('replaces the token after two thirds of its life, and not before', () =>
    staged(async ({ clock, client, settle }, tokenOf) => {
      const first = await tokenOf();
      assert.ok(first.length > 40);
      const start = clock.now();
      await clock.advance(16 * HOUR_MS - 60_000);
      await settle();
      assert.equal(await tokenOf(), first);
      await clock.advance(60_000);
      await settle();
      assert.notEqual(await tokenOf(), first);
      const { status } = await client.get(ApiToken, ref);
      assert.equal(findCondition(status?.conditions, 'Ready')?.status, 'True');
      const renewAt = Date.parse(status?.renewAt ?? '');
      assert.ok(Math.abs(renewAt - start - 32 * HOUR_MS) < 60_000, `renewAt ${renewAt}`);
    }));

  test('keeps the token across a restart, and writes nothing', () =>
    staged(async (stage, tokenOf) => {
      const first = await tokenOf();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
      assert.equal(await tokenOf(), first);
    }));

  test('issues a new token when the wanted life changes, or when the Secret is deleted', () =>
    staged(async ({ client, settle }, tokenOf) => {
      const first = await tokenOf();
      await client.patch(ApiToken, ref, 'merge', { spec: { days: 7 } });
      await settle();
      const second = await tokenOf();
      assert.notEqual(second, first);
      await client.delete(Secret, secretRef);
      await settle();
      assert.notEqual(await tokenOf(), second);
    }));

  test('shows the token nowhere but in its Secret', () =>
    staged(async ({ client }, tokenOf) => {
      const shown = JSON.stringify([
        await client.get(ApiToken, ref),
        { ...(await client.get(Secret, secretRef)), data: {} },
      ]);
      const secret = await tokenOf();
      assert.ok(!shown.includes(secret) && !shown.includes(Buffer.from(secret, 'base64').toString()));
    }));
});
