import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applyJsonPatch, externalKind, type KubeObject } from '@capstan/kube';
import * as fc from 'fast-check';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { type FieldValue, type Patch, patch, plan } from '../plan/index.ts';
import { inputOf, OWNED, ownershipOf, theirs } from './diff.test-support.ts';
import { diff } from './diff.ts';
import { memoryAnnotation, originalAnnotation, storedMemory } from './input.ts';
import { valueAt } from './originals.ts';
import type { PatchWrite, WriteSet } from './writes.ts';

const Route = externalKind({ group: 'test.dev', version: 'v1', kind: 'Route', plural: 'routes', scope: 'Namespaced' });
const ref = { namespace: 'default', name: 'r' };

interface Service {
  name: string;
  port?: number;
  weight?: number;
}

const route = (spec: unknown, metadata: KubeObject['metadata'] = {}) =>
  theirs({ apiVersion: 'test.dev/v1', kind: 'Route', metadata: { ...ref, ...metadata }, spec } as KubeObject);
const services = (...list: Service[]) => ({ services: list });

interface Scene {
  patches?: readonly Patch[];
  ownership?: typeof OWNED;
}

/** Returns the remaining writes for one route. */
function writesFor(target: KubeObject | undefined, { patches = [], ownership = OWNED }: Scene): WriteSet {
  return diff(inputOf({ ownership, plan: plan({ patches }), objects: target === undefined ? [] : [target] }));
}

/** The route after everything that is left to do has been done, and nothing is left. */
function carriedOut(target: KubeObject, scene: Scene): KubeObject {
  let current = target;
  for (let round = 0; round < 5; round++) {
    const write = writesFor(current, scene).groups[0]?.writes[0];
    if (write === undefined) return current;
    const done = applyJsonPatch(current, (write as PatchWrite).operations) as KubeObject;
    const version = Number(current.metadata.resourceVersion) + 1;
    current = { ...done, metadata: { ...done.metadata, resourceVersion: String(version) } };
  }
  return assert.fail('the patches do not settle');
}

const specOf = (object: KubeObject) => (object as KubeObject & { spec: unknown }).spec;
const edited = (object: KubeObject, spec: unknown): KubeObject => ({ ...object, spec }) as KubeObject;
const set = (...fields: FieldValue[]) => ({ patches: [patch(Route, ref, fields)] });
const weight = (index: number, value: unknown) => ({ path: `/spec/services/${index}/weight`, value });

describe('a field that another owner has patched', () => {
  const first = ownershipOf('first');
  const target = route({ a: 'theirs' });
  const wants = (value: string) => set({ path: '/spec/a', value });
  const patched = carriedOut(target, { ...wants('x'), ownership: first });

  test('is a conflict for the next one that wants another value: they would overwrite each other for ever', () => {
    const { groups, notes } = writesFor(patched, wants('y'));
    assert.deepEqual(
      groups.flatMap(({ writes }) => writes),
      [],
    );
    assert.deepEqual(
      notes.map(({ about }) => about),
      ['conflict'],
    );
    assert.match(notes[0]?.message ?? '', /\/spec\/a is set to another value already/);
  });

  test('is none for one that wants the same, or that gives nothing back', () => {
    assert.deepEqual(writesFor(patched, wants('x')).groups, []);
    const silent = { patches: [patch(Route, ref, [{ path: '/spec/a', value: 'y' }], { restore: false })] };
    assert.deepEqual(specOf(carriedOut(patched, silent)), { a: 'y' });
  });

  test('is free again when a client has changed it since, or when that owner gave it back', () => {
    const touched = edited(patched, { a: 'of a client' });
    assert.deepEqual(specOf(carriedOut(touched, wants('y'))), { a: 'y' });
    const given = edited({ ...patched, metadata: target.metadata }, { a: 'theirs' });
    assert.deepEqual(specOf(carriedOut(given, wants('y'))), { a: 'y' });
  });
});

