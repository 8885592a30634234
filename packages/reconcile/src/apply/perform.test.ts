import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Namespace, Secret } from '@capstan/kube';
import { type ChildWrite } from '../diff/index.ts';
import { CAUSE_ANNOTATION, HELD_ANNOTATION } from '../marks.ts';
import { granted } from '../ownership/ownership.test-support.ts';
import { apply, type Child, createOnly, type Minter, mint, patch, remove, share } from '../plan/index.ts';
import { failing, MANAGER } from './apply.test-support.ts';
import { LeaseLost } from './outcome.ts';
import { at, configMap, staged } from './perform.test-support.ts';
import { perform, rehearse } from './perform.ts';
import { type Performance } from './sending.ts';

describe('an apply', () => {
  const child = (value: string) => apply(ConfigMap, { metadata: at('a'), data: { x: value } });

  test('makes a child, shows it to the caches, and says why', () =>
    staged(async ({ client, performance, writeFor, shown }) => {
      assert.equal(await perform(writeFor(child('1')), performance), true);
      const created = await client.get(ConfigMap, at('a'));
      assert.deepEqual(created.data, { x: '1' });
      assert.equal(created.metadata.annotations?.[CAUSE_ANNOTATION], performance.cause);
      assert.equal(created.metadata.managedFields?.[0]?.manager, MANAGER);
      assert.deepEqual(shown, ['+ ConfigMap default/a']);
    }));

  test('forces fields that a user took', () =>
    staged(async ({ client, performance, writeFor, seen }) => {
      await perform(writeFor(child('1')), performance);
      await client.patch(ConfigMap, at('a'), 'merge', { data: { x: 'theirs' } }, { fieldManager: 'them' });
      const live = seen.get('ConfigMap default/a') as ConfigMap;
      assert.equal(await perform(writeFor(child('2'), [live]), performance), true);
      assert.equal((await client.get(ConfigMap, at('a'))).data?.['x'], '2');
    }));

  test('does not overwrite an object that the cache did not show: it is shown to the diff instead', () =>
    staged(async ({ client, performance, writeFor, met, shown }) => {
      await client.create(ConfigMap, configMap('a', { theirs: 'yes' }));
      assert.equal(await perform(writeFor(child('1')), performance), false);
      assert.deepEqual((await client.get(ConfigMap, at('a'))).data, { theirs: 'yes' });
      assert.deepEqual([met, shown], [['ConfigMap a'], ['+ ConfigMap default/a']]);
    }));

  test('does not overwrite an object that has taken the name of the one that was seen', () =>
    staged(async ({ client, performance, writeFor, seen, shown }) => {
      await perform(writeFor(child('1')), performance);
      const live = seen.get('ConfigMap default/a') as ConfigMap;
      await client.delete(ConfigMap, at('a'));
      await client.create(ConfigMap, configMap('a', { theirs: 'yes' }));
      assert.equal(await perform(writeFor(child('2'), [live]), performance), false);
      assert.deepEqual((await client.get(ConfigMap, at('a'))).data, { theirs: 'yes' });
      assert.deepEqual(shown.slice(1), [`- ConfigMap default/a ${live.metadata.uid}`, '+ ConfigMap default/a']);
    }));

  test('into a namespace that is not there is an error, since no second look helps', () =>
    staged(async ({ performance, writeFor }) => {
      const lost = apply(ConfigMap, { metadata: { namespace: 'nowhere', name: 'a' } });
      await assert.rejects(perform(writeFor(lost), performance), /nowhere/);
    }));
});

describe('a create', () => {
  test('makes what is not there', () =>
    staged(async ({ client, performance, writeFor }) => {
      assert.equal(await perform(writeFor(createOnly(ConfigMap, { metadata: at('c') })), performance), true);
      const created = await client.get(ConfigMap, at('c'));
      assert.equal(created.metadata.annotations?.[CAUSE_ANNOTATION], performance.cause);
    }));

  test('leaves what a user was faster to make', () =>
    staged(async ({ client, target, performance, writeFor, met }) => {
      const write = writeFor(createOnly(ConfigMap, { metadata: at('c'), data: { x: 'ours' } }));
      await client.create(ConfigMap, configMap('c', { x: 'theirs' }));
      assert.equal(await perform(write, performance), false);
      // The look finds nothing, and the create is refused all the same.
      let checks = 0;
      const blind = new Proxy(client, {
        get: (real, name) =>
          name === 'find' && checks++ === 0 ? () => Promise.resolve(undefined) : (Reflect.get(real, name) as unknown),
      });
      assert.equal(await perform(write, { ...performance, target: { ...target, client: blind } }), false);
      assert.equal((await client.get(ConfigMap, at('c'))).data?.['x'], 'theirs');
      assert.deepEqual(met, ['ConfigMap c', 'ConfigMap c']);
    }));
});

