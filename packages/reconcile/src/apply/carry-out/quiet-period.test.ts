import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap } from '@capstan/kube';
import { granted } from '../../ownership/ownership.test-support.ts';
import { applying, group, owner, ref, refused, stage, status } from './carry-out.test-support.ts';

describe('a quiet period', () => {
  const wanting = (value: string, exists = true) => group([applying('a', exists, { value })], { quietMs: 5000 });

  test('is waited for, and restarts when the desired state changes', async () => {
    let value = '1';
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [wanting(value)] }));
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    await all.clock.advance(3000);
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 2000 });
    value = '2';
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['apply a']);
  });

  test('is not put off for ever by a user who keeps changing his mind', async () => {
    let value = 0;
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [wanting(String(value))] }));
    for (; all.sent.length === 0 && value < 30; value++) {
      await all.run();
      await all.clock.advance(4000);
    }
    assert.deepEqual(all.sent, ['apply a']);
    assert.equal(value, 14, 'after ten quiet periods: 50 s of changes, one every 4 s');
  });

  test('is not restarted by what an earlier group writes meanwhile', async () => {
    let value = 0;
    const all = stage((sent) => {
      if (sent.includes('apply a')) return {};
      const early = applying(`early-${value}`, false);
      return {
        groups: [
          ...(sent.includes(`apply early-${value}`) ? [] : [group([early])]),
          { ...wanting(String(value)), name: 'late' },
        ],
      };
    });
    for (; !all.sent.includes('apply a') && value < 30; value++) {
      await all.run();
      await all.clock.advance(4000);
    }
    assert.equal(value, 14, 'after ten quiet periods, as without the other group');
  });

  test('two groups that wait have one quiet period, not two in a row', async () => {
    let value = '1';
    const all = stage((sent) => ({
      groups: [
        ...(sent.includes('apply first')
          ? []
          : [group([applying('first', false, { value })], { name: 'first', quietMs: 5000, quietAtCreation: true })]),
        ...(sent.includes('apply a') ? [] : [{ ...wanting(value), name: 'second' }]),
      ],
    }));
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    await all.clock.advance(4000);
    value = '2';
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['apply first', 'apply a']);
  });

  test('is not needed for a write that disturbs nothing', async () => {
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [wanting('1', false)] }));
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['apply a']);
  });

  test('counts before something is made where a group says so', async () => {
    const first = group([applying('a', false, { value: '1' })], { quietMs: 5000, quietAtCreation: true });
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [first] }));
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    await all.clock.advance(5000);
    await all.run();
    assert.deepEqual(all.sent, ['apply a']);
  });

  test('is not restarted by what happens elsewhere in an object that is patched', async () => {
    let version = 1;
    const all = stage(() => ({
      groups: [
        group(
          [
            {
              verb: 'patch',
              may: granted('update'),
              kind: ConfigMap,
              ref: ref('p'),
              uid: 'p',
              operations: [
                { op: 'test', path: '/metadata/resourceVersion', value: String(version++) },
                { op: 'add', path: '/data/x', value: 'y' },
              ],
              causeAt: undefined,
            },
          ],
          { quietMs: 5000 },
        ),
      ],
    }));
    await all.run();
    await all.clock.advance(4000);
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 1000 });
  });

  test('is forgotten when its writes are no longer wanted', async () => {
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [wanting('1')], status: status({ value: 1 }) }));
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['status {"value":1}']);
  });

  test('a quiet period that ends before progress is due is looked at in time, and the other way round', async () => {
    for (const [quietMs, ms] of [
      [400, 400],
      [5000, 1000],
    ] as const) {
      let value = 0;
      const all = stage((sent) => ({
        groups: value === 0 ? [] : [group([applying('a')], { quietMs })],
        ...(sent.length > value ? {} : { status: status({ value }, false) }),
      }));
      await all.run();
      value = 1;
      assert.deepEqual(await all.run(), { type: 'retryAfter', ms });
    }
  });

  test('restarts after its writes have gone out', async () => {
    const all = stage((sent) => (sent.length === 1 ? {} : { groups: [wanting('1')] }));
    await all.run();
    await all.clock.advance(5000);
    await all.run();
    all.sent.push('the same is wanted again');
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
  });

  test('is waited for again when the same is still wanted after it was written', async () => {
    const all = stage(() => ({ groups: [wanting('1')] }));
    await all.run();
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    assert.deepEqual(all.sent, ['apply a']);
  });
});

describe('a pre-flight', () => {
  const flight = (sent: readonly string[]) =>
    sent.includes('apply b') ? {} : { groups: [group([applying('a'), applying('b')], { preflight: true })] };

  test('asks for all writes of the group before the first is sent', async () => {
    const all = stage(flight);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['rehearse a', 'rehearse b', 'apply a', 'apply b']);
  });

  test('a pre-flight that is refused sends nothing, is reported, and is tried again later', async () => {
    const all = stage(flight);
    all.answer = (line) => (line === 'rehearse b' ? refused(422, 'Invalid') : undefined);
    const outcome = await all.run();
    assert.equal(outcome.type, 'retry');
    assert.deepEqual(all.sent, ['rehearse a', 'rehearse b']);
    assert.equal(all.reports[0]?.reason, 'PreflightRefused');
    assert.match(all.reports[0]?.message ?? '', /^ConfigMap default\/b: /);
  });

  test('a pre-flight that finds the ground shifted plans again', async () => {
    const all = stage(flight);
    let isFirst = true;
    all.answer = (line) => {
      if (line !== 'rehearse b' || !isFirst) return undefined;
      isFirst = false;
      return refused(409, 'Conflict');
    };
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.reports, [undefined]);
    assert.deepEqual(all.sent.slice(-2), ['apply a', 'apply b']);
  });
});

test('a pre-flight that finds the same ground shifted again is left to the back-off', async () => {
  const all = stage(() => ({ groups: [group([applying('a')], { preflight: true })] }));
  all.answer = (line) => (line === 'find' ? owner : refused(409, 'Conflict'));
  assert.equal((await all.run()).type, 'retry');
  assert.deepEqual(all.sent, ['rehearse a', 'rehearse a']);
});

describe('ground that has shifted', () => {
  const moved = { ...owner, metadata: { ...ref('a'), uid: 'another' } };

  test('is planned on again, at once and without a report', async () => {
    const all = stage((sent) =>
      sent.length >= 2 ? {} : { groups: [group([applying('a', true, { try: String(sent.length) })])] },
    );
    all.answer = (line) => (line === 'find' ? moved : all.sent.length === 1 ? refused(409, 'Conflict') : undefined);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual([all.sent, all.written, all.reports], [['apply a', 'apply a'], ['apply'], [undefined]]);
  });

  test('a shifted ground that leads to the very same write again is left to the back-off', async () => {
    const all = stage(() => ({ groups: [group([applying('a')])] }));
    all.answer = (line) => (line === 'find' ? moved : refused(409, 'Conflict'));
    const outcome = await all.run();
    assert.match(String('error' in outcome && outcome.error), /ConfigMap default\/a differs from the cache/);
    assert.equal(all.sent.length, 2);
  });
});
