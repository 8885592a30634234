import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  defineKind,
  findCondition,
  integer,
  type KindOf,
  map,
  object,
  optional,
  string,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../../operator.ts';
import { apply, conditionType, drop, noCondition, plan, released } from '../../plan/index.ts';
import { reconciler } from '../../reconciler.ts';

const Probe = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Probe',
  scope: 'Namespaced',
  spec: object({ value: string(), mode: optional(string()) }),
  status: object({
    conditions: conditions(),
    seen: optional(string()),
    kept: optional(string()),
    count: optional(integer()),
    details: optional(map(string())),
  }),
  memory: object({ first: string() }),
});
type Probe = KindOf<typeof Probe>;

const ready = conditionType<'Fine' | 'Broken'>('Ready');

const probe = reconciler<Probe, { first: string }>({
  name: 'probe',
  resource: Probe,
  reconcile({ object: { spec }, memory }) {
    if (spec.mode === 'throw') throw new Error('this reconciler has a bug');
    if (spec.mode === 'quiet') return plan({});
    const first = memory.own?.first ?? spec.value;
    return plan({
      conditions: [
        spec.mode === 'broken'
          ? ready.isFalse('Broken', 'fix it')
          : spec.mode === 'gone'
            ? noCondition('Ready')
            : ready.isTrue('Fine'),
      ],
      status: {
        seen: spec.value,
        kept: spec.mode === 'drop' ? drop() : spec.mode === 'forget' ? undefined : 'kept',
        details: { [spec.value]: 'x' },
      },
      progress: { count: Number(spec.value) || 0 },
      memory: { first },
    });
  },
});

const operators = [operator({ name: 'test', kinds: [Probe], reconcilers: [probe] })];
const ref = { namespace: 'default', name: 'p' };

async function staged(check: (stage: Stage & { edit(spec: object): Promise<Probe> }) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators,
    given: async (client) => {
      await client.create(Probe, { apiVersion: Probe.apiVersion, kind: 'Probe', metadata: ref, spec: { value: '1' } });
    },
  });
  const edit = async (spec: object) => {
    await stage.client.patch(Probe, ref, 'merge', { spec });
    await stage.settle();
    return stage.client.get(Probe, ref);
  };
  try {
    await check(Object.assign(Object.create(stage) as Stage, { edit }));
  } finally {
    await stage.end();
  }
}

