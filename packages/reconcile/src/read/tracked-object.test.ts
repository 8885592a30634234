import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine } from '../engine/index.ts';
import { trackedObject } from './tracked-object.ts';

type Site = KubeObject & { spec?: { host: string }; status?: { phase: string }; data?: object };

const site = (metadata: KubeObject['metadata'] = {}, rest: object = { spec: { host: 'a' } }): Site => ({
  apiVersion: 'v1',
  kind: 'Site',
  metadata: { namespace: 'default', name: 's', uid: 'u', generation: 1, resourceVersion: '1', ...metadata },
  ...rest,
});

/** How often a reader that reads the object in this way runs, when it changes from one to the other. */
function runsFor(check: (object: Site) => unknown, before: Site, after: Site | undefined): number {
  const engine = createEngine({ clock: createVirtualClock() });
  const table = engine.table<KubeObject>({ name: 'Site' });
  table.synced();
  let runs = 0;
  const reader = engine.derive<unknown>({
    name: 'reader',
    compute(key, tracker) {
      runs++;
      const object = trackedObject(tracker, table, key);
      return object === undefined ? null : (check(object) ?? null);
    },
  });
  table.put('default/s', before);
  engine.hold(reader, 'default/s');
  engine.flushSync();
  runs = 0;
  if (after === undefined) table.delete('default/s');
  else table.put('default/s', after);
  engine.flushSync();
  return runs;
}

const nothing = () => 'nothing';

describe('a reconciler is woken by', () => {
  const always: [what: string, before: Site, after: Site | undefined][] = [
    ['a new generation', site(), site({ generation: 2 })],
    ['its deletion', site(), site({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['its end', site(), undefined],
    ['another object of its name', site(), site({ uid: 'v' })],
    [
      'new content of a kind without generations',
      site({ generation: undefined as never }, { data: { a: 1 } }),
      site({ generation: undefined as never }, { data: { a: 2 } }),
    ],
  ];
  for (const [what, before, after] of always) test(what, () => assert.equal(runsFor(nothing, before, after), 1));

  const onceRead: [what: string, check: (object: Site) => unknown, after: Site][] = [
    ['labels', ({ metadata }) => metadata.labels, site({ labels: { a: 'b' } })],
    ['annotations', ({ metadata }) => metadata.annotations, site({ annotations: { a: 'b' } })],
    ['finalizers', ({ metadata }) => metadata.finalizers, site({ finalizers: ['a'] })],
    ['owner references', ({ metadata }) => metadata.ownerReferences, site({ ownerReferences: [] })],
    ['its version', ({ metadata }) => metadata.resourceVersion, site({ resourceVersion: '2' })],
    ['its status', ({ status }) => status, { ...site(), status: { phase: 'New' } }],
  ];
  for (const [what, check, after] of onceRead) {
    test(`${what}, once read, and not before`, () => {
      assert.equal(runsFor(check, site(), after), 1);
      assert.equal(runsFor(nothing, site(), after), 0);
      assert.equal(runsFor(check, site(), site()), 0);
    });
  }

  test('nothing that it read of the one, when only the other changes', () => {
    const after = { ...site({ annotations: { a: 'b' }, resourceVersion: '2' }), status: { phase: 'New' } };
    assert.equal(
      runsFor(({ metadata }) => metadata.labels, site(), after),
      0,
    );
  });

  test('no write of a status to a kind without generations', () => {
    const before = site({ generation: undefined as never }, { data: { a: 1 } });
    assert.equal(runsFor(nothing, before, { ...before, status: { phase: 'New' } }), 0);
  });

  test('no managed fields, which cannot be read', () => {
    assert.equal(
      runsFor((object) => JSON.stringify(object.metadata.name), site(), site({ managedFields: [] })),
      0,
    );
  });
});

describe('a reconciler sees of its object', () => {
  test('all of it, as of one wave', () => {
    const engine = createEngine({ clock: createVirtualClock() });
    const table = engine.table<KubeObject>({ name: 'Site' });
    table.synced();
    const before = {
      ...site({ labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['f'] }),
      status: { phase: 'New' },
    };
    table.put('default/s', before);
    let seen: unknown;
    const reader = engine.derive<null>({
      name: 'reader',
      compute(key, tracker) {
        seen = structuredClone({ ...trackedObject(tracker, table, key) });
        return null;
      },
    });
    engine.hold(reader, 'default/s');
    engine.flushSync();
    const { ownerReferences: _none, creationTimestamp: _unset, ...metadata } = (seen as Site).metadata;
    assert.deepEqual({ ...(seen as Site), metadata }, before);
  });

  test('nothing when it is not there', () => {
    assert.equal(runsFor(nothing, site(), undefined), 1);
  });
});
