import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, findCondition, Secret } from '@capstan/kube';
import { operator } from '../../operator.ts';
import { apply, type Minter, mint, plan } from '../../plan/index.ts';
import { reconciler, writing } from '../../reconciler.ts';
import { onRuntime, ref, refusal, replacing, Thing, thing } from '../runtime.test-support.ts';

/** A client in which every apply of a child named so is refused, with the time of each attempt. */
function refusing(name: string, answer: (attempt: number) => Error) {
  const at: number[] = [];
  const through = (client: Client, clock: { now(): number }) =>
    replacing(client, 'apply', async (call, _kind, body) => {
      if ((body as ConfigMap).metadata.name !== name) return call();
      at.push(clock.now());
      throw answer(at.length);
    });
  return { at, through };
}

async function errorOf(client: Client, name: string) {
  const { status } = await client.get(Thing, ref(name));
  return findCondition(status?.conditions, 'ReconcileError');
}

describe('a write that fails', () => {
  for (const [code, reason] of [
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [429, 'TooManyRequests'],
    [403, 'Forbidden'],
  ] as const)
    test(`a write that fails with ${code} is on the resource after two attempts at most, in the words of the server`, async () => {
      const { at, through } = refusing('a', () => refusal(code, reason, 'webhook "guard" says no'));
      await onRuntime({ through }, async ({ client, clock }) => {
        await client.create(Thing, thing('a'));
        await clock.advance(9);
        assert.ok(at.length <= 2, `${at.length} attempts`);
        const error = await errorOf(client, 'a');
        assert.equal(error?.reason, 'WriteRefused');
        assert.match(error?.message ?? '', /ConfigMap default\/a: .*webhook "guard" says no/);
      });
    });

  test('a write that fails for a moment only is retried, and never on the resource', async () => {
    let failures = 1;
    const statuses: string[] = [];
    const through = (client: Client) => {
      const once = replacing(client, 'apply', (call) =>
        failures-- > 0 ? Promise.reject(refusal(500, 'InternalError', 'for a moment')) : call(),
      );
      return replacing(once, 'patch', (call, ...args) => {
        statuses.push(JSON.stringify(args));
        return call();
      });
    };
    await onRuntime({ through }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(1000);
      assert.equal((await client.get(ConfigMap, ref('a'))).data?.['value'], 'a');
      assert.deepEqual(
        statuses.filter((body) => body.includes('ReconcileError')),
        [],
      );
    });
  });

  test('a write that fails in other words each time is tried less and less often, and others go on', async () => {
    const { at, through } = refusing('a', (attempt) => refusal(422, 'Invalid', `refused, request ${attempt}`));
    await onRuntime({ through }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(60_000);
      assert.ok(at.length <= 16, `${at.length} attempts in a minute`);
      await client.create(Thing, thing('b'));
      await clock.advance(1000);
      assert.ok(await client.find(ConfigMap, ref('b')));
      assert.match((await errorOf(client, 'a'))?.message ?? '', /request 1\d/);
    });
  });

  test('after a quiet period is tried less and less often', async () => {
    const quiet = reconciler<Thing>({
      name: 'things',
      resource: Thing,
      writes: [ConfigMap],
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          children: [apply(ConfigMap, { metadata: ref(metadata.name ?? ''), data: { value: spec.value } })],
          quietMs: 2000,
          quietAtCreation: true,
        }),
    });
    const { at, through } = refusing('a', () => refusal(422, 'Invalid', 'must be less than or equal to cpu limit'));
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [quiet] })];
    await onRuntime({ operators, through }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(175_000);
      assert.ok(at.length >= 5 && at.length <= 17, `${at.length} attempts in 175 s`);
      const waits = at.slice(1).map((time, before) => time - (at[before] ?? 0));
      assert.ok((waits[0] ?? 0) < 100, 'what was quiet once need not be so again before the second attempt');
      assert.ok((waits.at(-1) ?? 0) > 10_000, `the last wait was ${waits.at(-1)} ms`);
    });
  });

  test('is tried at once when what is wanted changes', async () => {
    const { at, through } = refusing('a', (attempt) => refusal(422, 'Invalid', `refused, request ${attempt}`));
    await onRuntime({ through }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(300_000);
      const before = at.length;
      await clock.advance(1000);
      assert.equal(at.length, before, 'it waits for long by now');
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'corrected' } });
      await clock.advance(10);
      assert.equal(at.length, before + 1);
    });
  });
});

describe('an error', () => {
  test('an error that is thrown while writes are computed is on the resource, and other objects go on', async () => {
    const broken: Minter<string, Secret> = {
      name: 'broken',
      valid() {
        throw new Error('the certificate does not parse');
      },
      make: () => Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: {} }),
    };
    const minting = reconciler<Thing>({
      name: 'things',
      resource: Thing,
      writes: [writing(Secret, 'mint'), ConfigMap],
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          children: [
            spec.value === 'mint'
              ? mint(Secret, { namespace: 'default', name: metadata.name ?? '' }, broken, 'x')
              : apply(ConfigMap, { metadata: ref(metadata.name ?? ''), data: { value: spec.value } }),
          ],
        }),
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [minting] })];
    const given = async (client: Client) => {
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref('a') });
    };
    await onRuntime({ operators, given }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'mint'));
      await client.create(Thing, thing('b'));
      await clock.advance(5000);
      const error = await errorOf(client, 'a');
      assert.equal(error?.reason, 'Threw');
      assert.match(
        error?.message ?? '',
        /the writes of things cannot be computed: valid of the minter broken threw: Error \(its message may quote secret/,
      );
      assert.ok(await client.find(ConfigMap, ref('b')));
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'plain' } });
      await clock.advance(5000);
      assert.equal(await errorOf(client, 'a'), undefined);
    });
  });

  test('the errors of two reconcilers of one object are on it, and go when they are over', async () => {
    const throwing = (name: string) =>
      reconciler<Thing>({
        name,
        resource: Thing,
        reconcile({ object: { spec } }) {
          if (spec.value.includes(name)) throw new Error(`${name} is broken`);
          return plan();
        },
      });
    const reconcilers = [throwing('first'), throwing('second')];
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers })];
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'first second'));
      await clock.advance(5000);
      const both = (await errorOf(client, 'a'))?.message.split('\n') ?? [];
      assert.deepEqual(both, [
        'the reconciler first threw: first is broken (test.first)',
        'the reconciler second threw: second is broken (test.second)',
      ]);
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'second' } });
      await clock.advance(5000);
      assert.equal((await errorOf(client, 'a'))?.message, both[1]);
      await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'none' } });
      await clock.advance(5000);
      assert.equal(await errorOf(client, 'a'), undefined);
    });
  });

  test('an error that a reconciler throws in other words each time is tried less and less often', async () => {
    let runs = 0;
    const throwing = reconciler<Thing>({
      name: 'throwing',
      resource: Thing,
      reconcile() {
        throw new Error(`bug number ${++runs}`);
      },
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [throwing] })];
    await onRuntime({ operators }, async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await clock.advance(60_000);
      assert.ok(runs >= 3 && runs <= 32, `${runs} runs in a minute`);
      assert.match((await errorOf(client, 'a'))?.message ?? '', /the reconciler throwing threw: bug number \d+/);
    });
  });
});
