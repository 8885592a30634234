import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  defineKind,
  type Kind,
  type KubeObject,
  object,
  optional,
  Secret,
  Service,
  string,
} from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine, type Index, type Table, type Tracker } from '../engine/index.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import { plan } from '../plan/index.ts';
import { index } from '../read/index.ts';
import { type ReconcilerDefinition, reconciler, writing } from '../reconciler.ts';
import { requirementsOf } from './requirements.ts';
import { createStaticWorld, type StaticWorldOptions } from './static-world.ts';
import type { World } from './world.ts';

const Site = defineKind({
  group: 'test.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ host: optional(string()) }),
  aliases: [
    {
      group: 'old.dev',
      kind: 'Page',
      normalise: ({ spec, ...rest }) => ({ ...rest, spec: { host: (spec as { domain: string }).domain } }),
    },
  ],
});

function worldOf(given: Partial<ReconcilerDefinition<never>>, options: Partial<StaticWorldOptions> = {}) {
  const engine = createEngine({ clock: createVirtualClock() });
  const reconcilers = [
    reconciler({ name: 'x', resource: ConfigMap, reconcile: () => plan(), ...given } as ReconcilerDefinition<never>),
  ];
  const world = createStaticWorld({
    name: '',
    engine,
    requirements: requirementsOf(reconcilers),
    objects: [],
    ...options,
  });
  let check: (tracker: Tracker) => unknown = () => undefined;
  const read = engine.derive<unknown>({ name: 'read', compute: (_key, tracker) => check(tracker) });
  return {
    world,
    /** Returns the value that a node would see. */
    see<V>(by: (tracker: Tracker) => V): V | string {
      check = by;
      const root = engine.hold(read, 'once');
      engine.flushSync();
      const settled = engine.valueOf(read, 'once');
      root.stop();
      engine.flushSync();
      return settled?.state === 'value' ? (settled.value as V) : (settled?.state ?? 'nothing');
    },
  };
}

const at = (name: string, labels?: Record<string, string>) => ({
  namespace: 'default',
  name,
  ...(labels ? { labels } : {}),
});
const service = (name: string, metadata: KubeObject['metadata'] = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { ...at(name), ...metadata },
});
const tableOf = (find: World['readTable'], kind: Kind): Table<KubeObject> => {
  const found = find(kind);
  assert.ok(found, `there is a table for ${kind.kind}`);
  return found;
};

describe('a static world', () => {
  test('has exactly the objects that it is given, and knows that there are no others', () => {
    const { world, see } = worldOf({ reads: [Service] }, { objects: [service('a')] });
    const table = tableOf(world.readTable, Service);
    assert.deepEqual(
      see((tracker) => tracker.keys(table)),
      ['default/a'],
    );
    assert.equal(
      see((tracker) => tracker.get(table, 'default/b')),
      undefined,
    );
    assert.equal(
      see((tracker) => tracker.get(world.access, 'Service')),
      'served',
    );
  });

  test('caches no kind that nothing declares', () => {
    const { world } = worldOf({}, { objects: [service('a')] });
    assert.equal(world.readTable(Service), undefined);
    assert.equal(world.indexOf(index(Service, 'x', () => [])), undefined);
  });

  test('does not know the kinds that are declared unknown', () => {
    const { world, see } = worldOf({ reads: [Service] }, { unknown: ['Service'] });
    assert.equal(
      see((tracker) => tracker.keys(tableOf(world.readTable, Service))),
      'suspended',
    );
    assert.equal(
      see((tracker) => tracker.get(world.access, 'Service')),
      'suspended',
    );
  });

  test('says of kinds that a server does not show that it does not, and knows nothing else of them', () => {
    for (const access of ['forbidden', 'not-served'] as const) {
      const { world, see } = worldOf({ reads: [Service] }, { access: { Service: access } });
      assert.equal(
        see((tracker) => tracker.get(world.access, 'Service')),
        access,
      );
      assert.equal(
        see((tracker) => tracker.keys(tableOf(world.readTable, Service))),
        'suspended',
      );
    }
  });

  test('shows of a kind that is only written our own objects alone', () => {
    const objects = [service('ours', { labels: { [INVENTORY_LABEL]: 'x' } }), service('theirs')];
    const { world, see } = worldOf({ writes: [Service] }, { objects });
    assert.deepEqual(
      see((tracker) => tracker.keys(tableOf(world.childTable, Service))),
      ['default/ours'],
    );
    const wide = worldOf({ writes: [writing(Service, ['apply', 'patch'])] }, { objects });
    const keys = wide.see((tracker) => tracker.keys(tableOf(wide.world.childTable, Service)));
    assert.deepEqual(keys, ['default/ours', 'default/theirs']);
  });

  test('shows aliases as one view, and knows where it came from', () => {
    const page = { apiVersion: 'old.dev/v1', kind: 'Page', metadata: at('p'), spec: { domain: 'example.org' } };
    const { world, see } = worldOf({ reads: [Site] }, { objects: [page] });
    const view = see((tracker) => tracker.get(tableOf(world.readTable, Site), 'default/p')) as KubeObject;
    assert.deepEqual(view, { ...page, apiVersion: 'test.dev/v1', kind: 'Site', spec: { host: 'example.org' } });
    const origin = world.originOf(Site, view);
    assert.equal(origin.object, page);
    assert.deepEqual([origin.kind.kind, origin.kind.apiVersion], ['Page', 'old.dev/v1']);
  });

  test('finds objects by what is in them', () => {
    const byApp = index(Service, 'app', ({ metadata }) => [metadata.labels?.['app'] ?? '']);
    const { world, see } = worldOf(
      { reads: [Service] },
      { objects: [service('a', { labels: { app: 'x' } }), service('b')] },
    );
    const found = see((tracker) => tracker.by(world.indexOf(byApp) as Index<KubeObject>, 'x'));
    assert.deepEqual(
      (found as readonly KubeObject[]).map(({ metadata }) => metadata.name),
      ['a'],
    );
    assert.equal(world.indexOf(byApp), world.indexOf(byApp));
  });

  test('finds what would be collected with an owner', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }];
    const labels = { [INVENTORY_LABEL]: 'x' };
    const objects = [
      service('ours', { ownerReferences, labels }),
      service('theirs', { ownerReferences }),
      service('other', { labels }),
    ];
    const { world } = worldOf({ writes: [Service] }, { objects });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...at('o'), uid: 'u' } };
    assert.deepEqual(world.ownedBy(owner), [{ kind: Service, object: objects[0] }]);
  });

  test('takes in what is written to it', () => {
    const { world, see } = worldOf({ reads: [Service] });
    world.observeWrite(Service, service('new'));
    const keys = () => see((tracker) => tracker.keys(tableOf(world.readTable, Service)));
    assert.deepEqual(keys(), ['default/new']);
    world.observeDelete(Service, service('new'));
    assert.deepEqual(keys(), []);
  });

  test('has no server', () => {
    const { world } = worldOf({ reads: [Secret] });
    assert.throws(() => world.client, /no server/);
  });
});
