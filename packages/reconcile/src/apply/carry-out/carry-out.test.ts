import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClusterRole, ClusterRoleBinding } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type ChildWrite, type WriteSet } from '../../diff/index.ts';
import type { EventInput } from '../../plan/index.ts';
import { applying, deleting, group, owner, refused, stage, status } from './carry-out.test-support.ts';

/** Sends these one after the other: each is left to do until it has been sent. */
const inOrder = (steps: readonly [line: string, writes: Partial<WriteSet>][]) => (sent: readonly string[]) =>
  steps.find(([line]) => !sent.includes(line))?.[1] ?? {};

describe('what is left to do for a key goes out', () => {
  test('the writes for a key go out in order: finalizer, groups, pruning, status', async () => {
    const all = stage(
      inOrder([
        ['finalizers capstan.dev/web', { finalizer: 'add', groups: [group([applying('a')])], prune: [deleting('x')] }],
        ['apply a', { groups: [group([applying('a')]), group([applying('b')])], prune: [deleting('x')] }],
        ['apply b', { groups: [group([applying('b')])], prune: [deleting('x')] }],
        ['delete x', { prune: [deleting('x')], status: status({ done: true }) }],
        ['status {"done":true}', { status: status({ done: true }) }],
      ]),
    );
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, [
      'finalizers capstan.dev/web',
      'apply a',
      'apply b',
      'delete x',
      'status {"done":true}',
    ]);
    assert.deepEqual(all.written, ['finalizer', 'apply', 'apply', 'delete', 'status']);
  });

  test('bindings go out after the roles that they name: a server refuses one whose role it does not know', async () => {
    const binding: ChildWrite = { ...applying('binding'), kind: ClusterRoleBinding };
    const role: ChildWrite = { ...applying('role'), kind: ClusterRole };
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [group([binding, applying('other'), role])] }));
    const known = new Set<string>();
    all.answer = (line) => {
      known.add(line);
      return line === 'apply binding' && !known.has('apply role') ? refused(404, 'NotFound') : undefined;
    };
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['apply other', 'apply role', 'apply binding']);
    assert.deepEqual(all.reports.filter(Boolean), []);
  });

  test('the finalizer goes last, after all children that it held', async () => {
    const held = {
      ...owner,
      metadata: { ...owner.metadata, finalizers: ['capstan.dev/web'], deletionTimestamp: 'now' },
    };
    const all = stage(
      inOrder([
        ['delete x', { prune: [deleting('x')], finalizer: undefined }],
        ['finalizers ', { finalizer: 'remove' }],
      ]),
    );
    all.owner = held;
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['delete x', 'finalizers ']);
  });

  test('a wave follows every step, so that a crash in between loses nothing', async () => {
    const seen: number[] = [];
    const all = stage((sent, { waves }) => {
      seen.push(waves);
      return sent.length >= 2 ? {} : { groups: [group([applying(`c${sent.length}`)])] };
    });
    await all.run();
    assert.deepEqual(all.sent, ['apply c0', 'apply c1']);
    assert.ok(all.waves >= 2);
  });

  test('all writes of a group together, some at a time', async () => {
    let flying = 0;
    let most = 0;
    const many = Array.from({ length: 40 }, (_, index) => applying(`c${index}`));
    const all = stage((sent) => (sent.length > 0 ? {} : { groups: [group(many)] }));
    const { apply: real } = all.job.target.client;
    Object.assign(all.job.target.client, {
      async apply(...args: Parameters<typeof real>) {
        most = Math.max(most, ++flying);
        await all.clock.yield();
        flying--;
        return real(...args);
      },
    });
    await all.run();
    assert.equal(all.sent.length, 40);
    assert.ok(most > 1 && most <= 16, `${most} at once`);
  });

  test('not at all while the object is suspended or gone', async () => {
    const suspended = stage(() => undefined);
    assert.deepEqual(await suspended.run(), { type: 'done' });
    const gone = stage(() => ({ groups: [group([applying('a')])] }), { owner: () => undefined });
    assert.deepEqual(await gone.run(), { type: 'done' });
    assert.deepEqual([...suspended.sent, ...gone.sent], []);
  });

  test('only while we lead, and stops between any two writes when we no longer do', async () => {
    const all = stage(() => ({ groups: [group([applying('a')])] }));
    all.leads = false;
    assert.deepEqual([await all.run(), all.sent], [{ type: 'done' }, []]);
    all.leads = true;
    all.answer = () => {
      all.leads = false;
      return undefined;
    };
    assert.deepEqual([await all.run(), all.sent], [{ type: 'done' }, ['apply a']]);
  });

  test('only while we lead, within a group and before the status too', async () => {
    const many = Array.from({ length: 40 }, (_, index) => applying(`c${index}`));
    const all = stage(() => ({ groups: [group(many)] }));
    all.answer = () => {
      all.leads = false;
      return undefined;
    };
    await all.run();
    assert.ok(all.sent.length <= 16, `${all.sent.length} were sent`);
    const late = stage((_sent, created) => {
      // The lease is lost while the status is being worked out.
      created.leads = created.waves === 0;
      return { status: status({ value: 1 }) };
    });
    await late.run();
    assert.deepEqual(late.sent, []);
  });

  test('no further once it is to stop', async () => {
    const all = stage(() => ({ groups: [group([applying('a')])] }));
    all.answer = () => {
      all.abort();
      return undefined;
    };
    assert.deepEqual([await all.run(), all.sent], [{ type: 'done' }, ['apply a']]);
  });

  test('the rounds of a key are bounded when something writes against it', async () => {
    let round = 0;
    const all = stage(() => ({ groups: [group([applying('a', true, { round: String(round++) })])] }));
    const outcome = await all.run();
    assert.equal(outcome.type, 'retry');
    assert.match(String('error' in outcome && outcome.error), /did not settle/);
    assert.equal(all.sent.length, 30);
  });
});

