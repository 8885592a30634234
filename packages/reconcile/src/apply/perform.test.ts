import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type Kind, type KubeObject, Namespace, Secret, TransportError } from '@capstan/kube';
import { childWrite } from '../diff/child-diff.ts';
import { inputOf } from '../diff/diff.test-support.ts';
import { type ChildWrite, diff, type MintWrite, type PatchWrite, type WithdrawWrite } from '../diff/index.ts';
import { inventoryOf, sharingManager } from '../inventory.ts';
import { CAUSE_ANNOTATION, HELD_ANNOTATION, INVENTORY_LABEL } from '../marks.ts';
import { granted } from '../ownership/ownership.test-support.ts';
import {
  apply,
  type Child,
  createOnly,
  type MintContext,
  type Minter,
  mint,
  patch,
  plan,
  remove,
  share,
} from '../plan/index.ts';
import { failing, MANAGER, onCluster, ownershipOf, type Place } from './apply.test-support.ts';
import { LeaseLost, WriteConflict } from './outcome.ts';
import { type Performance, perform, rehearse } from './perform.ts';

const at = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: at(name),
  data,
});

interface Stage extends Place {
  readonly met: string[];
  readonly performance: Performance;
  /** A child of the owner that the reconciler created. */
  own(name: string, metadata?: KubeObject['metadata']): Promise<ConfigMap>;
  /** Returns the remaining write for a child, given the existing objects. */
  writeFor(child: Child, objects?: readonly KubeObject[]): ChildWrite;
  /** Returns the remaining writes for a plan, given the existing objects. */
  writesFor(input: Parameters<typeof plan>[0], objects: readonly KubeObject[]): readonly ChildWrite[];
}

/** Everything is planned for a ConfigMap named owner. */
function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  return onCluster(async (place) => {
    const ownership = ownershipOf(ConfigMap, await place.client.create(ConfigMap, configMap('owner')));
    const met: string[] = [];
    const performance: Performance = {
      target: place.target,
      manager: MANAGER,
      meetForeign: (kind: Kind, object) => met.push(`${kind.kind} ${object.metadata.name}`),
      mayWrite: () => true,
      cause: '{"why":"a test"}',
      clock: place.clock,
      signal: new AbortController().signal,
    };
    await check({
      ...place,
      met,
      performance,
      own: (name, metadata = {}) =>
        place.client.create(
          ConfigMap,
          {
            ...configMap(name),
            metadata: { ...at(name), ...metadata, labels: { [INVENTORY_LABEL]: ownership.inventory } },
          },
          { fieldManager: MANAGER },
        ),
      writeFor(child, objects = []) {
        const { write } = childWrite(child, inputOf({ ownership, objects }));
        assert.ok(write, 'there is something to write');
        return write;
      },
      writesFor: (input, objects) =>
        diff(inputOf({ ownership, objects, plan: plan(input) })).groups.flatMap(({ writes }) => writes),
    });
  });
}

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
