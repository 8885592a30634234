import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject, type ManagedFieldsEntry, Secret } from '@capstan/kube';
import { sharingManager } from '../inventory.ts';
import {
  HELD_ANNOTATION,
  INVENTORY_LABEL,
  OWNER_ANNOTATION,
  PAUSED_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '../marks.ts';
import { apply, type Child, createOnly, keep, type Minter, mint, share } from '../plan/index.ts';
import { childWrite } from './child-diff.ts';
import {
  entryFor,
  inputOf,
  live,
  MANAGER,
  OWNED,
  ownershipOf,
  type Scene,
  theirs,
  without,
} from './diff.test-support.ts';
import type { ApplyWrite, MintWrite, ShareWrite } from './writes.ts';

const metadata = { name: 'a', namespace: 'default' };
const configMap = (data: Record<string, string> = { x: '1' }) => apply(ConfigMap, { metadata, data });
const deployment = (image: string, replicas = 1, yields = ['spec.replicas']) =>
  apply(
    Deployment,
    {
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: { app: 'a' } },
        template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main', image }] } },
      },
    },
    { yields },
  );

const verdict = (child: Child, objects: readonly KubeObject[] = [], scene: Scene = {}) =>
  childWrite(child, inputOf({ ...scene, objects }));
const bodyOf = (child: Child, objects: readonly KubeObject[] = [], scene: Scene = {}) =>
  (verdict(child, objects, scene).write as ApplyWrite).body;
/** The child as it is once it has been applied. */
const applied = (child: Child, scene: Scene = {}) => live(bodyOf(child, [], scene));
const annotated = <T extends KubeObject>(object: T, annotations: Record<string, string>): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
});
const withEntry = <T extends KubeObject>(object: T, entry: ManagedFieldsEntry): T => ({
  ...object,
  metadata: { ...object.metadata, managedFields: [entry] },
});