describe('a patch', () => {
  test('sets what differs, guarded by the version that was seen, and keeps what was there', () => {
    const target = route(services({ name: 'a', weight: 100 }, { name: 'b', weight: 0 }));
    const [write] = writesFor(target, set(weight(0, 0), weight(1, 0))).groups[0]?.writes ?? [];
    assert.deepEqual((write as PatchWrite).operations[0], {
      op: 'test',
      path: '/metadata/resourceVersion',
      value: '7',
    });
    const after = carriedOut(target, set(weight(0, 0), weight(1, 0)));
    assert.deepEqual(specOf(after), services({ name: 'a', weight: 0 }, { name: 'b', weight: 0 }));
    assert.match(after.metadata.annotations?.[originalAnnotation(OWNED)] ?? '', /"before":100/);
  });

  test('a patch of a value in place is no write', () => {
    const target = route(services({ name: 'a', weight: 0 }));
    assert.deepEqual(writesFor(target, set(weight(0, 0))).groups, []);
  });

  test('a patch that is no longer planned restores the former value, and leaves no trace', () => {
    const target = route({ a: { b: 1 } });
    const patched = carriedOut(target, set({ path: '/spec/a/b', value: 2 }, { path: '/spec/a/c', value: 3 }));
    assert.deepEqual(specOf(patched), { a: { b: 2, c: 3 } });
    const back = carriedOut(patched, {});
    assert.deepEqual(specOf(back), { a: { b: 1 } });
    assert.deepEqual(back.metadata.annotations, {});
  });

  test('a patch with changing values remembers the first, and gives that back', () => {
    let object = route({ a: 1 });
    for (const value of [2, 3, undefined, 4]) object = carriedOut(object, set({ path: '/spec/a', value }));
    assert.deepEqual(specOf(object), { a: 4 });
    assert.deepEqual(specOf(carriedOut(object, {})), { a: 1 });
  });

  test('a patch that drops one of its fields gives back that one', () => {
    const patched = carriedOut(
      route({ a: 1, b: 1 }),
      set({ path: '/spec/a', value: 2 }, { path: '/spec/b', value: 2 }),
    );
    const fewer = carriedOut(patched, set({ path: '/spec/b', value: 2 }));
    assert.deepEqual(specOf(fewer), { a: 1, b: 2 });
    assert.deepEqual(specOf(carriedOut(fewer, {})), { a: 1, b: 1 });
  });

  test('sets its field again when a user changes it, and gives back what they meant', () => {
    const patched = carriedOut(route({ a: 1 }), set({ path: '/spec/a', value: 0 }));
    const again = carriedOut(edited(patched, { a: 50 }), set({ path: '/spec/a', value: 0 }));
    assert.deepEqual(specOf(again), { a: 0 });
    assert.deepEqual(specOf(carriedOut(again, {})), { a: 50 });
  });

  test('does not give back over what a user has set since', () => {
    const patched = carriedOut(route({ a: 1 }), set({ path: '/spec/a', value: 0 }));
    const back = carriedOut(edited(patched, { a: 42 }), {});
    assert.deepEqual(specOf(back), { a: 42 });
    assert.deepEqual(back.metadata.annotations, {});
  });

  test('removes a field, and gives it back', () => {
    const patched = carriedOut(route({ a: 1, b: 2 }), set({ path: '/spec/a', value: undefined }));
    assert.deepEqual(specOf(patched), { b: 2 });
    assert.deepEqual(specOf(carriedOut(patched, {})), { a: 1, b: 2 });
  });

  test('makes the objects that lead to its field', () => {
    const fields = set({ path: '/spec/a/b/c', value: 1 }, { path: '/spec/a/b/d', value: 2 });
    assert.deepEqual(specOf(carriedOut(route({}), fields)), { a: { b: { c: 1, d: 2 } } });
  });

  test('to an item that is not there, or to an object that is not, is reported and does not fail', () => {
    const target = route(services({ name: 'a' }));
    for (const [object, path] of [
      [target, '/spec/services/3/weight'],
      [target, '/spec/services/-/weight'],
      [undefined, '/spec/a'],
    ] as const) {
      const { groups, notes } = writesFor(object, set({ path, value: 1 }));
      assert.deepEqual(groups, []);
      assert.deepEqual(
        notes.map(({ about }) => about),
        ['missing'],
      );
    }
  });

  test('takes a value for what the server makes of it', () => {
    const value = { x: 1, y: undefined, z: [{ q: undefined }] };
    assert.deepEqual(specOf(carriedOut(route({}), set({ path: '/spec/a', value }))), { a: { x: 1, z: [{}] } });
  });

  test('looks at what an object holds itself, not at what all objects and lists have', () => {
    assert.equal(valueAt({}, '/constructor'), undefined);
    assert.equal(valueAt(['a'], '/length'), undefined);
    assert.equal(valueAt({ 'a/b': ['x', { '~': 1 }] }, '/a~1b/1/~0'), 1);
    assert.equal(valueAt({ a: null }, '/a/b'), undefined);
  });

  test('is explained on the object, and takes the explanation along', () => {
    const causeAt = (target: KubeObject, scene: Scene) =>
      (writesFor(target, scene).groups[0]?.writes[0] as PatchWrite | undefined)?.causeAt;
    const fields = [{ path: '/spec/a', value: 2 }];
    const bare = { patches: [patch(Route, ref, fields, { restore: false })] };
    assert.equal(causeAt(route({ a: 1 }), set(...fields)), 'annotation');
    assert.equal(causeAt(route({ a: 1 }), bare), 'annotations');
    assert.equal(causeAt(route({ a: 1 }, { annotations: { x: 'y' } }), bare), 'annotation');
    const patched = carriedOut(route({ a: 1 }, { annotations: { [CAUSE_ANNOTATION]: 'why' } }), set(...fields));
    assert.equal(causeAt(patched, {}), undefined);
    assert.deepEqual(carriedOut(patched, {}).metadata.annotations, {});
  });

  test('a patch that is the last of all takes the explanation off the object', () => {
    const target = route({ a: 1 }, { annotations: { [CAUSE_ANNOTATION]: 'why', x: 'y' } });
    const patches = [patch(Route, ref, [{ path: '/spec/a', value: 2 }], { restore: false, explained: false })];
    const write = writesFor(target, { patches }).groups[0]?.writes[0] as PatchWrite | undefined;
    assert.equal(write?.causeAt, undefined);
    const after = carriedOut(target, { patches });
    assert.deepEqual([specOf(after), after.metadata.annotations], [{ a: 2 }, { x: 'y' }]);
  });

  test('a patch that stops restoring leaves its values', () => {
    const patched = carriedOut(route({ a: 1, b: 1 }), set({ path: '/spec/a', value: 2 }));
    const patches = [patch(Route, ref, [{ path: '/spec/b', value: 2 }], { restore: false })];
    const after = carriedOut(patched, { patches });
    assert.deepEqual([specOf(after), after.metadata.annotations], [{ a: 2, b: 2 }, {}]);
  });

  test('leaves a paused object alone, and says so', () => {
    const target = route({ a: 1 }, { annotations: { 'capstan.dev/paused': 'true' } });
    const { groups, notes } = writesFor(target, set({ path: '/spec/a', value: 2 }));
    assert.deepEqual(groups, []);
    assert.equal(notes[0]?.about, 'paused');
  });

  test('is distinguished from those of another owner to the same object', () => {
    const other = ownershipOf('other');
    const ours = carriedOut(route({ a: 1, b: 1 }), set({ path: '/spec/a', value: 2 }));
    const both = carriedOut(ours, { ...set({ path: '/spec/b', value: 2 }), ownership: other });
    const left = carriedOut(both, {});
    assert.deepEqual(specOf(left), { a: 1, b: 2 });
    assert.deepEqual(specOf(carriedOut(left, { ownership: other })), { a: 1, b: 1 });
  });

  test('does not undo another one of the same plan to the same object', () => {
    const one = patch(Route, ref, [{ path: '/spec/a', value: 2 }]);
    const two = patch(Route, ref, [{ path: '/spec/b', value: 2 }], { restore: false });
    const patched = carriedOut(route({ a: 1, b: 1 }), { patches: [one, two] });
    assert.deepEqual(specOf(patched), { a: 2, b: 2 });
    assert.deepEqual(specOf(carriedOut(patched, {})), { a: 1, b: 2 });
  });

  test('a patch without restore keeps nothing', () => {
    const patches = [patch(Route, ref, [{ path: '/spec/a', value: 2 }], { restore: false })];
    assert.equal(carriedOut(route({ a: 1 }), { patches }).metadata.annotations, undefined);
  });

  test('stands an annotation that a user has broken', () => {
    for (const text of ['no JSON', '7', 'null', '[]', '{"/spec/a":{}}']) {
      const target = route({ a: 1 }, { annotations: { [originalAnnotation(OWNED)]: text } });
      assert.deepEqual(specOf(carriedOut(target, {})), { a: 1 });
    }
  });
});

