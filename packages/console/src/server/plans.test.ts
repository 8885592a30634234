import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMap } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createPlans } from './plans.ts';
import type { ConsoleOutcome, ConsoleSource } from './source.ts';

const { signal } = new AbortController();

function planning({
  writes = true,
  outcome = { done: [] },
  given = [],
}: {
  writes?: boolean;
  outcome?: ConsoleOutcome;
  given?: readonly object[];
} = {}) {
  const clock = createVirtualClock();
  let applied = 0;
  const kinds = [ConfigMap];
  const source = {
    writes,
    runtime: { worlds: new Map([['', { kinds }]]) } as unknown as ConsoleSource['runtime'],
    fetch: async () => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'a', resourceVersion: '7' },
    }),
    plan: async () => ({
      report: { given },
      text: '',
      async apply() {
        applied++;
        return outcome;
      },
    }),
  };
  const plans = createPlans(source, clock);
  const planId = async () =>
    ((await plans.plan({ manifests: 'a: 1' }, signal)).body as { planId?: string }).planId ?? '';
  return { plans, planId, clock, source, applied: () => applied };
}

describe('actions of the console', () => {
  it('are refused without --allow-writes, and such a plan has no id', async () => {
    const { plans, planId, applied } = planning({ writes: false });
    assert.equal(await planId(), '');
    const { status, body } = await plans.act({ planId: 'x', verb: 'apply' }, signal);
    assert.equal(status, 403);
    assert.match(JSON.stringify(body), /--allow-writes/);
    assert.equal(applied(), 0);
  });

  it('apply a plan once', async () => {
    const { plans, planId, applied } = planning();
    const id = await planId();
    assert.equal((await plans.act({ planId: id, verb: 'apply' }, signal)).status, 200);
    assert.equal((await plans.act({ planId: id, verb: 'apply' }, signal)).status, 409);
    assert.equal(applied(), 1);
  });

  it('are refused ten minutes after the plan', async () => {
    const { plans, planId, clock, applied } = planning();
    const id = await planId();
    await clock.advance(10 * 60_000);
    assert.equal((await plans.act({ planId: id, verb: 'apply' }, signal)).status, 409);
    assert.equal(applied(), 0);
  });

  it('report a plan whose inputs changed as a conflict', async () => {
    const { plans, planId } = planning({ outcome: { stale: 'plan again' } });
    assert.equal((await plans.act({ planId: await planId(), verb: 'apply' }, signal)).status, 409);
  });

  it('carry out a plan with the verb that it was made for alone', async () => {
    const { plans, planId, applied } = planning();
    assert.equal((await plans.act({ planId: await planId(), verb: 'drain' }, signal)).status, 409);
    const action = { verb: 'drain', object: 'DiscoveryBackend.gimbal.heptio.com a/b' };
    const { planId: drain } = (await plans.plan({ action }, signal)).body as { planId?: string };
    assert.equal((await plans.act({ planId: drain, verb: 'apply' }, signal)).status, 409);
    assert.equal((await plans.act({ planId: drain, verb: 'drain' }, signal)).status, 200);
    assert.equal(applied(), 1);
  });

  it('that delete ask for the names of the objects', async () => {
    const given = [
      { verb: 'delete', object: 'Secret default/token' },
      { verb: 'delete', object: 'Namespace shop' },
      { verb: 'change', object: 'ConfigMap default/other' },
    ];
    const { plans, applied } = planning({ given });
    const { planId, deletes } = (await plans.plan({ manifests: 'a', delete: true }, signal)).body as {
      planId?: string;
      deletes?: readonly string[];
    };
    assert.deepEqual(deletes, ['token', 'shop']);
    for (const confirm of [undefined, 'token', [], ['token'], ['shop', 'Token']])
      assert.equal((await plans.act({ planId, verb: 'apply', confirm }, signal)).status, 400);
    assert.equal(applied(), 0);
    assert.equal((await plans.act({ planId, verb: 'apply', confirm: ['shop', 'token'] }, signal)).status, 200);
  });

  it('need a draft whose objects are as they were', async () => {
    const { plans } = planning();
    const base = (version: string) => ({ manifests: 'a', base: { 'ConfigMap default/a': version } });
    const { status, body } = await plans.plan(base('6'), signal);
    assert.equal(status, 409);
    assert.match(JSON.stringify(body), /ConfigMap default\/a has changed since the draft was opened/);
    assert.equal((await plans.plan(base('7'), signal)).status, 200);
  });

  it('a newer plan of a draft ends the older one', async () => {
    const { plans, source } = planning();
    const { plan } = source;
    let isFirst = true;
    source.plan = (_request?: unknown, until?: AbortSignal) => {
      if (!isFirst) return plan();
      isFirst = false;
      return new Promise((_resolve, reject) => until?.addEventListener('abort', () => reject(new Error('ended'))));
    };
    const older = plans.plan({ manifests: 'a', draft: 'one' }, signal);
    await Promise.resolve();
    const newer = plans.plan({ manifests: 'b', draft: 'one' }, signal);
    assert.deepEqual([(await older).status, (await newer).status], [499, 200]);
  });

  it('refuse bodies of another form', async () => {
    const { plans, planId, applied } = planning();
    const id = await planId();
    for (const body of [undefined, null, [], {}, { planId: id }, { planId: id, verb: 'delete' }, { verb: 'apply' }])
      assert.equal((await plans.act(body, signal)).status, 400, JSON.stringify(body));
    for (const body of [
      undefined,
      null,
      [],
      {},
      { manifests: 1 },
      { manifests: '', delete: 'yes' },
      { action: { verb: 'apply', object: '' } },
      { manifests: '', base: { a: 1 } },
    ])
      assert.equal((await plans.plan(body, signal)).status, 400, JSON.stringify(body));
    assert.equal(applied(), 0);
  });
});
