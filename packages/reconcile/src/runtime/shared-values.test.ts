// A reconciler that changes a read value gets an error at the first run, without the purity check, and no other reader sees the change.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, type KubeObject } from '@capstan/kube';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { derivation, fact, fold, index, source } from '../read/index.ts';
import { type Context, reading, reconciler } from '../reconciler.ts';
import { sink } from '../sinks/index.ts';
import { onRuntime, ref, Thing, thing } from './runtime.test-support.ts';

interface Shared {
  list: { text: string }[];
  map?: Map<string, string>;
}
const sharedValue = (): Shared => ({ list: [{ text: 'kept' }] });

const numbers = fact<Shared>({ name: 'numbers', fetch: () => Promise.resolve(sharedValue()) });
const rows = source<Shared>({
  name: 'rows',
  async open({ table, signal }) {
    table.put('a', sharedValue());
    table.complete();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
});
const plain = derivation<Shared>({
  name: 'plain',
  compute: () => ({ ...sharedValue(), map: new Map([['a', 'kept']]) }),
});
const summed = fold<ConfigMap, string, Map<string, string>, { names: string[] }>({
  name: 'summed',
  kind: ConfigMap,
  part: ({ metadata }) => metadata.name ?? '',
  empty: () => new Map(),
  put: (state, key, name) => void state.set(key, name),
  remove: (state, key) => void state.delete(key),
  result: (state) => ({ names: [...state.values()] }),
});
const ownNames = derivation<readonly string[]>({ name: 'own names', compute: () => ['a'] });
const reporting = sink<Shared, Shared>({
  name: 'reporting',
  of: plain,
  keys: ownNames,
  lease: 'none',
  open({ report }) {
    return { take: () => report('a', sharedValue()) };
  },
});
const byText = index(ConfigMap, 'by text', ({ data }) => [data?.['text'] ?? '']);
const dataOf = ({ data }: ConfigMap) => data;
const first = ({ list }: Shared) => list[0];

/** Each reads something that others read too; the reconciler changes it. */
type Write = (context: Context<Thing>) => unknown;
const textOf = (value: unknown) => value as { text: string };

const changes: Record<string, Write> = {
  'the content of its object': ({ object }) => (object.spec.value = 'changed'),
  'the name of its object': ({ object }) => (object.metadata.name = 'changed'),
  'the labels of its object': ({ object }) => ((object.metadata.labels as Record<string, string>)['text'] = 'changed'),
  'the status of its object': ({ object }) => (object.status = { conditions: [] }),
  'a field of its object that it adds': ({ object }) => Object.assign(object, { text: 'changed' }),
  'an object that it gets': ({ read }) => (textOf(read.get(ConfigMap, ref('shared'))?.data).text = 'changed'),
  'an object that it lists': ({ read }) => (textOf(read.list(ConfigMap)[0]?.data).text = 'changed'),
  'an object that it finds by an index': ({ read }) => (textOf(read.by(byText, 'kept')[0]?.data).text = 'changed'),
  'the result of a projection': ({ read }) => (textOf(read.get(ConfigMap, ref('shared'), dataOf)).text = 'changed'),
  'the result of a fact': ({ read }) => read.fact(numbers, 'x').value?.list.push({ text: 'changed' }),
  'a row of a source': ({ read }) => (textOf(read.source(rows).get('a')?.list[0]).text = 'changed'),
  'one of all rows of a source': ({ read }) => read.source(rows).rows()[0]?.row.list.pop(),
  'the result of a derivation': ({ read }) => read.derived(plain, 'x').list.push({ text: 'changed' }),
  'a Map in the result of a derivation': ({ read }) => read.derived(plain, 'x').map?.set('a', 'changed'),
  'a projection of a derivation': ({ read }) => (textOf(read.derived(plain, 'x', first)).text = 'changed'),
  'the result of a fold': ({ read }) => read.derived(summed, '').names.push('changed'),
  'the report of a sink': ({ read }) => (textOf(read.sink(reporting).report('a')?.list[0]).text = 'changed'),
};

const readAll = ({ object, read }: Context<Thing>) =>
  JSON.stringify([
    { spec: object.spec, name: object.metadata.name, labels: object.metadata.labels },
    read.get(ConfigMap, ref('shared'))?.data,
    read.list(ConfigMap).map(({ data }) => data),
    read.by(byText, 'kept').length,
    read.fact(numbers, 'x').value,
    read.source(rows).rows(),
    [read.derived(plain, 'x').list, [...(read.derived(plain, 'x').map ?? [])]],
    read.derived(summed, ''),
    read.sink(reporting).report('a'),
  ]);

const shared = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...ref('shared'), labels: { text: 'kept' } },
  data: { text: 'kept' },
};
const labelled = (name: string, value: string): Thing => {
  const { metadata, ...rest } = thing(name, value);
  return { ...rest, metadata: { ...metadata, labels: { text: 'kept' } } };
};