describe('status', () => {
  test('is written once, with observedGeneration, and not again after a restart', () =>
    staged(async (stage) => {
      const { status, metadata } = await stage.client.get(Probe, ref);
      assert.equal(status?.observedGeneration, 1);
      assert.equal(status?.seen, '1');
      assert.equal(status?.conditions?.[0]?.observedGeneration, 1);
      assert.equal(metadata.generation, 1);
      assert.deepEqual(stage.transport.writes, ['PATCH /apis/test.capstan.dev/v1/namespaces/default/probes/p/status']);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('keeps a field that a plan does not mention, removes one that it drops, and replaces the others as a whole', () =>
    staged(async ({ edit }) => {
      assert.equal((await edit({ value: '2', mode: 'forget' })).status?.kept, 'kept');
      const dropped = await edit({ value: '3', mode: 'drop' });
      assert.equal(dropped.status?.kept, undefined);
      assert.deepEqual(dropped.status?.details, { 3: 'x' });
    }));

  test('moves the transition time of a condition only when its status changes', () =>
    staged(async ({ edit, clock, client }) => {
      const first = (await client.get(Probe, ref)).status?.conditions?.[0];
      await clock.advance(60_000);
      const same = (await edit({ value: '2' })).status?.conditions?.[0];
      assert.equal(same?.lastTransitionTime, first?.lastTransitionTime);
      assert.equal(same?.observedGeneration, 2);
      const other = (await edit({ mode: 'broken' })).status?.conditions?.[0];
      assert.notEqual(other?.lastTransitionTime, first?.lastTransitionTime);
      assert.deepEqual((await edit({ mode: 'gone' })).status?.conditions, []);
    }));

  test('written by another client wakes nothing and is fixed where the plan owns it', () =>
    staged(async ({ client, settle, transport }) => {
      transport.clear();
      await client.patch(Probe, ref, 'merge', { status: { seen: 'nonsense' } }, { subresource: 'status' });
      await settle();
      assert.equal((await client.get(Probe, ref)).status?.seen, '1');
      assert.equal(transport.writes.length, 1);
    }));

  test('gives progress fields at most once a second, first and last value always', () =>
    staged(async ({ client, clock, transport, settle }) => {
      await clock.advance(5000);
      transport.clear();
      for (const value of ['1.0', '1.00', '1.000']) {
        await client.patch(Probe, ref, 'merge', { metadata: { annotations: { value } } });
        await clock.settle();
      }
      assert.deepEqual(transport.writes, []);
      await settle();
    }));
});

describe('memory', () => {
  test('is given back at the next run, also after a restart', () =>
    staged(async (stage) => {
      await stage.edit({ value: '2' });
      await stage.restart();
      const { status } = await stage.edit({ value: '3' });
      assert.deepEqual(status?.memory, { first: '1' });
    }));
});

describe('a reconciler that throws', () => {
  test('shows it on the resource, goes on with other keys, and recovers', () =>
    staged(async ({ client, clock, edit }) => {
      await client.patch(Probe, ref, 'merge', { spec: { mode: 'throw' } });
      await client.create(Probe, {
        apiVersion: Probe.apiVersion,
        kind: 'Probe',
        metadata: { ...ref, name: 'q' },
        spec: { value: '1' },
      });
      await clock.advance(1000);
      const error = (await client.get(Probe, ref)).status?.conditions?.find(({ type }) => type === 'ReconcileError');
      assert.equal(error?.status, 'True');
      assert.equal(error?.reason, 'Threw');
      assert.match(error?.message ?? '', /the reconciler probe threw: this reconciler has a bug/);
      assert.equal((await client.get(Probe, { ...ref, name: 'q' })).status?.seen, '1');
      const fixed = await edit({ mode: null });
      assert.deepEqual(
        fixed.status?.conditions?.map(({ type }) => type),
        ['Ready'],
      );
    }));

  test('is tried again with back-off, not in a loop', () =>
    staged(async ({ client, clock, transport }) => {
      await client.patch(Probe, ref, 'merge', { spec: { mode: 'throw' } });
      await clock.advance(1000);
      transport.clear();
      await clock.advance(600_000);
      assert.deepEqual(transport.writes, []);
    }));
});

test('a refusal of the server is no longer reported once nothing wants the write', async () => {
  const wishful = reconciler<Probe>({
    name: 'wishful',
    resource: Probe,
    writes: [ConfigMap],
    reconcile({ object: { spec } }) {
      const metadata = { namespace: 'default', name: 'child' };
      const data = { [spec.mode === 'refused' ? 'not a key' : 'key']: 'x' };
      return plan({ children: [apply(ConfigMap, { metadata, data })] });
    },
  });
  const stage = await createStage({
    operators: [operator({ name: 'test', kinds: [Probe], reconcilers: [wishful] })],
    given: async (client) => {
      await client.create(Probe, { apiVersion: Probe.apiVersion, kind: 'Probe', metadata: ref, spec: { value: '1' } });
    },
  });
  const reasonAfter = async (spec: object) => {
    await stage.client.patch(Probe, ref, 'merge', { spec });
    await stage.settle();
    return findCondition((await stage.client.get(Probe, ref)).status?.conditions, 'ReconcileError')?.reason;
  };
  try {
    assert.equal(await reasonAfter({ mode: 'refused' }), 'WriteRefused');
    assert.equal(await reasonAfter({ mode: 'fine' }), undefined);
  } finally {
    await stage.end();
  }
});

test('messages of several reconcilers in one status go out one after the other: a write each, and none is refused', async () => {
  const parts = ['One', 'Two', 'Three', 'Four'].map((type) =>
    reconciler<Probe>({
      name: type.toLowerCase(),
      resource: Probe,
      ...(type === 'One' ? { finalizer: 'test.capstan.dev/one', release: () => released() } : {}),
      reconcile: ({ object: { spec } }) =>
        plan({ held: type === 'One', conditions: [conditionType<'Fine'>(type).isTrue('Fine', spec.value)] }),
    }),
  );
  const stage = await createStage({ operators: [operator({ name: 'test', kinds: [Probe], reconcilers: parts })] });
  try {
    const path = '/apis/test.capstan.dev/v1/namespaces/default/probes/p';
    stage.transport.clear();
    await stage.client.create(Probe, {
      apiVersion: Probe.apiVersion,
      kind: 'Probe',
      metadata: ref,
      spec: { value: '1' },
    });
    await stage.settle();
    assert.deepEqual(stage.transport.requests.toSorted(), [
      `PATCH ${path}`,
      ...Array<string>(4).fill(`PATCH ${path}/status`),
    ]);
    assert.deepEqual((await stage.client.get(Probe, ref)).status?.conditions?.map(({ type }) => type).toSorted(), [
      'Four',
      'One',
      'Three',
      'Two',
    ]);
  } finally {
    await stage.end();
  }
});
