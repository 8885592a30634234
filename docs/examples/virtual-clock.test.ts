import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, Deployment, findCondition, formatTime, type KindOf } from '@capstan/kube';
import { createLives, createStage, objectOf, planOf, type Stage } from '@capstan/testing';
import windows, { Window, window } from './virtual-clock.ts';

type Window = KindOf<typeof Window>;
const HOUR_MS = 60 * 60 * 1000;
const ref = { namespace: 'default', name: 'night' };
const webRef = { namespace: 'default', name: 'web' };
const labels = { app: 'web' };
const containers = [{ name: 'web', image: 'nginx' }];
const web = objectOf<Deployment>(Deployment, {
  metadata: webRef,
  spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
});
/** From one hour after the start until two hours after it. */
const night = (start: number) =>
  objectOf<Window>(Window, {
    metadata: ref,
    spec: { deployment: 'web', from: formatTime(start + HOUR_MS), until: formatTime(start + 2 * HOUR_MS) },
  });
const replicasOf = async (client: Client) => (await client.get(Deployment, webRef)).spec?.replicas;

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({ operators: [windows] });
  try {
    await stage.client.create(Deployment, web);
    await stage.client.create(Window, night(stage.clock.now()));
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

describe('the example of a test with the virtual clock', () => {
  test('two hours pass in milliseconds: nothing happens before an instant, and everything at it', () =>
    staged(async ({ clock, client, settle }) => {
      const reason = async () => findCondition((await client.get(Window, ref)).status?.conditions, 'Open')?.reason;
      assert.deepEqual([await replicasOf(client), await reason()], [3, 'Waiting']);
      // settle() lets the program come to rest and moves time only as far as the program itself asks for.
      await clock.advance(HOUR_MS - 10_000);
      assert.equal(await replicasOf(client), 3);
      await clock.advance(10_000);
      await settle();
      assert.deepEqual([await replicasOf(client), await reason()], [0, 'Stopped']);
      await clock.advance(HOUR_MS);
      await settle();
      assert.deepEqual([await replicasOf(client), await reason()], [3, 'Over']);
    }));

  test('instants that passed while the program was not running are seen at its start', () =>
    staged(async (stage) => {
      await stage.program.stop();
      await stage.clock.advance(HOUR_MS);
      await stage.restart();
      assert.equal(await replicasOf(stage.client), 0);
    }));

  test('a plan at an instant is a pure function', () => {
    const start = Date.UTC(2026, 0, 1);
    const at = (now: number) => planOf(window, [night(start), web], { now }).conditions[0]?.reason;
    assert.deepEqual([start, start + HOUR_MS - 1, start + HOUR_MS, start + 2 * HOUR_MS].map(at), [
      'Waiting',
      'Waiting',
      'Stopped',
      'Over',
    ]);
  });

  for (const writes of [1, 2, 3]) {
    test(`a process that dies after write ${writes} is followed by one that does the rest`, async () => {
      const lives = await createLives({ operators: [windows] });
      try {
        await lives.client.create(Deployment, web);
        await lives.client.create(Window, night(lives.clock.now() - HOUR_MS));
        const life = await lives.begin();
        life.dieAfterWrites(writes);
        await life.settle();
        await life.end();
        const next = await lives.begin();
        await next.settle();
        assert.equal(await replicasOf(lives.client), 0);
        await lives.client.delete(Window, ref);
        await next.settle();
        assert.equal(await replicasOf(lives.client), 3);
        await next.end();
      } finally {
        await lives.close();
      }
    });
  }
});
