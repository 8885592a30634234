// Every promise that an author's function may return never settles here. The call ends at its time limit, the resource shows the reason of
// the wait, everything else continues, and the program ends in time.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCondition, Secret, type Secret as SecretObject } from '@capstan/kube';
import type { VirtualClock } from '@capstan/testing';
import { operator } from '../../operator.ts';
import { type Minter, mint, plan } from '../../plan/index.ts';
import { derivation, fact, source } from '../../read/index.ts';
import { reconciler, writing } from '../../reconciler.ts';
import { type Sink, type SinkBatch, sink } from '../../sinks/index.ts';
import { onRuntime, type RunningRuntime, ref, Thing, thing } from '../runtime.test-support.ts';

const never = () => new Promise<never>(() => {});
const valueOf = ({ spec }: Thing) => spec.value;

async function conditionOf({ client }: RunningRuntime, name: string, type: string): Promise<string> {
  const { status } = await client.get(Thing, ref(name));
  return findCondition(status?.conditions, type)?.message ?? '';
}

describe('an author awaits for ever:', () => {
  test('forty minters that hang stop no other object, and each shows what it waits for', async () => {
    const calls: string[] = [];
    const token: Minter<{ value: string; name: string }, SecretObject> = {
      name: 'token',
      valid: ({ metadata }, { value }) => metadata.annotations?.['value'] === value,
      make({ value, name }) {
        calls.push(name);
        if (value === 'hangs') return never();
        return Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: { annotations: { value } } });
      },
    };
    const tokens = reconciler<Thing>({
      name: 'tokens',
      resource: Thing,
      writes: [writing(Secret, 'mint')],
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          status: { seen: spec.value },
          children: [mint(Secret, ref(`t-${metadata.name}`), token, { value: spec.value, name: metadata.name ?? '' })],
        }),
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [tokens] })];
    await onRuntime({ operators }, async (running) => {
      const { client, clock } = running;
      for (let i = 0; i < 40; i++) await client.create(Thing, thing(`hangs-${i}`, 'hangs'));
      await clock.advance(1000);
      await client.create(Thing, thing('other', 'fine'));
      await clock.advance(10_000);
      assert.ok(await client.find(Secret, ref('t-other')), 'the other object is minted while forty hang');
      for (const name of ['hangs-0', 'hangs-39'])
        assert.match(
          await conditionOf(running, name, 'Waiting'),
          /Secret default\/t-hangs-\d+: waiting for the minter token since \d{4}-.*Z/,
        );
      await clock.advance(120_000);
      assert.ok(calls.filter((name) => name === 'hangs-0').length > 1, 'it is tried again after its limit');
      assert.match(
        await conditionOf(running, 'hangs-0', 'Waiting'),
        /waiting for the minter token since \d{4}-.*Z; the minter token did not return within 60 s/,
      );
      await client.patch(Thing, ref('hangs-0'), 'merge', { spec: { value: 'fine' } });
      await clock.advance(120_000);
      assert.ok(await client.find(Secret, ref('t-hangs-0')), 'the corrected object heals');
      assert.equal(await conditionOf(running, 'hangs-0', 'Waiting'), '');
      assert.equal(await conditionOf(running, 'hangs-0', 'ReconcileError'), '');
    });
  });

  test('a fact that hangs shows on the resource that reads it', async () => {
    const outside = fact<string>({
      name: 'outside',
      fetch: (value) => (value === 'hangs' ? never() : Promise.resolve(value)),
    });
    const facts = reconciler<Thing>({
      name: 'facts',
      resource: Thing,
      reconcile({ object: { spec }, read }) {
        const { value, error } = read.fact(outside, spec.value);
        return plan({ status: { seen: value ?? error?.message ?? '' } });
      },
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [facts] })];
    await onRuntime({ operators }, async (running) => {
      const { client, clock } = running;
      await client.create(Thing, thing('a', 'hangs'));
      await client.create(Thing, thing('b', 'fine'));
      await clock.advance(20_000);
      assert.match(await conditionOf(running, 'a', 'Waiting'), /waiting for fact outside\/hangs since \d{4}-.*Z/);
      assert.equal((await client.get(Thing, ref('b'))).status?.seen, 'fine');
      await clock.advance(60_000);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'no result within 60 s');
      assert.equal(await conditionOf(running, 'a', 'Waiting'), '');
    });
  });

  test('a source that is never complete is opened again', async () => {
    let openings = 0;
    const rows = source<string>({
      name: 'rows',
      timeoutMs: 30_000,
      open({ table }) {
        if (openings++ === 0) return never();
        table.put('a', 'row');
        table.complete();
        return never();
      },
    });
    const sources = reconciler<Thing>({
      name: 'sources',
      resource: Thing,
      reconcile: ({ object: { metadata }, read }) =>
        plan({ status: { seen: read.source(rows).get(metadata.name ?? '') ?? 'none' } }),
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [sources] })];
    await onRuntime({ operators }, async (running) => {
      const { client, clock } = running;
      await client.create(Thing, thing('a'));
      await clock.advance(20_000);
      assert.match(await conditionOf(running, 'a', 'Waiting'), /waiting for source rows\/a since/);
      await clock.advance(40_000);
      assert.equal(openings, 2);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, 'row');
      assert.equal(await conditionOf(running, 'a', 'Waiting'), '');
    });
  });
});