describe('a create that is sent without a read before it', () => {
  const created = (unseen: 'judged' | 'refused') =>
    ({ verb: 'create', may: granted('create'), kind: ConfigMap, ref: at('a'), body: configMap('a'), unseen }) as const;

  test('makes what is not there with one request', () =>
    staged(async ({ client, performance }) => {
      const target = { ...performance.target, client: failing(client, 'find', () => new Error('no look')) };
      assert.equal(await perform(created('judged'), { ...performance, target }), true);
      assert.equal((await client.get(ConfigMap, at('a'))).metadata.name, 'a');
    }));

  test('shows the diff what has the name, or is refused', () =>
    staged(async ({ client, performance, met }) => {
      const before = await client.create(ConfigMap, configMap('a', { theirs: 'yes' }));
      assert.equal(await perform(created('judged'), performance), false);
      assert.deepEqual(met, ['ConfigMap a']);
      await assert.rejects(perform(created('refused'), performance), { code: 409 });
      assert.deepEqual(await client.get(ConfigMap, at('a')), before);
    }));
});

describe('a delete', () => {
  test('removes exactly the object that was seen', () =>
    staged(async ({ client, own, performance, writesFor, shown }) => {
      const seen = await own('x');
      const [write] = writesFor({ removals: [remove(ConfigMap, seen)] }, [seen]);
      assert.equal(await perform(write as ChildWrite, performance), true);
      assert.equal(await client.find(ConfigMap, at('x')), undefined);
      await client.create(ConfigMap, configMap('x', { new: 'one' }));
      assert.equal(await perform(write as ChildWrite, performance), false);
      assert.deepEqual((await client.get(ConfigMap, at('x'))).data, { new: 'one' });
      const tombstone = `- ConfigMap default/x ${seen.metadata.uid}`;
      assert.deepEqual(shown, [tombstone, tombstone, '+ ConfigMap default/x']);
    }));

  test('a delete of an object that is gone already does nothing', () =>
    staged(async ({ client, own, performance, writesFor, shown }) => {
      const seen = await own('x');
      const [write] = writesFor({ removals: [remove(ConfigMap, seen)] }, [seen]);
      await client.delete(ConfigMap, at('x'));
      assert.equal(await perform(write as ChildWrite, performance), false);
      assert.deepEqual(shown, [`- ConfigMap default/x ${seen.metadata.uid}`]);
    }));

  test('a delete of an object that lingers shows it as it goes', () =>
    staged(async ({ own, performance, writesFor, seen }) => {
      const held = await own('x', { finalizers: ['a.dev/b'] });
      const [write] = writesFor({ removals: [remove(ConfigMap, held)] }, [held]);
      assert.equal(await perform(write as ChildWrite, performance), true);
      assert.ok(seen.get('ConfigMap default/x')?.metadata.deletionTimestamp);
    }));

  test('a delete of an object that has changed since is judged again, and made while it is still ours', () =>
    staged(async ({ client, own, performance, writesFor }) => {
      const seen = await own('x');
      const [write] = writesFor({ removals: [remove(ConfigMap, seen)] }, [seen]);
      await client.patch(ConfigMap, at('x'), 'merge', { data: { more: 'of it' } });
      assert.equal(await perform(write as ChildWrite, performance), true);
      assert.equal(await client.find(ConfigMap, at('x')), undefined);
    }));

  test('a delete of an object that another controller has taken since does nothing', () =>
    staged(async ({ client, own, performance, writesFor }) => {
      const seen = await own('x');
      const [write] = writesFor({ removals: [remove(ConfigMap, seen)] }, [seen]);
      const other = await client.create(ConfigMap, configMap('other'));
      const reference = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'other',
        uid: other.metadata.uid,
        controller: true,
      };
      await client.patch(ConfigMap, at('x'), 'merge', { metadata: { ownerReferences: [reference] } });
      assert.equal(await perform(write as ChildWrite, performance), false);
      assert.ok(await client.find(ConfigMap, at('x')));
    }));
});

describe('a hold', () => {
  const hold: ChildWrite = { verb: 'hold', kind: ConfigMap, ref: at('h'), from: 'v1.x' };

  test('writes down from what a user rolled back', () =>
    staged(async ({ client, performance }) => {
      await client.create(ConfigMap, configMap('h'));
      assert.equal(await perform(hold, performance), true);
      assert.equal((await client.get(ConfigMap, at('h'))).metadata.annotations?.[HELD_ANNOTATION], 'v1.x');
    }));

  test('a hold of an object that is gone does nothing', () =>
    staged(async ({ performance }) => assert.equal(await perform(hold, performance), false)));
});

const byText = (left = '', right = '') => (left < right ? -1 : 1);