describe('memory of a patch', () => {
  const remembering = (memory: unknown) => ({
    patches: [patch(Route, ref, [{ path: '/spec/a', value: 2 }], { memory })],
  });

  test('is written with it, is the owner’s own, and goes with it', () => {
    const patched = carriedOut(route({ a: 1 }), remembering({ b: 1, a: 2 }));
    assert.deepEqual(storedMemory(patched, OWNED), { a: 2, b: 1 });
    assert.equal(storedMemory(patched, ownershipOf('other')), undefined);
    assert.deepEqual(writesFor(patched, remembering({ a: 2, b: 1 })).groups, []);
    assert.equal(memoryAnnotation(OWNED) in (carriedOut(patched, {}).metadata.annotations ?? {}), false);
  });

  test('the memory of a patch without restore goes with it too', () => {
    const patches = [patch(Route, ref, [{ path: '/spec/a', value: 2 }], { memory: 1, restore: false })];
    const after = carriedOut(carriedOut(route({ a: 1 }), { patches }), {});
    assert.deepEqual([specOf(after), after.metadata.annotations], [{ a: 2 }, {}]);
  });

  test('the memory of a patch that a user has broken counts as none', () => {
    const broken = route({}, { annotations: { [memoryAnnotation(OWNED)]: '{' } });
    assert.equal(storedMemory(broken, OWNED), undefined);
  });
});

