// Errors that were in the log only: each is on the resource.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, Secret } from '@capstan/kube';
import { CAUSE_ANNOTATION } from '../../marks.ts';
import { operator } from '../../operator.ts';
import { apply, type EventInput, type Plan, plan } from '../../plan/index.ts';
import { derivation, fact, fold, index } from '../../read/index.ts';
import { type Context, reading, reconciler } from '../../reconciler.ts';
import { parseCause } from '../../why/index.ts';
import { onRuntime, ref, replacing, Thing, thing } from '../runtime.test-support.ts';

type Cyclic = { self?: Cyclic; seen?: string };

function cyclic(): Cyclic {
  const value: Cyclic = { seen: 'x' };
  value.self = value;
  return value;
}

const cyclicDerivation = derivation<Cyclic>({ name: 'cyclic', compute: cyclic });
const cyclicFact = fact<Cyclic>({ name: 'cyclic-fact', fetch: () => Promise.resolve(cyclic()) });
const promising = derivation<string>({
  name: 'promising',
  compute: (() => Promise.reject(new Error('never seen'))) as unknown as () => string,
});
const promisingFold = fold<Thing, string, string[], string>({
  name: 'promising-fold',
  kind: Thing,
  part: ({ spec }) => spec.value,
  empty: () => [],
  put: () => {},
  remove: () => {},
  result: (() => Promise.resolve('x')) as unknown as () => string,
});

const cases: Record<string, { reconcile(context: Context<Thing>): Plan; message: RegExp }> = {
  'a status with a cycle': {
    reconcile: () => plan({ status: { seen: cyclic() } }),
    message: /contains itself, or is nested too deeply/,
  },
  'a child with a cycle': {
    reconcile: ({ object: { metadata } }) =>
      plan({ children: [apply(ConfigMap, { metadata: ref(metadata.name ?? ''), data: cyclic() as never })] }),
    message: /contains itself|circular structure/,
  },
  'a condition with a cycle': {
    reconcile: () =>
      plan({ conditions: [{ type: 'Ready', status: 'True', reason: 'Ok', message: '', details: cyclic() }] }),
    message: /contains itself|circular structure|cannot be computed/,
  },
  'a derivation with a cycle in its result': {
    reconcile: ({ read }) => plan({ status: { seen: read.derived(cyclicDerivation, '').seen } }),
    message: /the result of cyclic contains itself/,
  },
  'a derivation that returns a promise': {
    reconcile: ({ read }) => plan({ status: { seen: read.derived(promising, '') } }),
    message: /the derivation promising returned a promise, and nothing waits for it; let it be synchronous/,
  },
  'a fold that returns a promise': {
    reconcile: ({ read }) => plan({ status: { seen: read.derived(promisingFold, '') } }),
    message: /result of the fold promising-fold returned a promise/,
  },
  'a projection that returns a promise': {
    reconcile: ({ object: { metadata }, read }) =>
      plan({ status: { seen: String(read.get(Thing, ref(metadata.name ?? ''), (async () => 'x') as never)) } }),
    message: /returned a promise/,
  },
};

describe('the resource shows the error of', () => {
  for (const [name, { reconcile, message }] of Object.entries(cases))
    test(name, async () => {
      const faulty = reconciler<Thing>({
        name: 'faulty',
        resource: Thing,
        reads: [reading(ConfigMap, 'everywhere')],
        writes: [ConfigMap],
        reconcile: (context) =>
          context.object.spec.value === 'bad'
            ? reconcile(context)
            : plan({ status: { seen: context.object.spec.value } }),
      });
      const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [faulty] })];
      await onRuntime({ operators, checkFields: false }, async ({ client, clock }) => {
        await client.create(Thing, thing('a', 'bad'));
        await client.create(Thing, thing('b', 'fine'));
        await clock.advance(5000);
        const shown = async (of: string) =>
          findCondition((await client.get(Thing, ref(of))).status?.conditions, 'ReconcileError')?.message ?? '';
        assert.match(await shown('a'), message);
        assert.equal((await client.get(Thing, ref('b'))).status?.seen, 'fine');
        await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'good' } });
        await clock.advance(300_000);
        assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'good');
        assert.equal(await shown('a'), '');
      });
    });

  test('a fact whose result has a cycle, as the error of the fact', async () => {
    const reads = reconciler<Thing>({
      name: 'reads',
      resource: Thing,
      reconcile: ({ read }) => plan({ status: { seen: read.fact(cyclicFact, 'x').error?.message ?? '' } }),
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [reads] })];
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(1000);
      assert.match((await client.get(Thing, ref('a'))).status?.seen ?? '', /cyclic-fact contains itself/);
    });
  });

  test('a status field that the definition of the kind lacks, until the reconciler no longer sets it', async () => {
    const events: EventInput[] = [];
    const writes: unknown[] = [];
    const unknown = reconciler<Thing>({
      name: 'unknown',
      resource: Thing,
      reconcile: ({ object: { spec } }) =>
        plan({ status: { seen: spec.value, ...(spec.value === 'bad' ? { colour: 'red' } : {}) } }),
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [unknown] })];
    const through = (client: Parameters<typeof replacing>[0]) =>
      replacing(client, 'patch', (call, ...args) => {
        writes.push(args);
        return call();
      });
    const notify = (_world: unknown, _operator: unknown, _owner: unknown, event: EventInput) => void events.push(event);
    await onRuntime({ operators, notify, through }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'bad'));
      await clock.advance(60_000);
      const shown = async () => findCondition((await client.get(Thing, ref('a'))).status?.conditions, 'ReconcileError');
      assert.match(
        (await shown())?.message ?? '',
        /the server did not keep the status that was written to it \(colour\); install the CRD of this release/,
      );
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'bad');
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ['StatusNotKept'],
      );
      const { resourceVersion } = (await client.get(Thing, ref('a'))).metadata;
      await clock.advance(600_000);
      assert.equal((await client.get(Thing, ref('a'))).metadata.resourceVersion, resourceVersion, 'nothing moves');
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'good' } });
      await clock.advance(60_000);
      assert.equal(await shown(), undefined);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'good');
    });
  });
});