describe('a rehearsal', () => {
  test('changes nothing, and says what the server would refuse', () =>
    staged(async ({ client, performance, writeFor, writesFor, shown }) => {
      const theirs = await client.create(ConfigMap, configMap('p', { x: '1' }));
      const good = [
        writeFor(apply(ConfigMap, { metadata: at('a') })),
        writeFor(createOnly(ConfigMap, { metadata: at('c') })),
        writeFor(share(ConfigMap, { metadata: at('s') })),
        ...writesFor({ patches: [patch(ConfigMap, at('p'), [{ path: '/data/x', value: '2' }])] }, [theirs]),
        ...writesFor({ removals: [remove(ConfigMap, theirs)] }, [theirs]),
      ];
      for (const write of good) assert.equal(await rehearse(write, performance), true, write.verb);
      const names = (await client.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name);
      assert.deepEqual(
        names.toSorted(byText),
        ['kube-root-ca.crt', 'owner', 'p'].filter((name) => names.includes(name)),
      );
      assert.equal((await client.get(ConfigMap, at('p'))).data?.['x'], '1');
      assert.deepEqual(shown, []);
      const bad = apply(ConfigMap, { metadata: { ...at('a'), labels: { 'not a label': 'x' } } });
      await assert.rejects(rehearse(writeFor(bad), performance), /not a label/);
    }));

  test('sees that something stands in the way, before anything of the group is sent', () =>
    staged(async ({ client, performance, writeFor, met }) => {
      const write = writeFor(apply(ConfigMap, { metadata: at('a') }));
      await client.create(ConfigMap, configMap('a'));
      assert.equal(await rehearse(write, performance), false);
      assert.deepEqual(met, ['ConfigMap a']);
    }));

  test('a rehearsal of a cluster-scoped child works as well', () =>
    staged(async ({ performance, writeFor }) => {
      assert.equal(await rehearse(writeFor(apply(Namespace, { metadata: { name: 'n' } })), performance), true);
    }));
});

describe('when the lease is lost while a write is being prepared', () => {
  const slow: Minter<number, Secret> = {
    name: 'slow',
    valid: () => false,
    make: () => Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { created: 'bm93' } }),
  };

  /** A performance that leads until the lease is lost. */
  function leading(performance: Performance) {
    let leads = true;
    return { performance: { ...performance, mayWrite: () => leads }, lose: () => (leads = false) };
  }

  /** A target whose client loses the lease with the answer to the look. */
  function losing({ target }: Performance, lose: () => void): Performance['target'] {
    const client = new Proxy(target.client, {
      get(real, name, receiver) {
        if (name !== 'find') return Reflect.get(real, name, receiver) as unknown;
        return async (...args: Parameters<typeof real.find>) => {
          const answer = await real.find(...args);
          lose();
          return answer;
        };
      },
    });
    return { ...target, client };
  }

  const children: readonly [string, Child][] = [
    ['an apply', apply(ConfigMap, { metadata: at('a'), data: { x: '1' } })],
    ['a creation', createOnly(ConfigMap, { metadata: at('a'), data: { x: '1' } })],
    ['a mint', mint(Secret, at('a'), slow, 1)],
  ];
  for (const [what, child] of children)
    test(`${what} that looked for the object first is not sent`, () =>
      staged(async ({ client, performance, writeFor }) => {
        const { performance: leased, lose } = leading(performance);
        const target = losing(performance, lose);
        await assert.rejects(perform(writeFor(child), { ...leased, target }), LeaseLost);
        assert.equal(await client.find(child.kind, at('a')), undefined);
      }));

  test('a minted object is not sent after the lease is lost, neither a new one nor a renewed one', () =>
    staged(async ({ client, performance, writeFor }) => {
      const { performance: leased, lose } = leading(performance);
      const losingMinter: typeof slow = {
        ...slow,
        make(...args) {
          lose();
          return slow.make(...args);
        },
      };
      const child = mint(Secret, at('t'), losingMinter, 1);
      await assert.rejects(perform(writeFor(child), leased), LeaseLost);
      assert.equal(await client.find(Secret, at('t')), undefined);
      await perform(writeFor(mint(Secret, at('t'), slow, 1)), performance);
      const existing = await client.get(Secret, at('t'));
      const renewal = leading(performance);
      const write = writeFor(
        mint(Secret, at('t'), { ...slow, make: (...args) => (renewal.lose(), slow.make(...args)) }, 1),
        [existing],
      );
      await assert.rejects(perform(write, renewal.performance), LeaseLost);
      assert.equal((await client.get(Secret, at('t'))).metadata.resourceVersion, existing.metadata.resourceVersion);
    }));

  test('a patch, a removal and a share are not sent', () =>
    staged(async ({ client, own, performance, writesFor, writeFor, shown }) => {
      const existing = await own('theirs');
      const lost = { ...performance, mayWrite: () => false };
      const writes = [
        ...writesFor({ patches: [patch(ConfigMap, at('theirs'), [{ path: '/data/x', value: '2' }])] }, [existing]),
        ...writesFor({ removals: [remove(ConfigMap, existing)] }, [existing]),
        writeFor(share(ConfigMap, { metadata: at('shared'), data: { y: '1' } })),
      ];
      assert.equal(writes.length, 3);
      for (const write of writes) await assert.rejects(perform(write, lost), LeaseLost);
      assert.equal(
        (await client.get(ConfigMap, at('theirs'))).metadata.resourceVersion,
        existing.metadata.resourceVersion,
      );
      assert.equal(await client.find(ConfigMap, at('shared')), undefined);
      assert.deepEqual(shown, []);
    }));
});
