import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, type KindOf } from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import { createStage, createTestCluster, objectOf, type Stage, type TestCluster } from '@capstan/testing';
import banners, { Banner } from './several-clusters.ts';

type Banner = KindOf<typeof Banner>;
const ref = { namespace: 'default', name: 'notice' };
const notice = objectOf<Banner>(Banner, { metadata: ref, spec: { text: 'hello' } });

async function staged(check: (stage: Stage, add: (name: string) => Promise<TestCluster>) => Promise<void>) {
  const stage = await createStage({
    operators: [banners],
    given: async (client) => void (await client.create(Banner, notice)),
  });
  const clusters: TestCluster[] = [];
  /** Another cluster on the clock of the stage, connected as a member. */
  const add = async (name: string) => {
    const cluster = await createTestCluster({ clock: stage.clock, random: stage.random });
    clusters.push(cluster);
    stage.program.runtime.addWorld({ name, role: 'member', client: cluster.client });
    await stage.settle();
    return cluster;
  };
  try {
    await check(stage, add);
  } finally {
    await stage.end();
    for (const cluster of clusters) await cluster.close();
  }
}

const copyIn = async ({ client }: TestCluster) =>
  (await client.find(ConfigMap, { namespace: 'default', name: 'banner-notice' }))?.data?.['text'];
const statusOf = async ({ client }: Stage) => (await client.get(Banner, ref)).status;
const reasonOf = async (stage: Stage) => findCondition((await statusOf(stage))?.conditions, 'Shown')?.reason;

describe('the example of several clusters', () => {
  test('waits until the members are complete: no member is not the same as none known yet', () =>
    staged(async (stage) => {
      assert.equal(await reasonOf(stage), undefined);
      const [waiting] = stage.program.runtime.status().reconcilers.flatMap(({ suspended }) => suspended);
      assert.match(waiting?.waitingFor.join(' ') ?? '', /role member/);
      stage.program.runtime.completeWorlds('member');
      await stage.settle();
      assert.equal(await reasonOf(stage), 'NoMembers');
    }));

  test('copies to every member, to one that comes later too, and follows edits', () =>
    staged(async (stage, add) => {
      const east = await add('east');
      stage.program.runtime.completeWorlds('member');
      await stage.settle();
      const west = await add('west');
      assert.deepEqual([await copyIn(east), await copyIn(west)], ['hello', 'hello']);
      assert.deepEqual((await statusOf(stage))?.members, ['east', 'west']);
      await stage.client.patch(Banner, ref, 'merge', { spec: { text: 'bye' } });
      await stage.settle();
      assert.deepEqual([await copyIn(east), await copyIn(west)], ['bye', 'bye']);
      assert.equal(await reasonOf(stage), 'Shown');
    }));

  test('removes the copies with the Banner', () =>
    staged(async (stage, add) => {
      const east = await add('east');
      stage.program.runtime.completeWorlds('member');
      await stage.settle();
      assert.equal(await copyIn(east), 'hello');
      await stage.client.delete(Banner, ref);
      await stage.settle();
      assert.equal(await copyIn(east), undefined);
      assert.equal(await stage.client.find(Banner, ref), undefined);
    }));

  test('a member that is removed keeps its copy, and the others go on', () =>
    staged(async (stage, add) => {
      const [east, west] = [await add('east'), await add('west')];
      stage.program.runtime.completeWorlds('member');
      await stage.settle();
      await stage.program.runtime.removeWorld('east');
      await stage.client.patch(Banner, ref, 'merge', { spec: { text: 'bye' } });
      await stage.settle();
      assert.deepEqual([await copyIn(east), await copyIn(west)], ['hello', 'bye']);
      assert.deepEqual((await statusOf(stage))?.members, ['west']);
    }));

  test('needs nothing in a member but ConfigMaps', () => {
    const { everywhere, cluster, own, system } = rulesOf(banners, 'member');
    assert.deepEqual(
      [...everywhere, ...cluster, ...own, ...system].flatMap(({ resources }) => resources),
      ['configmaps'],
    );
  });
});