describe('an original follows its item', () => {
  const patched = () =>
    carriedOut(
      route(services({ name: 'a', port: 1, weight: 100 }, { name: 'b', port: 2, weight: 50 })),
      set(weight(0, 0), weight(1, 0)),
    );
  const a = { name: 'a', port: 1, weight: 0 };
  const b = { name: 'b', port: 2, weight: 0 };
  const cases: [what: string, edit: Service[], back: Service[]][] = [
    [
      'when another is put before it',
      [{ name: 'n', weight: 0 }, a, b],
      [
        { name: 'n', weight: 0 },
        { ...a, weight: 100 },
        { ...b, weight: 50 },
      ],
    ],
    [
      'when they change places',
      [b, a],
      [
        { ...b, weight: 50 },
        { ...a, weight: 100 },
      ],
    ],
    ['when the one before it goes', [b], [{ ...b, weight: 50 }]],
    [
      'when it is edited where it is',
      [{ ...a, port: 9 }, b],
      [
        { ...a, port: 9, weight: 100 },
        { ...b, weight: 50 },
      ],
    ],
    [
      'when it is edited and moved',
      [b, { ...a, port: 9 }],
      [
        { ...b, weight: 50 },
        { ...a, port: 9, weight: 100 },
      ],
    ],
    [
      'and to no other item when it is gone',
      [{ name: 'x', weight: 0 }, b],
      [
        { name: 'x', weight: 0 },
        { ...b, weight: 50 },
      ],
    ],
  ];
  for (const [what, edit, back] of cases) {
    test(what, () => assert.deepEqual(specOf(carriedOut(edited(patched(), services(...edit)), {})), services(...back)));
  }

  test('while the patch goes on under another path', () => {
    const moved = edited(patched(), services({ name: 'n', weight: 10 }, a, b));
    const still = carriedOut(moved, set(weight(1, 0), weight(2, 0)));
    const back = [
      { name: 'n', weight: 10 },
      { ...a, weight: 100 },
      { ...b, weight: 50 },
    ];
    assert.deepEqual(specOf(carriedOut(still, {})), services(...back));
  });

  test('an original follows its item that has a twin only while it stays in its place', () => {
    const twins = services({ name: 'a', weight: 100 }, { name: 'a', weight: 50 });
    const object = carriedOut(route(twins), set(weight(0, 0), weight(1, 0)));
    assert.deepEqual(specOf(carriedOut(object, {})), twins);
    const zero = { name: 'a', weight: 0 };
    const moved = services({ name: 'x' }, { name: 'y' }, zero, zero);
    assert.deepEqual(specOf(carriedOut(edited(object, moved), {})), moved);
  });

  test('an original follows its item without a name by its other content, and by its place when that was edited', () => {
    const spec = (...rules: object[]) => ({ rules });
    const first = { match: '/a', backends: [{ name: 's', weight: 1 }] };
    const second = { match: '/b', backends: [{ name: 's', weight: 2 }] };
    const fields = set({ path: '/spec/rules/1/backends/0/weight', value: 0 });
    const object = carriedOut(route(spec(first, second)), fields);
    const zero = { ...second, backends: [{ name: 's', weight: 0 }] };
    assert.deepEqual(specOf(carriedOut(edited(object, spec(zero, first)), {})), spec(second, first));
    const renamed = { ...zero, match: '/c' };
    assert.deepEqual(
      specOf(carriedOut(edited(object, spec(first, renamed)), {})),
      spec(first, { ...second, match: '/c' }),
    );
  });

  test('wherever it goes: every service gets its own weight back', () => {
    const some = fc.uniqueArray(fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
    fc.assert(
      fc.property(some, fc.integer(), fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }), (names, seed, added) => {
        const before = names.map((name, index) => ({ name, weight: index + 1 }));
        const all = set(...before.map((_, index) => weight(index, 0)));
        const object = carriedOut(route(services(...before)), all);
        const zeroes = before.map((service) => ({ ...service, weight: 0 }));
        const others = [...new Set(added)].map((name) => ({ name, weight: 0 }));
        const shuffled = [...zeroes, ...others].toSorted((left, right) => order(left, seed) - order(right, seed));
        const back = specOf(carriedOut(edited(object, services(...shuffled)), {})) as { services: Service[] };
        for (const { name, weight: now } of back.services) assert.equal(now, names.indexOf(name) + 1);
      }),
    );
  });
});

function order({ name }: Service, seed: number): number {
  return ((name.charCodeAt(0) * 7919) ^ seed) % 101;
}
