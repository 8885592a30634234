import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject, Secret, TransportError } from '@capstan/kube';
import { childWrite } from '../diff/child-diff.ts';
import { inputOf } from '../diff/diff.test-support.ts';
import { type ChildWrite, type MintWrite, type PatchWrite, type WithdrawWrite } from '../diff/index.ts';
import { inventoryOf, sharingManager } from '../inventory.ts';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { granted } from '../ownership/ownership.test-support.ts';
import { type MintContext, type Minter, mint, patch, share } from '../plan/index.ts';
import { failing, MANAGER, ownershipOf } from './apply.test-support.ts';
import { WriteConflict } from './outcome.ts';
import { at, configMap, staged } from './perform.test-support.ts';
import { perform, rehearse } from './perform.ts';

describe('a merge', () => {
  const merged = ({ metadata }: KubeObject, data: Record<string, unknown>) =>
    ({
      verb: 'merge',
      may: granted('update'),
      kind: ConfigMap,
      ref: at('a'),
      uid: metadata.uid ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
      patch: { data, metadata: { labels: { ours: 'yes' } } },
    }) as const;

  test('changes the fields that it names, under our manager', () =>
    staged(async ({ client, performance, shown }) => {
      const existing = await client.create(ConfigMap, configMap('a', { x: '1', theirs: 'yes', old: '1' }));
      assert.equal(await perform(merged(existing, { x: '2', old: null }), performance), true);
      const { data, metadata } = await client.get(ConfigMap, at('a'));
      assert.deepEqual(data, { x: '2', theirs: 'yes' });
      assert.deepEqual(metadata.labels, { ours: 'yes' });
      assert.ok(metadata.managedFields?.some(({ manager }) => manager === MANAGER));
      assert.deepEqual(shown, ['+ ConfigMap default/a']);
    }));

  test('a merge of an object that moved on, or is gone, is not made: the caches learn of it', () =>
    staged(async ({ client, performance, shown }) => {
      const existing = await client.create(ConfigMap, configMap('a', { x: '1' }));
      await client.patch(ConfigMap, at('a'), 'merge', { data: { x: 'theirs' } });
      assert.equal(await perform(merged(existing, { x: '2' }), performance), false);
      assert.equal((await client.get(ConfigMap, at('a'))).data?.['x'], 'theirs');
      await client.delete(ConfigMap, at('a'));
      assert.equal(await perform(merged(existing, { x: '2' }), performance), false);
      assert.equal(await client.find(ConfigMap, at('a')), undefined);
      assert.deepEqual(shown, ['+ ConfigMap default/a', `- ConfigMap default/a ${existing.metadata.uid}`]);
    }));
});

describe('a mint', () => {
  let created = 0;
  const token: Minter<number, Secret> = {
    name: 'token',
    valid: (existing, serial) => existing.data?.['serial'] === btoa(String(serial)),
    make: (serial, existing) => {
      created++;
      const data = { serial: btoa(String(serial)), before: existing?.data?.['serial'] ?? '' };
      return Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: { labels: { created: 'here' } }, data });
    },
  };
  const child = (serial: number) => mint(Secret, at('t'), token, serial);

  test('makes it once, marked as ours', () =>
    staged(async ({ client, performance, writeFor }) => {
      assert.equal(await perform(writeFor(child(1)), performance), true);
      const secret = await client.get(Secret, at('t'));
      assert.equal(secret.data?.['serial'], btoa('1'));
      assert.ok(inventoryOf(secret));
      assert.equal(secret.metadata.ownerReferences?.[0]?.name, 'owner');
      assert.equal(secret.metadata.labels?.['created'], 'here');
    }));

  test('is given the time and the signal of the attempt', () =>
    staged(async ({ client, clock, performance, writeFor }) => {
      const stop = new AbortController();
      const dated: Minter<number, Secret> = {
        ...token,
        make: (_serial, _existing, context) => {
          stop.abort();
          assert.equal(context.signal.aborted, true);
          return timed(_serial, _existing, context);
        },
      };
      function timed(_serial: number, _existing: Secret | undefined, context: MintContext): Promise<Secret> {
        const data = { at: btoa(String(context.clock.now())) };
        return Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data });
      }
      await clock.advance(5000);
      const write = writeFor(mint(Secret, at('t'), dated, 1));
      await assert.rejects(perform(write, { ...performance, signal: stop.signal }), /stopped/);
      await perform(writeFor(mint(Secret, at('t'), { ...dated, make: timed }, 1)), performance);
      assert.equal((await client.get(Secret, at('t'))).data?.['at'], btoa(String(clock.now())));
    }));

  test('makes nothing when one of that name is there', () =>
    staged(async ({ client, performance, writeFor, met }) => {
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: at('t') });
      created = 0;
      assert.equal(await perform(writeFor(child(1)), performance), false);
      assert.deepEqual([created, met], [0, ['Secret t']]);
    }));

  test('replaces the one that was judged, and keeps what others have put on it', () =>
    staged(async ({ client, performance, writeFor, seen }) => {
      await perform(writeFor(child(1)), performance);
      await client.patch(Secret, at('t'), 'merge', { metadata: { labels: { theirs: 'yes' } } });
      const live = await client.get(Secret, at('t'));
      assert.equal(await perform(writeFor(child(2), [live]), performance), true);
      const renewed = await client.get(Secret, at('t'));
      assert.deepEqual(renewed.data, { serial: btoa('2'), before: btoa('1') });
      assert.equal(renewed.metadata.labels?.['theirs'], 'yes');
      assert.equal(renewed.metadata.uid, live.metadata.uid);
      assert.deepEqual(seen.get('Secret default/t'), renewed);
    }));

  test('replaces nothing that is not what was judged: it is judged again', () =>
    staged(async ({ client, performance, writeFor, seen }) => {
      await perform(writeFor(child(1)), performance);
      const judged = await client.get(Secret, at('t'));
      const write = writeFor(child(2), [judged]) as MintWrite;
      await client.patch(Secret, at('t'), 'merge', { data: { serial: btoa('3') } });
      created = 0;
      assert.equal(await perform(write, performance), false);
      assert.equal((await client.get(Secret, at('t'))).data?.['serial'], btoa('3'));
      assert.equal((seen.get('Secret default/t') as Secret).data?.['serial'], btoa('3'));
      await client.delete(Secret, at('t'));
      assert.equal(await perform(write, performance), false);
      assert.deepEqual([created, seen.has('Secret default/t')], [0, false]);
    }));
});

