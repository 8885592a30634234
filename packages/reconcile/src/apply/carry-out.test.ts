import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ApiError,
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  createClient,
  type KubeObject,
  silentLogger,
  TransportError,
} from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import {
  type ApplyWrite,
  type ChildWrite,
  type DeleteWrite,
  type Failure,
  NOTHING,
  type PendingGroup,
  type StatusWrite,
  type WriteSet,
} from '../diff/index.ts';
import { CLAIMANT, granted } from '../ownership/ownership.test-support.ts';
import type { EventInput } from '../plan/index.ts';
import { ownershipOf } from './apply.test-support.ts';
import { carryOut, createKeyState, type Job } from './carry-out.ts';

const owner: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name: 'owner', uid: 'u', resourceVersion: '1' },
};
const ref = (name: string) => ({ namespace: 'default', name });
const body = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref(name),
  data,
});
const applying = (name: string, exists = true, data = {}): ApplyWrite => ({
  verb: 'apply',
  may: granted(exists ? 'update' : 'create'),
  kind: ConfigMap,
  ref: ref(name),
  body: body(name, data),
  exists,
  taken: [],
});
const deleting = (name: string, uid = name): DeleteWrite => ({
  verb: 'delete',
  kind: ConfigMap,
  ref: ref(name),
  uid,
  because: 'pruned',
  may: granted('delete'),
  intent: { mode: 'unplanned' },
  claimant: CLAIMANT,
});
const group = (writes: readonly ChildWrite[], given: Partial<PendingGroup> = {}): PendingGroup => ({
  name: 'group',
  writes,
  quietMs: 0,
  quietAtCreation: false,
  preflight: false,
  open: true,
  waitingFor: undefined,
  ...given,
});
const status = (input: Record<string, unknown>, isUrgent = true): StatusWrite => ({
  input,
  conditions: [],
  generation: 1,
  isUrgent,
});
const refused = (code: number, reason?: string) =>
  new ApiError({
    code,
    status: { ...(reason ? { reason } : {}), message: 'refused' },
    method: 'PATCH',
    path: '/x',
    address: 'test',
  });

type Answer = Error | KubeObject | undefined;

/**
 * One key whose writes a test decides: `next` is called after every wave, with the requests so far. `answer` answers every request, else
 * the request succeeds.
 */
function stage(
  next: (sent: readonly string[], stage: Stage) => Partial<WriteSet> | undefined,
  given: Partial<Job> = {},
) {
  const clock = createVirtualClock();
  const created: Stage = {
    clock,
    sent: [],
    waves: 0,
    reported: [],
    reports: [],
    written: [],
    fresh: true,
    leads: true,
    isAwaited: false,
    answer: () => undefined,
    owner,
  };
  const abort = new AbortController();
  const respond = (line: string, good: KubeObject | undefined) => {
    const answer = created.answer(line);
    if (answer instanceof Error) throw answer;
    return answer ?? good;
  };
  const send = (line: string, object: KubeObject | undefined) => {
    created.sent.push(line);
    return Promise.resolve().then(() => respond(line, object));
  };
  const real = createClient({
    transport: {
      request: () => assert.fail('no request'),
      watch: () => assert.fail('no watch'),
      close: () => Promise.resolve(),
    } as never,
    clock,
    random: createRandom(1),
    logger: silentLogger,
  });
  const client = {
    ...real,
    apply: (_kind: unknown, object: KubeObject, { dryRun }: { dryRun?: boolean }) =>
      send(`${dryRun ? 'rehearse' : 'apply'} ${object.metadata.name}`, object),
    patch: (
      _kind: unknown,
      { name }: { name: string },
      _type: string,
      patch: { status?: unknown; metadata?: KubeObject['metadata'] },
    ) =>
      send(
        patch.status ? `status ${JSON.stringify(patch.status)}` : `finalizers ${patch.metadata?.finalizers?.join()}`,
        { ...owner, metadata: { ...owner.metadata, name } },
      ),
    delete: (_kind: unknown, { name }: { name: string }) => send(`delete ${name}`, undefined),
    find: () => Promise.resolve(created.answer('find') as KubeObject | undefined),
  } as unknown as Job['target']['client'];
  let current: WriteSet | undefined;
  const evaluate = () => {
    const partial = next(created.sent, created);
    current = partial === undefined ? undefined : { ...NOTHING, ...partial };
  };
  evaluate();
  const job: Job = {
    writes: () => current,
    owner: () => ownershipOf(ConfigMap, created.owner),
    wave() {
      created.waves++;
      evaluate();
      return Promise.resolve();
    },
    isFresh: () => created.fresh,
    report: (failure) => created.reports.push(failure),
    notify: ({ reason }) => created.reported.push(reason),
    written: ({ verb }) => created.written.push(verb),
    state: createKeyState(),
    target: { client, observeWrite: () => undefined, observeDelete: () => undefined },
    manager: 'capstan.test.web',
    finalizer: 'capstan.dev/web',
    clock,
    mayWrite: () => created.leads,
    isAwaited: () => created.isAwaited,
    meetForeign: () => undefined,
    cause: () => undefined,
    inTurn: (work) => work(false),
    signal: abort.signal,
    ...given,
  };
  return Object.assign(created, {
    job,
    run: () => {
      evaluate();
      return carryOut(job);
    },
    abort: () => abort.abort(),
  });
}