describe('a key whose plan changes all the time', () => {
  const slow = (next: Parameters<typeof stage>[0]) => {
    let now = 0;
    const all = stage(next, { clock: { ...createVirtualClock(), now: () => now } });
    all.answer = () => {
      now += 100;
      return undefined;
    };
    return all;
  };

  test('gives its worker back where other keys wait, and comes again', async () => {
    const all = slow((sent) => ({ groups: [group([applying('a', true, { value: String(sent.length) })])] }));
    all.isAwaited = true;
    for (let turn = 0; turn < 50; turn++) assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 0 });
    assert.equal(all.sent.length, 150);
    assert.deepEqual(all.reports.filter(Boolean), []);
  });

  test('keeps it where none waits', async () => {
    const all = slow((sent) =>
      sent.length < 20 ? { groups: [group([applying('a', true, { value: String(sent.length) })])] } : {},
    );
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.equal(all.sent.length, 20);
  });

  test('is distinguished from one that something writes against: that ends in the back-off, over all turns', async () => {
    const all = slow(() => ({ groups: [group([applying('a')])] }));
    all.isAwaited = true;
    let outcome = await all.run();
    while (outcome.type === 'retryAfter') outcome = await all.run();
    assert.equal(outcome.type, 'retry');
    assert.equal(all.sent.length, 30);
  });
});

describe('a closed gate', () => {
  test('holds back its group and all after it, but not the status', async () => {
    const all = stage((sent) => ({
      groups: [group([applying('a')], { open: false }), group([applying('b')])],
      prune: [],
      finalizer: 'remove',
      status: sent.length === 0 ? status({ waiting: true }) : undefined,
    }));
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['status {"waiting":true}']);
  });

  test('takes back what was reported of writes that are no longer tried', async () => {
    const all = stage(() => ({ groups: [group([], { open: false })] }));
    await all.run();
    assert.deepEqual(all.reports, [undefined]);
  });
});

describe('events', () => {
  const events: EventInput[] = [{ reason: 'RolledOut', note: 'to v2' }];

  test('are reported along with a write, once', async () => {
    let left = 1;
    const all = stage((sent) => ({ events, groups: sent.length < left ? [group([applying(`c${sent.length}`)])] : [] }));
    await all.run();
    left = 2;
    await all.run();
    assert.deepEqual([all.sent.length, all.reported], [2, ['RolledOut']]);
  });

  test('are reported before the status that remembers them: a process that ends in between reports them again', async () => {
    const order: string[] = [];
    const status = { input: { seen: 'x' }, conditions: [], generation: 1, isUrgent: true };
    const all = stage((sent) => ({ events, ...(sent.length === 0 && { status }) }));
    all.answer = () => void order.push(`status after ${all.reported.length} events`);
    await all.run();
    assert.deepEqual(order.slice(0, 1), ['status after 1 events']);
    assert.deepEqual(all.reported, ['RolledOut']);
  });

  test('are not reported without one, so that a restart repeats none', async () => {
    const all = stage(() => ({ events }));
    await all.run();
    assert.deepEqual(all.reported, []);
  });

  test('are reported when their write goes out at last, after a gate or a quiet period', async () => {
    let open = false;
    const all = stage((sent) => ({ events, groups: sent.length === 0 ? [group([applying('a')], { open })] : [] }));
    await all.run();
    assert.deepEqual(all.reported, []);
    open = true;
    await all.run();
    assert.deepEqual(all.reported, ['RolledOut']);
  });

  test('events that came while a status waited for its turn go with it', async () => {
    let hasWaited = false;
    const all = stage(
      (sent) => ({
        events: hasWaited && sent.length === 0 ? events : [],
        status: sent.length === 0 ? status({ rolledOut: hasWaited }) : undefined,
      }),
      {
        inTurn: (work) => {
          hasWaited = true;
          return work(true);
        },
      },
    );
    await all.run();
    assert.deepEqual([all.sent, all.reported], [['status {"rolledOut":true}'], ['RolledOut']]);
  });

  test('are reported again when the plan contains them again, after it did not', async () => {
    let detail = events;
    let left = 1;
    const all = stage((sent) => ({
      events: detail,
      groups: sent.length < left ? [group([applying(`c${sent.length}`)])] : [],
    }));
    await all.run();
    detail = [];
    await all.run();
    detail = events;
    left = 2;
    await all.run();
    assert.deepEqual(all.reported, ['RolledOut', 'RolledOut']);
  });

  test('are not reported when the write was refused', async () => {
    const all = stage(() => ({ events, groups: [group([applying('a')])] }));
    all.answer = () => refused(403);
    await all.run();
    assert.deepEqual(all.reported, []);
  });

  test('events that are alerts are reported at once, with no write, once while the problem lasts', async () => {
    let alerts: EventInput[] = [{ type: 'Warning', reason: 'Conflict', note: 'no' }];
    const all = stage(() => ({ alerts }));
    await all.run();
    await all.run();
    assert.deepEqual(all.reported, ['Conflict']);
    alerts = [];
    await all.run();
    alerts = [{ type: 'Warning', reason: 'Conflict', note: 'no' }];
    await all.run();
    assert.deepEqual(all.reported, ['Conflict', 'Conflict']);
  });
});