describe('a share', () => {
  const lent = (value: string) => share(ConfigMap, { metadata: { ...at('s'), labels: { lent: value } } });

  test('sets our fields in what is there, and withdraws them again', () =>
    staged(async ({ client, performance, writeFor, writesFor }) => {
      const theirs = await client.create(ConfigMap, configMap('s', { theirs: 'yes' }));
      assert.equal(await perform(writeFor(lent('x'), [theirs]), performance), true);
      const shared = await client.get(ConfigMap, at('s'));
      assert.equal(shared.metadata.labels?.['lent'], 'x');
      const [withdraw] = writesFor({}, [shared]);
      assert.equal(await perform(withdraw as WithdrawWrite, performance), true);
      const left = await client.get(ConfigMap, at('s'));
      assert.deepEqual(
        [left.data, left.metadata.labels, left.metadata.annotations],
        [{ theirs: 'yes' }, undefined, undefined],
      );
    }));

  test('never takes what others have set: it says who, and writes nothing', () =>
    staged(async ({ client, performance, writeFor }) => {
      const object = { ...configMap('s'), metadata: { ...at('s'), labels: { lent: 'theirs' } } };
      const theirs = await client.apply<ConfigMap>(ConfigMap, object, { fieldManager: 'them', force: false });
      for (const call of [perform, rehearse]) {
        await assert.rejects(call(writeFor(lent('x'), [theirs]), performance), (error) => {
          assert.ok(error instanceof WriteConflict);
          assert.match(error.message, /ConfigMap default\/s .*labels\.lent of them/);
          return true;
        });
      }
      assert.equal((await client.get(ConfigMap, at('s'))).metadata.labels?.['lent'], 'theirs');
    }));

  test('the shares of two owners in one object do not undo each other', () =>
    staged(async ({ client, performance, writeFor }) => {
      await client.create(ConfigMap, configMap('s'));
      await perform(writeFor(lent('x')), performance);
      const other = ownershipOf(ConfigMap, await client.create(ConfigMap, configMap('other')));
      const child = share(ConfigMap, { metadata: { ...at('s'), labels: { more: 'y' } } });
      const objects = [await client.get(ConfigMap, at('s'))];
      await perform(childWrite(child, inputOf({ ownership: other, objects })).write as ChildWrite, performance);
      const both = await client.get(ConfigMap, at('s'));
      assert.deepEqual(both.metadata.labels, { lent: 'x', more: 'y' });
      assert.deepEqual(
        childWrite(
          lent('x'),
          inputOf({ objects: [both], ownership: ownershipOf(ConfigMap, await client.get(ConfigMap, at('owner'))) }),
        ),
        {},
      );
    }));

  test('is withdrawn from no other object, and does not recreate one that is gone', () =>
    staged(async ({ client, performance, writeFor, writesFor }) => {
      await client.create(ConfigMap, configMap('s'));
      await perform(writeFor(lent('x')), performance);
      const [withdraw] = writesFor({}, [await client.get(ConfigMap, at('s'))]);
      await client.delete(ConfigMap, at('s'));
      assert.equal(await perform(withdraw as WithdrawWrite, performance), false);
      assert.equal(await client.find(ConfigMap, at('s')), undefined);
    }));

  test('a share without which the object could not be leaves its fields there, and gives up the claim', () =>
    staged(async ({ client, performance, writeFor, writesFor }) => {
      const labels = { app: 's' };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'm', image: 'i' }] } };
      const child = share(Deployment, { metadata: at('s'), spec: { selector: { matchLabels: labels }, template } });
      assert.equal(await perform(writeFor(child), performance), true);
      const shared = await client.get(Deployment, at('s'));
      const [withdraw] = writesFor({}, [shared]);
      assert.equal(await perform(withdraw as WithdrawWrite, performance), true);
      const left = await client.get(Deployment, at('s'));
      assert.equal(left.spec?.template.spec?.containers[0]?.image, 'i');
      const { manager } = withdraw as WithdrawWrite;
      assert.deepEqual(left.metadata.managedFields?.filter((entry) => entry.manager === manager) ?? [], []);
      assert.deepEqual(writesFor({}, [left]), []);
    }));

  test('has a manager that is derived from the owner’s inventory', () => {
    assert.equal(sharingManager(MANAGER, 'test-web-0123456789abcdef0123'), `${MANAGER}.0123456789abcdef0123`);
  });
});