interface Stage {
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly sent: string[];
  waves: number;
  readonly reported: string[];
  readonly reports: (Failure | undefined)[];
  readonly written: string[];
  fresh: boolean;
  leads: boolean;
  isAwaited: boolean;
  answer: (line: string) => Answer;
  owner: KubeObject;
}

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

describe('pruning', () => {
  const pruning = (count: number, inventory: number) => {
    const prune = Array.from({ length: count }, (_, index) => deleting(`x${index}`));
    return (sent: readonly string[]) => (sent.length > 0 ? {} : { prune, inventory });
  };

  test('pruning of a small share goes at once', async () => {
    for (const [count, inventory] of [
      [1, 1],
      [1, 2],
      [2, 4],
      [5, 100],
    ] as const) {
      const all = stage(pruning(count, inventory));
      assert.deepEqual(await all.run(), { type: 'done' });
      assert.equal(all.sent.length, count);
    }
  });

  test('pruning of a large share at once needs a second check', async () => {
    for (const [count, inventory] of [
      [2, 2],
      [3, 5],
      [60, 100],
    ] as const) {
      const all = stage(pruning(count, inventory));
      assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
      assert.deepEqual(all.sent, []);
      await all.clock.advance(5000);
      assert.deepEqual(await all.run(), { type: 'done' });
      assert.equal(all.sent.length, count);
    }
  });

  test('pruning that is no longer wanted at the second check does not happen', async () => {
    let prune = [deleting('x'), deleting('y')];
    const all = stage(() => ({ prune, inventory: prune.length }));
    await all.run();
    prune = [];
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, []);
  });

  test('pruning leaves other objects of the same names alone', async () => {
    let uid = 'first';
    const all = stage(() => ({ prune: [deleting('x', uid), deleting('y', uid)], inventory: 2 }));
    await all.run();
    uid = 'second';
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    assert.deepEqual(all.sent, []);
  });

  test('pruning with an owner that is being deleted goes at once', async () => {
    const all = stage(pruning(3, 3));
    all.owner = { ...owner, metadata: { ...owner.metadata, deletionTimestamp: 'now' } };
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.equal(all.sent.length, 3);
  });

  test('waits for caches that the server has confirmed lately', async () => {
    const all = stage(pruning(1, 5));
    all.fresh = false;
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 1000 });
    assert.deepEqual(all.sent, []);
    all.fresh = true;
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['delete x0']);
  });

  test('does not begin while a group is left', async () => {
    const all = stage(() => ({ groups: [group([], { open: false })], prune: [deleting('x')] }));
    await all.run();
    assert.deepEqual(all.sent, []);
  });
});

describe('a status', () => {
  test('a status that is urgent goes out at once, each time', async () => {
    let value = 1;
    const all = stage((sent) => (sent.length === value ? {} : { status: status({ value }) }));
    await all.run();
    value = 2;
    await all.run();
    assert.deepEqual(all.sent, ['status {"value":1}', 'status {"value":2}']);
  });

  test('a status of progress alone goes out once a second, the first and the last value always', async () => {
    let value = 0;
    const all = stage((sent) =>
      sent.at(-1) === `status {"value":${value}}` ? {} : { status: status({ value }, false) },
    );
    assert.deepEqual(await all.run(), { type: 'done' });
    for (const step of [1, 2, 3]) {
      value = step;
      await all.clock.advance(100);
      assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 1000 - step * 100 });
    }
    await all.clock.advance(700);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['status {"value":0}', 'status {"value":3}']);
  });

  test('is written from what was evaluated after the last report', async () => {
    const all = stage((_sent, { reports }) => ({
      groups: [group([applying('a')])],
      status: reports.length > 0 ? status({ failure: true }) : status({ fine: true }),
    }));
    all.answer = (line) => (line.startsWith('apply') ? refused(403) : undefined);
    await all.run();
    assert.deepEqual(all.sent, ['apply a', 'status {"failure":true}']);
  });

  test('a status that the server does not keep is not written for ever', async () => {
    const all = stage(() => ({ status: status({ unknown: 1 }) }));
    const outcome = await all.run();
    assert.match(String('error' in outcome && outcome.error), /did not keep the status .*\(unknown\)/);
    assert.equal(all.sent.length, 1);
  });

  test('a status whose object moved on is planned again, and does not count as written', async () => {
    const all = stage((sent) => (sent.length >= 2 ? {} : { status: status({ value: 1 }) }));
    all.answer = (line) => (all.sent.length === 1 ? (line === 'find' ? owner : refused(409, 'Conflict')) : undefined);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual([all.sent.length, all.written], [2, ['status']]);
  });

  test('a status that cannot be written is tried again later', async () => {
    const all = stage(() => ({ status: status({ value: 1 }) }));
    all.answer = () => refused(500);
    assert.equal((await all.run()).type, 'retry');
    assert.equal(all.sent.length, 1);
  });
});