interface Outside {
  opened: number;
  closed: number;
  /** Values as they are outside, and how many takes are under way. */
  readonly values: Map<string, string>;
  busy: number;
  most: number;
  readonly generations: number[];
}

/** A sink that ignores its signals; `open` and `take` wait for promises of the test. */
function careless(waits: { open?(time: number): Promise<unknown>; take?(batch: SinkBatch<string>): Promise<unknown> }) {
  const outside: Outside = { opened: 0, closed: 0, values: new Map(), busy: 0, most: 0, generations: [] };
  const value = derivation<string>({
    name: 'value',
    compute: ({ key, read }) => read.get(Thing, ref(key.split('/')[1] ?? ''), valueOf) ?? '',
  });
  const push = sink<string>({
    name: 'push',
    of: value,
    keys: Thing,
    reads: [Thing],
    lease: 'none',
    timeoutMs: 5000,
    async open({ mayAct }) {
      outside.opened++;
      await waits.open?.(outside.opened);
      return {
        async take(batch) {
          outside.generations.push(batch.generation);
          outside.most = Math.max(outside.most, ++outside.busy);
          await waits.take?.(batch);
          outside.busy--;
          if (!mayAct()) return;
          for (const { key, after } of batch.changes) outside.values.set(key, after ?? '');
        },
        async close() {
          outside.closed++;
          await never();
        },
      };
    },
  });
  const status = reconciler<Thing>({
    name: 'status',
    resource: Thing,
    reconcile: ({ object: { spec } }) => plan({ status: { seen: spec.value } }),
  });
  return {
    outside,
    operators: [operator({ name: 'test', kinds: [Thing], reconcilers: [status], sinks: [push as Sink] })],
  };
}