describe('an applied child', () => {
  test('an applied child that is not there is created, after the server was asked for one of that name', () => {
    const { write, note, waitsFor } = verdict(configMap());
    assert.deepEqual(
      [write?.verb, (write as ApplyWrite).exists, note, waitsFor],
      ['apply', false, undefined, undefined],
    );
  });

  test('an applied child that was applied as planned is settled, whatever the server made of its values', () => {
    const there = applied(configMap());
    assert.deepEqual(verdict(configMap(), [there]), {});
    const normalised = { ...there, data: { x: 'normalised', defaulted: 'by the server' }, status: { phase: 'Odd' } };
    assert.deepEqual(verdict(configMap(), [normalised]), {});
  });

  test('an applied child that another object controls names us as a plain owner, and stays ours without its label', () => {
    const revision = { apiVersion: 'x/v1', kind: 'Revision', name: 'r', uid: 'uid-of-r', controller: true };
    const child = apply(ConfigMap, { metadata: { ...metadata, ownerReferences: [revision] } }, { controls: false });
    const body = bodyOf(child);
    assert.deepEqual(
      body.metadata.ownerReferences?.map(({ name, controller }) => [name, controller]),
      [
        ['r', true],
        [OWNED.object.metadata.name, false],
      ],
    );
    const there = live(body);
    assert.deepEqual(verdict(child, [there]), {});
    const unlabelled = { ...there, metadata: { ...there.metadata, labels: {} } };
    assert.deepEqual(verdict(child, [unlabelled]), {});
  });

  test('an applied child that adopts takes over an object without a controller, and nothing else', () => {
    const foreign = theirs({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    const adopting = apply(ConfigMap, { metadata, data: { x: '1' } }, { adopts: true });
    assert.equal(verdict(configMap(), [foreign]).note?.about, 'conflict');
    assert.equal(verdict(adopting, [foreign]).write?.verb, 'apply');
    const owner = { apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'uid-of-o', controller: true };
    const controlled = { ...foreign, metadata: { ...foreign.metadata, ownerReferences: [owner] } };
    assert.equal(verdict(adopting, [controlled]).note?.about, 'conflict');
  });

  test('an applied child that adopts references to its owner takes over the object of another operator for it, and nothing else', () => {
    const foreign = theirs({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    const adopting = apply(ConfigMap, { metadata, data: { x: '1' } }, { adopts: 'referring' });
    assert.equal(verdict(adopting, [foreign]).note?.about, 'conflict');
    const { uid = '', name = '' } = OWNED.object.metadata;
    const referring = (reference: object) => ({
      ...foreign,
      metadata: { ...foreign.metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Any', name, uid, ...reference }] },
    });
    assert.equal(verdict(adopting, [referring({})]).write?.verb, 'apply');
    assert.equal(verdict(configMap(), [referring({})]).note?.about, 'conflict');
    assert.equal(verdict(adopting, [referring({ uid: 'another' })]).note?.about, 'conflict');
  });

  test('an applied child with a new plan is applied, under the uid that was seen', () => {
    const { write, note } = verdict(configMap({ x: '2' }), [applied(configMap())]);
    assert.deepEqual([write?.verb, (write as ApplyWrite).exists, note], ['apply', true, undefined]);
    assert.equal((write as ApplyWrite).body.metadata.uid, 'uid-of-a');
  });

  test('loses a field that is no longer planned, since the digest shows it even after a restart', () => {
    const there = applied(configMap({ x: '1', y: '2' }));
    assert.deepEqual((bodyOf(configMap(), [there]) as ConfigMap).data, { x: '1' });
  });

  test('one of whose fields a user took is applied again, and that is reported', () => {
    const child = configMap({ x: '1', y: '2' });
    const entry = without(entryFor(bodyOf(child)), 'f:data/f:x');
    const { write, note, waitsFor } = verdict(child, [withEntry(applied(child), entry)]);
    assert.deepEqual((write as ApplyWrite).taken, ['data.x']);
    assert.equal(note?.message, 'ConfigMap default/a: data.x changed by another field manager and taken back');
    assert.equal(waitsFor, undefined);
  });

  test('an applied child that lost our label is found by its owner reference, and gets it back', () => {
    const { labels: _gone, ...rest } = applied(configMap()).metadata;
    const { write } = verdict(configMap(), [{ ...applied(configMap()), metadata: rest }]);
    assert.equal(write, undefined, 'our entry still has the label in this picture');
    const entry = without(entryFor(bodyOf(configMap())), 'f:metadata/f:labels');
    const again = verdict(configMap(), [withEntry({ ...applied(configMap()), metadata: rest }, entry)]);
    assert.deepEqual((again.write as ApplyWrite).taken, ['metadata.labels']);
  });

  test('an applied child that is being deleted is waited for, with all that comes after it', () => {
    const leaving = live(bodyOf(configMap()), { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.deepEqual(verdict(configMap({ x: '2' }), [leaving]), {
      waitsFor: 'ConfigMap default/a to be deleted',
      note: { about: 'waiting', message: 'ConfigMap default/a to be deleted' },
    });
  });

  test('an applied child that is paused is left alone, and that is reported', () => {
    const there = annotated(applied(configMap()), { [PAUSED_ANNOTATION]: 'true' });
    const { write, note, waitsFor } = verdict(configMap({ x: '2' }), [there]);
    assert.deepEqual([write, note?.about, waitsFor], [undefined, 'paused', undefined]);
    assert.ok(verdict(configMap({ x: '2' }), [annotated(there, { [PAUSED_ANNOTATION]: 'no' })]).write);
  });
});

describe('a child that is another owner’s is a conflict, not a write, and holds back what comes after it', () => {
  const other = ownershipOf('other');
  const controlled = (uid: string) =>
    theirs({
      ...configMap().object,
      metadata: {
        ...metadata,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 's', uid, controller: true }],
      },
    });
  const cases: [what: string, object: KubeObject, expected: RegExp][] = [
    ['made by hand', theirs(configMap().object), /was not created for this resource/],
    [
      'planned for another owner',
      live(bodyOf(configMap(), [], { ownership: other })),
      /another owner of this control plane/,
    ],
    ['controlled by another object', controlled('other'), /is controlled by Secret s/],
    [
      'made for another owner whose label was taken off',
      theirs({
        ...configMap().object,
        metadata: {
          ...metadata,
          annotations: { [OWNER_ANNOTATION]: 'test.web ConfigMap default/other' },
          managedFields: [entryFor(bodyOf(configMap()))],
        },
      }),
      /another owner/,
    ],
  ];
  for (const [what, object, expected] of cases) {
    test(what, () => {
      const { write, note, waitsFor } = verdict(configMap(), [object]);
      assert.equal(write, undefined);
      assert.equal(note?.about, 'conflict');
      assert.match(note.message, expected);
      assert.equal(waitsFor, note.message);
    });
  }

  test('and is ours when we made it, even if nothing but our field manager says so', () => {
    const bare = theirs({
      ...configMap().object,
      metadata: { ...metadata, managedFields: [entryFor(bodyOf(configMap()))] },
    });
    assert.equal(verdict(configMap(), [bare]).write?.verb, 'apply');
    assert.equal(verdict(configMap(), [controlled('uid-owner')]).write?.verb, 'apply');
  });
});

describe('a yielded field', () => {
  const there = applied(deployment('a:1', 1));
  const entry = entryFor(bodyOf(deployment('a:1', 1)));

  test('is sent while it is ours', () => {
    assert.equal((bodyOf(deployment('a:2', 3), [there]) as Deployment).spec?.replicas, 3);
  });

  test('a yielded field that a user took is neither taken back nor sent with other changes', () => {
    const scaled = withEntry(there, without(entry, 'f:spec/f:replicas'));
    assert.deepEqual(verdict(deployment('a:1', 1), [scaled]), {});
    const { spec } = bodyOf(deployment('a:2', 1), [scaled]) as Deployment;
    assert.equal(spec?.replicas, undefined);
    assert.ok(spec?.selector);
  });

  test('is not sent either when a user took all that is around it', () => {
    const emptied = withEntry(there, without(entry, 'f:spec'));
    const { spec } = bodyOf(deployment('a:1', 1), [emptied]) as Deployment;
    assert.equal(spec?.replicas, undefined);
    assert.equal(spec?.template.spec?.containers[0]?.image, 'a:1');
  });

  test('is recognised among many taken fields', () => {
    const data = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, 'x']));
    const child = apply(ConfigMap, { metadata, data }, { yields: ['data.k19'] });
    const body = live(bodyOf(child));
    const names = Object.keys(data).map((name) => `f:data/f:${name}`);
    const taken = withEntry(body, without(entryFor(bodyOf(child)), ...names.slice(1)));
    assert.deepEqual(Object.keys((bodyOf(child, [taken]) as ConfigMap).data ?? {}).length, 19);
  });

  test('below which a user took a part is sent but for that part', () => {
    const child = apply(ConfigMap, { metadata, data: { x: '1', y: '1' } }, { yields: ['data'] });
    const taken = withEntry(live(bodyOf(child)), without(entryFor(bodyOf(child)), 'f:data/f:x'));
    assert.deepEqual(verdict(child, [taken]), {});
    const next = apply(
      ConfigMap,
      { metadata: { ...metadata, labels: { new: 'x' } }, data: { x: '1', y: '1' } },
      { yields: ['data'] },
    );
    assert.deepEqual((bodyOf(next, [taken]) as ConfigMap).data, { y: '1' });
  });
});

describe('a pod template that a user rolled back', () => {
  const first = bodyOf(deployment('a:1'));
  const second = bodyOf(deployment('a:2'), [live(first)]);
  const template = (body: KubeObject) => (body as Deployment).spec?.template;
  const markOf = (body: KubeObject) => template(body)?.metadata?.annotations?.[TEMPLATE_ANNOTATION] ?? '';
  /** The state after `kubectl rollout undo`: the earlier template, its mark taken from us. */
  const undone = withEntry(
    { ...live(second), spec: { ...(second as Deployment).spec, template: template(first) } } as Deployment,
    without(entryFor(second), `f:spec/f:template/f:metadata/f:annotations`),
  );

  test('is recorded and reported, and holds back what comes after it', () => {
    const { write, note, waitsFor } = verdict(deployment('a:2'), [undone]);
    assert.equal(write?.verb, 'hold');
    assert.equal(note?.about, 'rolledBack');
    assert.equal(waitsFor, note?.message);
  });

  test('is left so once that is written down', () => {
    const { write, note } = verdict(deployment('a:2'), [annotated(undone, { [HELD_ANNOTATION]: markOf(second) })]);
    assert.deepEqual([write, note?.about], [undefined, 'rolledBack']);
  });

  test('is applied over when the inputs change again, before or after it was written down', () => {
    assert.equal(verdict(deployment('a:3'), [undone]).write?.verb, 'apply');
    assert.equal(
      verdict(deployment('a:3'), [annotated(undone, { [HELD_ANNOTATION]: 'v1.older' })]).write?.verb,
      'apply',
    );
  });

  test('is recognised when the rollback brought the annotations of that time back, and held until the inputs change', () => {
    const then = annotated(undone, { [TEMPLATE_HISTORY_ANNOTATION]: markOf(first) });
    assert.equal(verdict(deployment('a:2'), [then]).write?.verb, 'hold');
    const held = annotated(then, { [HELD_ANNOTATION]: markOf(second) });
    assert.equal(verdict(deployment('a:2'), [held]).write, undefined);
    assert.equal(verdict(deployment('a:3'), [held]).write?.verb, 'apply');
  });

  test('is not one that we have not applied yet', () => {
    const { write, note } = verdict(deployment('a:3'), [live(second)]);
    assert.deepEqual([write?.verb, note], ['apply', undefined]);
  });

  test('is not one that a user merely restarted', () => {
    const annotations = { [TEMPLATE_ANNOTATION]: markOf(second), 'kubectl.kubernetes.io/restartedAt': 'now' };
    const spec = { ...(second as Deployment).spec, template: { ...template(second), metadata: { annotations } } };
    const { write, note } = verdict(deployment('a:1'), [{ ...live(second), spec } as Deployment]);
    assert.deepEqual([write?.verb, note], ['apply', undefined]);
  });

  test('is not a template that we never applied: such a change by a user is reverted', () => {
    const metadata = { annotations: { [TEMPLATE_ANNOTATION]: 'v1.unknown' } };
    const spec = { ...undone.spec, template: { ...undone.spec?.template, metadata } };
    assert.equal(verdict(deployment('a:2'), [{ ...undone, spec } as Deployment]).write?.verb, 'apply');
  });
});

describe('a child that is only created', () => {
  test('is created when it is not there, marked as ours', () => {
    const { write } = verdict(createOnly(ConfigMap, { metadata, data: {} }));
    assert.equal(write?.verb, 'create');
    assert.equal('body' in write && write.body.metadata.labels?.[INVENTORY_LABEL], OWNED.inventory);
  });

  test('a child that is only created without being ours carries no mark', () => {
    const { write } = verdict(createOnly(ConfigMap, { metadata }, { owned: false }));
    assert.deepEqual(write?.verb === 'create' && write.body.metadata, metadata);
  });

  test('is never changed, no matter which client created it', () => {
    assert.deepEqual(verdict(createOnly(ConfigMap, { metadata, data: { x: '2' } }), [theirs(configMap().object)]), {});
  });
});

test('a kept child is neither changed nor looked at', () => {
  assert.deepEqual(verdict(keep(ConfigMap, metadata), [theirs(configMap().object)]), {});
});

describe('a minted child', () => {
  const token: Minter<{ size: number }, Secret> = {
    name: 'token',
    valid: (existing, { size }, { reached }) => existing.data?.['size'] === String(size) && !reached(1000),
    make: () => assert.fail('a diff makes nothing'),
  };
  const child = (size = 1) => mint(Secret, metadata, token, { size });
  const secret = (size: number, labels?: Record<string, string>) => {
    const data = { size: String(size) };
    const common = { apiVersion: 'v1', kind: 'Secret', data };
    return labels === undefined
      ? live({ ...common, metadata: { ...metadata, labels: { [INVENTORY_LABEL]: OWNED.inventory } } })
      : theirs({ ...common, metadata: { ...metadata, labels } });
  };

  test('is made when it is not there', () => {
    assert.deepEqual(
      [(verdict(child()).write as MintWrite).verb, (verdict(child()).write as MintWrite).existing],
      ['mint', undefined],
    );
  });

  test('stays while it is valid, and nothing of it is compared', () => {
    assert.deepEqual(verdict(child(), [{ ...secret(1), data: { size: '1', key: 'anything' } } as Secret]), {});
  });

  test('is recreated when it no longer serves, or its time has come, in place of the one that was judged', () => {
    for (const [objects, scene] of [
      [[secret(2)], {}],
      [[secret(1)], { now: 1000 }],
    ] as const) {
      const { write } = verdict(child(), objects, scene);
      assert.deepEqual((write as MintWrite).existing, { uid: 'uid-of-a', resourceVersion: '7' });
    }
  });

  test('a minted child that a user brought along is used while it is valid, and never replaced', () => {
    assert.deepEqual(verdict(child(), [secret(1, {})]), {});
    const { write, note, waitsFor } = verdict(child(), [secret(2, {})]);
    assert.deepEqual([write, note?.about, waitsFor], [undefined, 'conflict', note?.message]);
  });

  test('a minted child that carries our label and was not created by us is not replaced', () => {
    const { write, note } = verdict(child(), [secret(2, { [INVENTORY_LABEL]: OWNED.inventory })]);
    assert.deepEqual([write, note?.about], [undefined, 'conflict']);
  });

  test('a minted child of another owner is a conflict even while it is valid: it would go with that one', () => {
    const { write, note } = verdict(child(), [secret(1, { [INVENTORY_LABEL]: ownershipOf('other').inventory })]);
    assert.deepEqual([write, note?.about], [undefined, 'conflict']);
  });
});

describe('a shared object', () => {
  const child = (value = 'x') => share(ConfigMap, { metadata: { ...metadata, labels: { lent: value } } });
  const manager = sharingManager(MANAGER, OWNED.inventory);
  const shared = live(bodyOf(child()), {}, manager);

  test('gets our fields under a manager of the owner’s own, and no owner', () => {
    const write = verdict(child(), [theirs(configMap().object)]).write as ShareWrite;
    assert.deepEqual([write.verb, write.manager], ['share', manager]);
    assert.notEqual(manager, sharingManager(MANAGER, ownershipOf('other').inventory));
    assert.equal(write.body.metadata.ownerReferences, undefined);
    assert.equal(write.body.metadata.labels?.[INVENTORY_LABEL], undefined);
  });

  test('is settled once it has them', () => {
    assert.deepEqual(verdict(child(), [shared]), {});
    assert.equal(verdict(child('y'), [shared]).write?.verb, 'share');
  });

  test('keeps what another client has taken, and that is reported', () => {
    const taken = withEntry(shared, without(entryFor(bodyOf(child()), manager), 'f:metadata/f:labels'));
    const { write, note } = verdict(child(), [taken]);
    assert.equal(write, undefined);
    assert.equal(note?.message, 'ConfigMap default/a: metadata.labels now set by another field manager');
  });

  test('a shared object that was refused is asked for again when the object has changed, not when its status or version has', () => {
    const seen = (object: KubeObject) => (verdict(child(), [object]).write as ShareWrite).seen;
    const object = theirs(configMap().object);
    assert.equal(
      seen({ ...object, metadata: { ...object.metadata, resourceVersion: '8' }, status: {} } as KubeObject),
      seen(object),
    );
    assert.notEqual(seen({ ...object, metadata: { ...object.metadata, labels: { a: 'b' } } }), seen(object));
    assert.notEqual(seen({ ...object, data: {} } as KubeObject), seen(object));
  });
});
