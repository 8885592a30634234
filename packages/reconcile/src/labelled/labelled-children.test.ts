import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMap, Namespace, Secret } from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { child, found, KEPT, LABEL, MANAGER, MARK, staged } from './labelled.test-support.ts';

const a = { namespace: 'default', name: 'a' };

describe('children known by label', () => {
  it('are written in the order of their tiers with one request each, removed in reverse, and not written by a restart', () =>
    staged(async ({ client, clock, start }) => {
      const first = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      assert.equal(first.children.isReady, true);
      assert.deepEqual(first.sent, [
        'POST /api/v1/namespaces/default/configmaps',
        'POST /api/v1/namespaces/default/secrets',
      ]);
      first.clear();
      await first.say({ 'default/a': 'two' });
      assert.deepEqual(first.sent, [
        'PATCH /api/v1/namespaces/default/configmaps/a',
        'PATCH /api/v1/namespaces/default/secrets/a',
      ]);
      assert.equal((await client.get(ConfigMap, a)).data?.['said'], 'two');
      await first.stop();
      const second = start({ said: { 'default/a': 'two' } });
      await clock.advance(7_200_000);
      assert.equal(second.children.isReady, true);
      assert.deepEqual(second.sent, []);
      await second.say({});
      assert.deepEqual(second.sent, [
        'DELETE /api/v1/namespaces/default/secrets/a',
        'DELETE /api/v1/namespaces/default/configmaps/a',
      ]);
      assert.deepEqual(await found(client), []);
    }));

  it('children that a user changes or deletes are corrected; the additions of the user stay', () =>
    staged(async ({ client, clock, start }) => {
      const { clear, sent } = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      await client.patch(ConfigMap, a, 'merge', { data: { said: 'mine' }, metadata: { labels: { extra: 'yes' } } });
      await client.delete(Secret, a);
      await clock.advance(100);
      const { data, metadata } = await client.get(ConfigMap, a);
      assert.equal(data?.['said'], 'one');
      assert.equal(metadata.labels?.['extra'], 'yes');
      assert.equal((await client.get(Secret, a)).metadata.labels?.[LABEL], 'east');
      clear();
      await client.patch(ConfigMap, a, 'merge', { metadata: { annotations: { note: 'looked at' } } });
      await clock.advance(100);
      assert.deepEqual(sent, []);
    }));

  it('stay as they are while the source is not live, and follow it afterwards', () =>
    staged(async ({ client, clock, start }) => {
      const running = start({ said: { 'default/a': 'one', 'default/b': 'one' } });
      await clock.advance(1_000);
      running.clear();
      await running.live(false);
      await running.say({ 'default/b': 'two', 'default/c': 'new' });
      await client.delete(ConfigMap, { namespace: 'default', name: 'b' });
      await clock.advance(600_000);
      assert.deepEqual(running.sent, []);
      await running.live(true);
      assert.deepEqual(await found(client), ['default/b', 'default/c']);
    }));

  it('children that the source cannot judge now stay as they are', () =>
    staged(async ({ client, clock, start }) => {
      const first = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      await first.stop();
      const second = start({ said: { 'default/a': KEPT } });
      await clock.advance(600_000);
      assert.deepEqual(second.sent, []);
      assert.deepEqual(await found(client), ['default/a']);
    }));

  it('children whose name another object has leave it alone, and come when the name is free', () =>
    staged(async ({ client, clock, start }) => {
      const taken = await client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: a,
        data: { my: 'own' },
      });
      const { obstacles } = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      assert.deepEqual(await client.get(ConfigMap, a), taken);
      const obstacle = obstacles.get('default/a');
      assert.equal(obstacle?.what === 'taken' && obstacle.claim, 'is not of this source');
      assert.equal(await client.find(Secret, a), undefined, 'nothing of a later tier is written');
      await client.delete(ConfigMap, a);
      await clock.advance(1_000);
      assert.deepEqual(await found(client), ['default/a']);
      assert.equal(obstacles.size, 0);
    }));

  it('children that another object controls are neither changed nor removed', () =>
    staged(async ({ client, clock, start }) => {
      const owner = await client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...a, name: 'owner' },
      });
      const controller = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid: owner.metadata.uid ?? '',
        controller: true,
      };
      const object = child(ConfigMap, 'east', 'default/a', { data: { said: 'other' } });
      const controlled = { ...object, metadata: { ...object.metadata, ownerReferences: [controller] } };
      const before = await client.create(ConfigMap, controlled, { fieldManager: MANAGER });
      const { obstacles, say } = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      assert.equal(obstacles.get('default/a')?.what, 'taken');
      await say({});
      await clock.advance(60_000);
      assert.deepEqual(await client.get(ConfigMap, a), before);
    }));

  it('wait for their namespace without a request, and come as soon as it is there', () =>
    staged(async ({ client, clock, start }) => {
      const { sent, obstacles } = start({ said: { 'team/a': 'one' } });
      await clock.advance(3_600_000);
      assert.deepEqual(sent, []);
      assert.equal(obstacles.get('team/a')?.what, 'namespace');
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
      await clock.advance(100);
      assert.deepEqual(await found(client), ['team/a']);
    }));

  it('create their namespace where that is wanted', () =>
    staged(async ({ client, clock, start }) => {
      start({ said: { 'team/a': 'one', 'team/b': 'one' }, createsNamespaces: true });
      await clock.advance(1_000);
      assert.deepEqual(await found(client), ['team/a', 'team/b']);
    }));

  it('children that the server refuses are tried for ever, at most five minutes apart', () =>
    staged(async ({ client, clock, start }) => {
      let attempts = 0;
      let isBroken = true;
      const answer = { status: 500, headers: {}, body: { kind: 'Status', code: 500, message: 'etcd is away' } };
      const { obstacles } = start({
        said: { 'default/a': 'one' },
        transport: (inner) => ({
          ...inner,
          request(request) {
            if (request.method === 'GET' || !isBroken) return inner.request(request);
            attempts++;
            return Promise.resolve(answer);
          },
        }),
      });
      await clock.advance(3_600_000);
      assert.ok(attempts > 15 && attempts < 40, `${attempts} attempts`);
      assert.equal(obstacles.get('default/a')?.what, 'refused');
      isBroken = false;
      await clock.advance(300_100);
      assert.deepEqual(await found(client), ['default/a']);
      assert.equal(obstacles.size, 0);
    }));
});

