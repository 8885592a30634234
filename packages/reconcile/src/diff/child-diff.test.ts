import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject } from '@capstan/kube';
import {
  HELD_ANNOTATION,
  OWNER_ANNOTATION,
  PAUSED_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '../marks.ts';
import { apply, type Child } from '../plan/index.ts';
import { bodyOf, configMap, metadata, verdict, withEntry } from './child-diff.test-support.ts';
import { entryFor, live, OWNED, ownershipOf, type Scene, theirs, without } from './diff.test-support.ts';
import type { ApplyWrite } from './writes.ts';

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

/** The child as it is once it has been applied. */
const applied = (child: Child, scene: Scene = {}) => live(bodyOf(child, [], scene));

const annotated = <T extends KubeObject>(object: T, annotations: Record<string, string>): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
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