test('a chain of 3,000 derivations is evaluated, changed and previewed', async () => {
  const chain: ReturnType<typeof derivation<number>> = derivation<number>({
    name: 'chain',
    compute: ({ key, read }) =>
      key === '0'
        ? (read.get(Thing, ref('a'), ({ spec }) => spec.value.length) ?? 0)
        : read.derived(chain, String(Number(key) - 1)) + 1,
  });
  const top = reconciler<Thing>({
    name: 'top',
    resource: Thing,
    reconcile: ({ read }) => plan({ status: { seen: String(read.derived(chain, '3000')) } }),
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [top] })];
  await onRuntime({ operators }, async ({ client, clock, runtime }) => {
    await client.create(Thing, thing('a', 'a'));
    await clock.advance(1000);
    assert.equal((await client.get(Thing, ref('a'))).status?.seen, '3001');
    await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'abc' } });
    await clock.advance(2000);
    assert.equal((await client.get(Thing, ref('a'))).status?.seen, '3003');
    const [binding] = runtime.bindings;
    assert.ok(binding);
    const fork = runtime.engine.fork();
    fork.put(binding.table, 'default/a', { ...(await client.get(Thing, ref('a'))), spec: { value: '12345' } } as never);
    const planned = fork.valueOf(binding.plans, 'default/a');
    assert.equal(planned?.state === 'value' ? planned.value.status?.['seen'] : planned?.state, '3005');
  });
});

test('a plan that lacks an object on which an index fails removes nothing', async () => {
  const byValue = index(Thing, 'by-value', ({ spec }) => {
    if (spec.value === 'bad') throw new Error('no');
    return ['all'];
  });
  const nameOf = ({ metadata }: Thing) => metadata.name ?? '';
  const each = reconciler<Thing>({
    name: 'each',
    resource: Thing,
    writes: [ConfigMap],
    reconcile: ({ object: { metadata }, read }) =>
      plan({
        children:
          metadata.name === 'owner'
            ? read.by(byValue, 'all', nameOf).map((name) => apply(ConfigMap, { metadata: ref(`of-${name}`), data: {} }))
            : [],
      }),
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [each] })];
  await onRuntime({ operators, checkFields: false }, async ({ client, clock }) => {
    for (const name of ['owner', 'a', 'b']) await client.create(Thing, thing(name, 'fine'));
    await clock.advance(10_000);
    assert.ok(await client.find(ConfigMap, ref('of-a')));
    await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'bad' } });
    await client.create(Thing, thing('c', 'fine'));
    await clock.advance(60_000);
    assert.ok(await client.find(ConfigMap, ref('of-a')), 'kept while it is not known whether it is wanted');
    assert.ok(await client.find(ConfigMap, ref('of-c')), 'everything else goes on');
    await client.delete(Thing, ref('a'));
    await clock.advance(60_000);
    assert.equal(await client.find(ConfigMap, ref('of-a')), undefined, 'removed once that is known');
  });
});

test('each operator digests what it reads of a Secret with its own key', async () => {
  const content = ({ data }: Secret) => data?.['word'];
  const operatorOf = (name: string) =>
    operator({
      name,
      kinds: name === 'one' ? [Thing] : [],
      reconcilers: [
        reconciler<Thing>({
          name: 'words',
          resource: Thing,
          primary: false,
          reads: [Secret],
          writes: [ConfigMap],
          reconcile: ({ object: { metadata }, read }) =>
            plan({
              children: [
                apply(ConfigMap, {
                  metadata: ref(`${name}-${metadata.name}`),
                  data: { length: String(read.get(Secret, ref('s'), content)?.length) },
                }),
              ],
            }),
        }),
      ],
    });
  const operators = [operatorOf('one'), operatorOf('two')];
  await onRuntime({ operators }, async ({ client, clock, runtime }) => {
    runtime.setDigestKey({ id: 'a', bytes: new Uint8Array(32).fill(1) }, 'one');
    runtime.setDigestKey({ id: 'b', bytes: new Uint8Array(32).fill(2) }, 'two');
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: ref('s'),
      data: { word: btoa('short') },
    });
    await client.create(Thing, thing('a'));
    await clock.advance(10_000);
    await client.patch(Secret, ref('s'), 'merge', { data: { word: btoa('a longer one') } });
    await clock.advance(10_000);
    const digests = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const { annotations } = (await client.get(ConfigMap, ref(`${name}-a`))).metadata;
        const change = parseCause(annotations?.[CAUSE_ANNOTATION])?.changes.find(
          ({ object }) => object === 'Secret default/s',
        );
        return change?.to ?? '';
      }),
    );
    assert.match(digests[0] ?? '', /^[0-9a-f]{12}$/);
    assert.match(digests[1] ?? '', /^[0-9a-f]{12}$/);
    assert.notEqual(digests[0], digests[1]);
  });
});