describe('removals of children known by label', () => {
  it('need the evidence that we created the object: a copy that a user made stays', () =>
    staged(async ({ client, clock, start }) => {
      const copy = child(ConfigMap, 'east', 'default/copy', { data: {} });
      const before = await client.create(ConfigMap, copy, { fieldManager: 'kubectl' });
      const { children } = start();
      await clock.advance(60_000);
      assert.equal(children.isReady, true);
      assert.deepEqual(await client.get(ConfigMap, { namespace: 'default', name: 'copy' }), before);
    }));

  it('are left to the process that may; it removes what it found when it was allowed to', () =>
    staged(async ({ client, clock, start }) => {
      const first = start({ said: { 'default/a': 'one', 'default/b': 'one' } });
      await clock.advance(1_000);
      await first.stop();
      const second = start({ said: { 'default/a': 'two' }, isRemoving: false });
      await clock.advance(600_000);
      assert.deepEqual(await found(client), ['default/a', 'default/b']);
      assert.equal((await client.get(ConfigMap, a)).data?.['said'], 'two');
      await second.remove(true);
      assert.deepEqual(await found(client), ['default/a']);
    }));

  it('happen again when a process that is behind writes the object back', () =>
    staged(async ({ client, clock, start }) => {
      const running = start({ said: { 'default/a': 'one' } });
      await clock.advance(1_000);
      await running.say({});
      assert.deepEqual(await found(client), []);
      const late = child(ConfigMap, 'east', 'default/a', { data: { said: 'one' } });
      await client.create(ConfigMap, late, { fieldManager: MANAGER });
      await clock.advance(1_000);
      assert.deepEqual(await found(client), []);
    }));

  it('removals by one process are not undone by another one that may not remove and learns of it a moment later', () =>
    staged(async ({ client, clock, start }) => {
      const said = { 'default/a': 'one' };
      const first = start({ said });
      await clock.advance(1_000);
      const second = start({ said, isRemoving: false });
      await clock.advance(1_000);
      await first.say({});
      await clock.advance(300);
      await second.say({});
      await clock.advance(60_000);
      assert.deepEqual(second.sent, []);
      assert.deepEqual(await found(client), []);
    }));

  it('removals of most children are held until two further reads of the source confirm them', () =>
    staged(async ({ client, clock, start }) => {
      const said = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`default/s${index}`, 'one']));
      const { children, say } = start({ said });
      await clock.advance(1_000);
      await say({});
      assert.equal(children.held, 40);
      children.confirmed();
      await clock.advance(1_000);
      assert.equal((await found(client)).length, 20);
      children.confirmed();
      await clock.advance(1_000);
      assert.equal((await found(client)).length, 0);
    }));
});

it('over random objects, names and owners nothing that we did not create is deleted or changed', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    await staged(async ({ client, clock, start }) => {
      const random = createRandom(seed);
      const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
      const foreign = new Map<string, ConfigMap>();
      for (const name of names.filter(() => random.chance(0.6))) {
        const manager = random.pick(['kubectl', MANAGER]);
        const label = random.pick(['east', 'west', undefined]);
        const isMarked = random.chance(0.5);
        const object: ConfigMap = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: {
            namespace: 'default',
            name,
            ...(label !== undefined && { labels: { [LABEL]: label } }),
            ...(isMarked && { annotations: { [MARK]: 'yes' } }),
          },
          data: { seed: String(seed) },
        };
        const created = await client.create(ConfigMap, object, { fieldManager: manager });
        // Only objects with our program's mark are ours to remove. An object with our label under a wanted name is taken over, and marked
        // then.
        if (label !== 'east' || !isMarked || manager !== MANAGER) foreign.set(name, created);
      }
      const everWanted = new Set<string>();
      const wanted = () => {
        const some = names.filter(() => random.chance(0.5));
        for (const name of some) everWanted.add(name);
        return Object.fromEntries(some.map((name) => [`default/${name}`, random.pick(['x', 'y'])]));
      };
      const running = start({ said: wanted() });
      for (let step = 0; step < 5; step++) {
        await clock.advance(random.integer(1, 30_000));
        await running.say(wanted());
      }
      await running.say({});
      running.children.confirmed();
      running.children.confirmed();
      await clock.advance(600_000);
      for (const [name, before] of foreign) {
        if (before.metadata.labels?.[LABEL] === 'east' && everWanted.has(name)) continue;
        assert.deepEqual(await client.find(ConfigMap, { namespace: 'default', name }), before, `seed ${seed}: ${name}`);
      }
      const left = (await client.list(ConfigMap, { namespace: 'default', labelSelector: `${LABEL}=east` })).items;
      const isOurs = ({ metadata }: ConfigMap) => !foreign.has(metadata.name ?? '');
      assert.deepEqual(left.filter(isOurs), [], `seed ${seed}: all of ours is gone`);
    });
  }
});
