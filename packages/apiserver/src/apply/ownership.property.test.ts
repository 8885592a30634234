// Random sequences of apply, merge patch and update by several managers, beside a model that knows nothing of tries, types or
// merging: a state is a flat map of paths, ownership a set of paths for each manager.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import fc from 'fast-check';
import { CRDS, definition, testServer, WIDGETS } from '../server.test-support.ts';

interface Spec {
  keep?: string;
  size?: number;
  mode?: string;
  options?: Record<string, string>;
  items?: { name: string; value?: string }[];
  tags?: string[];
}

type Step =
  | { do: 'apply'; manager: string; spec: Spec; force: boolean }
  | { do: 'update'; manager: string; spec: Spec }
  | { do: 'merge'; manager: string; spec: Pick<Spec, 'size' | 'mode' | 'options'> };

/** Containers stand for themselves with the value CONTAINER. */
const CONTAINER = '{}';
type Paths = Map<string, string>;

function pathsOf(spec: Spec): Paths {
  const paths: Paths = new Map([['spec', CONTAINER]]);
  for (const field of ['keep', 'size', 'mode'] as const) {
    if (spec[field] !== undefined) paths.set(`spec/${field}`, JSON.stringify(spec[field]));
  }
  for (const [key, value] of Object.entries(spec.options ?? {})) {
    paths.set('spec/options', CONTAINER).set(`spec/options/${key}`, value);
  }
  for (const { name, value } of spec.items ?? []) {
    const at = `spec/items/{"name":"${name}"}`;
    paths.set('spec/items', CONTAINER).set(at, CONTAINER).set(`${at}/name`, name);
    if (value !== undefined) paths.set(`${at}/value`, value);
  }
  for (const tag of spec.tags ?? []) paths.set('spec/tags', CONTAINER).set(`spec/tags/"${tag}"`, tag);
  return paths;
}

/** An applier owns leaves, items and keys; the fields that hold them belong to the one that makes them by another write. */
function saidBy(spec: Spec): Set<string> {
  const holders = new Set(['spec', 'spec/options', 'spec/items', 'spec/tags']);
  const said = [...pathsOf(spec).keys()].filter((path) => !holders.has(path));
  // An empty object itself counts as applied.
  return new Set(said.length > 0 ? said : ['spec']);
}

interface Model {
  paths: Paths;
  owners: Map<string, Set<string>>;
}

function write(model: Model, next: Paths, writer: string | undefined): Model {
  const changed = [...next].filter(([path, value]) => model.paths.get(path) !== value).map(([path]) => path);
  const owners = new Map(
    [...model.owners].map(([id, set]) => [id, new Set([...set].filter((path) => next.has(path)))]),
  );
  for (const set of owners.values()) for (const path of changed) set.delete(path);
  if (writer !== undefined && changed.length > 0) {
    const own = owners.get(writer) ?? new Set();
    owners.set(writer, new Set([...own, ...changed]));
  }
  return { paths: next, owners: new Map([...owners].filter(([, set]) => set.size > 0)) };
}

/** A number: refused, for a conflict or because of a null. */
function apply(model: Model, id: string, spec: Spec, force: boolean): Model | 409 | 422 {
  const said = saidBy(spec);
  const others = [...model.owners].filter(([other]) => other !== id).map(([, set]) => set);
  const next = new Map([...model.paths, ...pathsOf(spec)]);
  for (const path of model.owners.get(id) ?? []) {
    if (path === 'spec' || said.has(path) || others.some((set) => set.has(path))) continue;
    for (const below of next.keys()) if (below === path || below.startsWith(`${path}/`)) next.delete(below);
  }
  let isEmptied = false;
  for (const holder of ['spec/options', 'spec/items', 'spec/tags']) {
    if ([...next.keys()].some((path) => path.startsWith(`${holder}/`))) continue;
    // Emptied, and another client has a part in it: null, which the schema refuses.
    isEmptied ||=
      next.has(holder) && others.some((set) => [...set].some((path) => `${path}/`.startsWith(`${holder}/`)));
    next.delete(holder);
  }
  const changed = [...next].filter(([path, value]) => model.paths.get(path) !== value).map(([path]) => path);
  if (!force && changed.some((path) => others.some((set) => set.has(path)))) return 409;
  if (isEmptied) return 422;
  const after = write(model, next, undefined);
  after.owners.delete(id);
  if (said.size > 0) after.owners.set(id, said);
  return after;
}