describe('a patch', () => {
  const patches = (value: string) => ({ patches: [patch(ConfigMap, at('p'), [{ path: '/data/x', value }])] });

  test('changes the object that was seen, and says why', () =>
    staged(async ({ client, performance, writesFor }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const [write] = writesFor(patches('2'), [theirs]);
      assert.equal(await perform(write as PatchWrite, performance), true);
      const patched = await client.get(ConfigMap, at('p'));
      assert.deepEqual(patched.data, { x: '2' });
      assert.equal(patched.metadata.annotations?.[CAUSE_ANNOTATION], performance.cause);
      const [back] = writesFor({}, [patched]);
      assert.equal(await perform(back as PatchWrite, performance), true);
      const left = await client.get(ConfigMap, at('p'));
      assert.deepEqual([left.data, left.metadata.annotations ?? {}], [{ x: '1' }, {}]);
    }));

  test('says why on an object without annotations too', () =>
    staged(async ({ client, performance, writesFor }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const fields = [{ path: '/data/x', value: '2' }];
      const [write] = writesFor({ patches: [patch(ConfigMap, at('p'), fields, { restore: false })] }, [theirs]);
      await perform(write as PatchWrite, performance);
      const { metadata } = await client.get(ConfigMap, at('p'));
      assert.deepEqual(metadata.annotations, { [CAUSE_ANNOTATION]: performance.cause });
    }));

  test('a patch of an object that moved on is not made: the caches get the newer one', () =>
    staged(async ({ client, performance, writesFor, seen, shown }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const [write] = writesFor(patches('2'), [theirs]);
      await client.patch(ConfigMap, at('p'), 'merge', { data: { y: 'new' } });
      assert.equal(await perform(write as PatchWrite, performance), false);
      assert.deepEqual((seen.get('ConfigMap default/p') as ConfigMap).data, { x: '1', y: 'new' });
      await client.delete(ConfigMap, at('p'));
      assert.equal(await perform(write as PatchWrite, performance), false);
      assert.equal(shown.at(-1), `- ConfigMap default/p ${theirs.metadata.uid}`);
    }));

  test('a patch that the server refuses for its content is an error', () =>
    staged(async ({ client, performance, writesFor }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const fields = [{ path: '/metadata/labels', value: { 'not a label': 'x' } }];
      const [write] = writesFor({ patches: [patch(ConfigMap, at('p'), fields)] }, [theirs]);
      await assert.rejects(perform(write as PatchWrite, performance), /not a label/);
    }));

  test('a patch without an answer is an error, and asks nothing further', () =>
    staged(async ({ client, target, performance, writesFor, shown }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const [write] = writesFor(patches('2'), [theirs]);
      const lost = () => new TransportError('timeout', 'test');
      const broken = { ...target, client: failing(client, 'patch', lost) };
      await assert.rejects(perform(write as PatchWrite, { ...performance, target: broken }), TransportError);
      assert.deepEqual(shown, []);
    }));
});

test('a mint is not written over what another has written while it was being made', () =>
  staged(async ({ client, performance, writeFor }) => {
    const meddled: Minter<number, Secret> = {
      name: 'meddled',
      valid: () => false,
      async make(_inputs, existing) {
        if (existing !== undefined) await client.patch(Secret, at('t'), 'merge', { data: { theirs: 'eA==' } });
        return { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { created: 'bm93' } };
      },
    };
    const child = mint(Secret, at('t'), meddled, 1);
    await perform(writeFor(child), performance);
    const existing = await client.get(Secret, at('t'));
    assert.equal(await perform(writeFor(child, [existing]), performance), false);
    assert.deepEqual((await client.get(Secret, at('t'))).data, { created: 'bm93', theirs: 'eA==' });
  }));