describe('a reconciler that changes', () => {
  for (const [name, change] of Object.entries(changes))
    test(`${name} has an error on its resource at the first run, and no reader sees the change`, async () => {
      const seen = new Map<string, string>();
      let unnoticed = 0;
      const changing = reconciler<Thing>({
        name: 'changing',
        resource: Thing,
        reads: [reading(ConfigMap, 'everywhere')],
        reconcile(context) {
          if (context.object.spec.value !== 'changing') return plan();
          // Everything is known before the first change: a suspended run is none.
          readAll(context);
          change(context);
          unnoticed++;
          return plan();
        },
      });
      const watching = reconciler<Thing>({
        name: 'watching',
        resource: Thing,
        reads: [reading(ConfigMap, 'everywhere')],
        reconcile(context) {
          seen.set(context.object.metadata.name ?? '', readAll(context));
          return plan();
        },
      });
      const operators = [
        operator({ name: 'test', kinds: [Thing], reconcilers: [changing, watching], sinks: [reporting] }),
      ];
      await onRuntime({ operators }, async ({ client, clock }) => {
        await client.create(ConfigMap, shared);
        await client.create(Thing, labelled('a', 'changing'));
        await clock.advance(1000);
        const { status } = await client.get(Thing, ref('a'));
        const error = findCondition(status?.conditions, 'ReconcileError');
        assert.match(
          error?.message ?? '',
          /^the reconciler changing threw: the reconciler changing changes a value that others read too: Cannot .*; copy the value/,
        );
        assert.equal(unnoticed, 0);
        // The objects that another client gets from the server, and that other readers of this program get.
        const served: KubeObject[] = [await client.get(Thing, ref('a')), await client.get(ConfigMap, ref('shared'))];
        assert.doesNotMatch(JSON.stringify(served.map(({ metadata, ...rest }) => [metadata.labels, rest])), /changed/);
        await client.patch(ConfigMap, ref('shared'), 'merge', { data: { other: 'x' } });
        await clock.advance(1000);
        assert.match(seen.get('a') ?? '', /kept/);
        assert.doesNotMatch(seen.get('a') ?? '', /changed/);
        // The corrected object heals.
        await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'fine' } });
        await clock.advance(1000);
        const healed = await client.get(Thing, ref('a'));
        assert.notEqual(findCondition(healed.status?.conditions, 'ReconcileError')?.status, 'True');
      });
    });

  test('a copy of what it read has no error', async () => {
    const copying = reconciler<Thing>({
      name: 'copying',
      resource: Thing,
      reads: [reading(ConfigMap, 'everywhere')],
      reconcile({ object, read }) {
        const own = structuredClone(read.get(ConfigMap, ref('shared'))?.data ?? {});
        own['text'] = 'changed';
        const sorted = [...read.list(ConfigMap)].toReversed();
        return plan({ status: { seen: `${own['text']} ${sorted.length} ${{ ...object.spec, value: 'own' }.value}` } });
      },
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [copying] })];
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(ConfigMap, shared);
      await client.create(Thing, thing('a'));
      await clock.advance(1000);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'changed 1 own');
    });
  });
});

test('a derivation that changes what it read is named by the error of its reader', async () => {
  const spoiling = derivation<string>({
    name: 'spoiling',
    compute({ read }) {
      textOf(read.get(ConfigMap, ref('shared'))?.data).text = 'changed';
      return 'x';
    },
  });
  const reader = reconciler<Thing>({
    name: 'reader',
    resource: Thing,
    reads: [reading(ConfigMap, 'everywhere')],
    reconcile: ({ read }) => plan({ status: { seen: read.derived(spoiling, '') } }),
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [reader] })];
  await onRuntime({ operators }, async ({ client, clock }) => {
    await client.create(ConfigMap, shared);
    await client.create(Thing, thing('a'));
    await clock.advance(1000);
    const { status } = await client.get(Thing, ref('a'));
    assert.match(
      findCondition(status?.conditions, 'ReconcileError')?.message ?? '',
      /the derivation spoiling changes a value that others read too/,
    );
    assert.equal((await client.get(ConfigMap, ref('shared'))).data?.['text'], 'kept');
  });
});