function ownersOf(object: UnknownObject): Map<string, Set<string>> {
  const owners = new Map<string, Set<string>>();
  for (const entry of object.metadata.managedFields ?? []) {
    const set = new Set<string>();
    const walk = (fields: Record<string, unknown>, at: string) => {
      for (const [edge, below] of Object.entries(fields)) {
        if (edge === '.') set.add(at);
        else {
          const path = at === '' ? edge.slice(2) : `${at}/${edge.slice(2)}`;
          if (Object.keys(below as object).length === 0) set.add(path);
          else walk(below as Record<string, unknown>, path);
        }
      }
    };
    walk(entry.fieldsV1 ?? {}, '');
    owners.set(`${entry.manager}:${entry.operation}`, set);
  }
  return owners;
}

const comparable = (owners: Map<string, Set<string>>) =>
  [...owners].map(([id, set]) => `${id}: ${[...set].sort().join(' ')}`).sort();

const sorted = (paths: Paths) => [...paths].map(([path, value]) => `${path}=${value}`).sort();

const name = fc.constantFrom('a', 'b', 'c');
const value = fc.constantFrom('1', '2');
const manager = fc.constantFrom('one', 'two', 'three');
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const specArbitrary: fc.Arbitrary<Spec> = fc
  .record({
    size: optional(fc.constantFrom(1, 2)),
    mode: optional(value),
    options: optional(fc.dictionary(name, value, { minKeys: 1 })),
    items: optional(
      fc.uniqueArray(fc.record({ name, value: optional(value) }), { minLength: 1, selector: (one) => one.name }),
    ),
    tags: optional(fc.uniqueArray(name, { minLength: 1 })),
  })
  .map((spec) => JSON.parse(JSON.stringify(spec)) as Spec);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('apply' as const), manager, spec: specArbitrary, force: fc.boolean() }),
  fc.record({ do: fc.constant('update' as const), manager, spec: specArbitrary }),
  fc.record({
    do: fc.constant('merge' as const),
    manager,
    spec: specArbitrary.map(({ size, mode, options }) => JSON.parse(JSON.stringify({ size, mode, options })) as Spec),
  }),
);

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

it('managedFields are what an independent model says, whatever several managers do', async () => {
  const properties = { keep: { type: 'string' }, mode: { type: 'string' } };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { ok, send } = testServer();
      await ok('POST', CRDS, definition(properties));
      const path = `${WIDGETS}/w`;
      const base = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } };
      await ok('POST', WIDGETS, { ...base, spec: { keep: 'x' } }, { query: { fieldManager: 'creator' } });
      let model = write({ paths: new Map(), owners: new Map() }, pathsOf({ keep: 'x' }), 'creator:Update');
      for (const one of steps) {
        const query = { fieldManager: one.manager };
        const live = await ok('GET', path);
        if (one.do === 'apply') {
          const expected = apply(model, `${one.manager}:Apply`, one.spec, one.force);
          const answer = await send(
            'PATCH',
            path,
            { ...base, spec: one.spec },
            {
              contentType: APPLY,
              query: { ...query, force: String(one.force) },
            },
          );
          assert.equal(answer.status, typeof expected === 'number' ? expected : 200, JSON.stringify(answer.body));
          if (typeof expected !== 'number') model = expected;
        } else if (one.do === 'update') {
          const spec = { keep: 'x', ...one.spec };
          await ok('PUT', path, { ...live, spec }, { query });
          model = write(model, pathsOf(spec), `${one.manager}:Update`);
        } else {
          await ok('PATCH', path, { spec: one.spec }, { contentType: MERGE, query });
          model = write(model, new Map([...model.paths, ...pathsOf(one.spec)]), `${one.manager}:Update`);
        }
        const now = await ok('GET', path);
        assert.deepEqual(sorted(pathsOf(now['spec'] as Spec)), sorted(model.paths), 'the state');
        assert.deepEqual(comparable(ownersOf(now)), comparable(model.owners), 'the owners');
      }
    }),
    { numRuns: 300 },
  );
});