describe('a write that fails', () => {
  const one = (sent: readonly string[]) =>
    sent.includes('done') ? {} : { groups: [group([applying('a'), applying('b')])] };
  const trying = async (error: Error) => {
    const all = stage(one);
    all.answer = (line) => (line === 'apply a' ? error : undefined);
    return { all, outcome: await all.run() };
  };

  test('a write that the server refuses is reported with its message, and tried again later', async () => {
    const { all, outcome } = await trying(refused(403));
    assert.equal(outcome.type, 'retry');
    assert.deepEqual(
      all.reports.map((report) => report?.reason),
      ['WriteRefused'],
    );
    assert.match(all.reports[0]?.message ?? '', /^ConfigMap default\/a: /);
  });

  test('does not keep the writes beside it from going out', async () => {
    const { all } = await trying(refused(403));
    assert.deepEqual(all.sent, ['apply a', 'apply b']);
  });

  test('a write that passes by itself is tried again, and not reported', async () => {
    for (const error of [refused(500), refused(503), refused(429), new TransportError('timeout', 'test')]) {
      const { all, outcome } = await trying(error);
      assert.deepEqual([outcome, all.reports], [{ type: 'retry', error }, []]);
    }
  });

  test('a write that fails with our finalizer is reported too, and shown at once', async () => {
    const all = stage((sent, { reports }) => ({
      finalizer: 'add',
      ...(reports.length > 0 && sent.length < 2 ? { status: status({ failure: true }) } : {}),
    }));
    all.answer = (line) => (line.startsWith('status') ? undefined : refused(403));
    assert.equal((await all.run()).type, 'retry');
    assert.equal(all.reports[0]?.reason, 'WriteRefused');
    assert.deepEqual(all.sent, ['finalizers capstan.dev/web', 'status {"failure":true}']);
  });

  test('is over when its writes have gone out', async () => {
    const all = stage((sent) => (sent.includes('apply b') ? {} : { groups: [group([applying('b')])] }));
    await all.run();
    assert.deepEqual(all.reports, [undefined]);
  });

  test('a write that was overcome does not count when the next one comes', async () => {
    let error: Error | undefined = refused(403);
    const all = stage((sent) => (sent.at(-1) === 'good' ? {} : { groups: [group([applying('a')])] }));
    all.answer = () => {
      if (error === undefined) all.sent.push('good');
      return error;
    };
    const failures = () => all.job.state.failed?.count;
    for (const expected of [1, 2]) {
      await all.run();
      assert.equal(failures(), expected);
      await all.clock.advance(60_000);
    }
    error = undefined;
    await all.run();
    assert.equal(failures(), undefined);
    all.sent.push('wanted again');
    error = refused(403);
    await all.run();
    assert.equal(failures(), 1);
  });

  test('stays reported while it waits to be tried again', async () => {
    const all = stage(() => ({ groups: [group([applying('a')], { quietMs: 1000 })] }));
    await all.run();
    assert.deepEqual(all.reports, []);
  });

  test('a write whose fields another client has is reported, and not tried again before the object changes', async () => {
    const sharing: ChildWrite = {
      verb: 'share',
      may: granted('update'),
      kind: ConfigMap,
      ref: ref('s'),
      body: body('s'),
      manager: 'm',
      seen: 'x',
    };
    const all = stage(() => ({ groups: [group([sharing])] }));
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "them" using v1', field: '.data.x' }];
    all.answer = () =>
      new ApiError({
        code: 409,
        status: { reason: 'Conflict', details: { causes } },
        method: 'PATCH',
        path: '/s',
        address: 'test',
      });
    const outcome = await all.run();
    assert.equal(outcome.type, 'terminal');
    assert.deepEqual(all.sent, ['apply s']);
    assert.equal(all.reports[0]?.reason, 'Conflict');
    assert.match(all.reports[0]?.message ?? '', /\.data\.x of them/);
  });

  test('a write that may pass counts more than one that does not', async () => {
    const sharing: ChildWrite = {
      verb: 'share',
      may: granted('update'),
      kind: ConfigMap,
      ref: ref('s'),
      body: body('s'),
      manager: 'm',
      seen: 'x',
    };
    const all = stage(() => ({ groups: [group([sharing, applying('a')])] }));
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "them" using v1', field: '.data.x' }];
    all.answer = (line) =>
      line === 'apply s'
        ? new ApiError({
            code: 409,
            status: { reason: 'Conflict', details: { causes } },
            method: 'PATCH',
            path: '/s',
            address: 'test',
          })
        : refused(500);
    assert.equal((await all.run()).type, 'retry');
  });
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