describe('a sink that ignores its signals', () => {
  test('is opened again when it does not open in time', async () => {
    const { outside, operators } = careless({ open: (time) => (time === 1 ? never() : Promise.resolve()) });
    await onRuntime({ operators }, async (running) => {
      const { client, clock } = running;
      await client.create(Thing, thing('a', 'one'));
      await clock.advance(4200);
      assert.match(
        await conditionOf(running, 'a', 'ReconcileError'),
        /the sink push: the sink test\.push did not open within 5 s/,
      );
      await clock.advance(20_000);
      assert.equal(outside.opened, 2);
      assert.equal(outside.values.get('default/a'), 'one');
      assert.equal(await conditionOf(running, 'a', 'ReconcileError'), '');
    });
  });

  test('closes what opens too late', async () => {
    const late = Promise.withResolvers<void>();
    const { outside, operators } = careless({ open: (time) => (time === 1 ? late.promise : Promise.resolve()) });
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'one'));
      await clock.advance(30_000);
      late.resolve();
      await clock.advance(1000);
      assert.equal(outside.closed, 1);
      assert.equal(outside.values.get('default/a'), 'one');
    });
  });

  test('never runs two deliveries at once, and a late one overwrites nothing newer', async () => {
    const late = Promise.withResolvers<void>();
    let takes = 0;
    const { outside, operators } = careless({ take: () => (takes++ === 1 ? late.promise : Promise.resolve()) });
    await onRuntime({ operators }, async (running) => {
      const { client, clock } = running;
      await client.create(Thing, thing('a', 'one'));
      await clock.advance(1000);
      for (const value of ['two', 'three', 'four']) {
        await client.patch(Thing, ref('a'), 'merge', { spec: { value } });
        await clock.advance(10_000);
      }
      assert.equal(outside.most, 1);
      assert.match(
        await conditionOf(running, 'a', 'ReconcileError'),
        /waiting for the sink test\.push since \d{4}-.*Z|did not return from a delivery within 5 s/,
      );
      late.resolve();
      await clock.advance(60_000);
      assert.equal(outside.most, 1);
      assert.equal(outside.values.get('default/a'), 'four');
      assert.equal(await conditionOf(running, 'a', 'ReconcileError'), '');
    });
  });

  test('is given up after ten times its limit: the next session has a higher generation, the old one may not act', async () => {
    const late = Promise.withResolvers<void>();
    let takes = 0;
    const { outside, operators } = careless({ take: () => (takes++ === 1 ? late.promise : Promise.resolve()) });
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'one'));
      await clock.advance(1000);
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'two' } });
      await clock.advance(1000);
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'three' } });
      await clock.advance(120_000);
      assert.equal(outside.opened, 2);
      assert.equal(outside.values.get('default/a'), 'three');
      const [first = 0] = outside.generations;
      assert.ok((outside.generations.at(-1) ?? 0) > first);
      late.resolve();
      await clock.advance(1000);
      assert.equal(outside.values.get('default/a'), 'three', 'mayAct() of the session that was given up is false');
    });
  });
});

describe('the end of the program', () => {
  const hanging: Record<string, Parameters<typeof careless>[0]> = {
    'open of a sink': { open: never },
    'take of a sink': { take: never },
    'close of a sink': {},
  };
  for (const [name, waits] of Object.entries(hanging))
    test(`does not wait for ever for ${name}`, async () => {
      const { operators } = careless(waits);
      await endsInTime(operators);
    });

  test('does not wait for ever for a minter, a fact or a source', async () => {
    const token: Minter<string, SecretObject> = { name: 'token', valid: () => true, make: never };
    const outside = fact<string>({ name: 'outside', fetch: never });
    const rows = source<string>({ name: 'rows', open: never });
    const minting = reconciler<Thing>({
      name: 'minting',
      resource: Thing,
      writes: [writing(Secret, 'mint')],
      reconcile: ({ object: { metadata } }) => plan({ children: [mint(Secret, ref(`t-${metadata.name}`), token, '')] }),
    });
    const reads = reconciler<Thing>({
      name: 'reads',
      resource: Thing,
      primary: false,
      reconcile({ read }) {
        read.source(rows).keys();
        return plan({ status: { seen: read.fact(outside, 'x').value ?? '' } });
      },
    });
    await endsInTime([operator({ name: 'test', kinds: [Thing], reconcilers: [minting, reads] })]);
  });
});

/** Runs until something is under way, and then asks the runtime to end: it must, within the limit of the manager. */
async function endsInTime(operators: Parameters<typeof onRuntime>[0]['operators'] & object): Promise<void> {
  let took = Number.POSITIVE_INFINITY;
  let clock: VirtualClock | undefined;
  let stoppedAt = 0;
  const onEnd = (at: number) => {
    took = at - stoppedAt;
  };
  await onRuntime({ operators, onEnd }, async (running) => {
    clock = running.clock;
    await running.client.create(Thing, thing('a', 'one'));
    await clock.advance(3000);
    stoppedAt = clock.now();
  });
  assert.ok(took <= 30_000, `it took ${took} ms`);
}
