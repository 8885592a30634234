import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiRequest } from '@capstan/kube';
import * as fc from 'fast-check';
import { createRandom } from '../random.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { formatFaults } from './fault-log.ts';
import {
  type BatchFault,
  type FaultSchedule,
  type OpeningFault,
  type RequestFault,
  randomSchedule,
} from './fault-schedule.ts';
import { consume, events, kindOf, setUp, watchOutcome } from './faulty-transport.test-support.ts';
import { mortalClock } from './mortal-clock.ts';

const write: ApiRequest = { method: 'PATCH', path: '/api/v1/namespaces/a/configmaps/b' };

const pods: ApiRequest = { method: 'GET', path: '/api/v1/pods', query: { watch: 'true', resourceVersion: '7' } };

const services: ApiRequest = {
  method: 'GET',
  path: '/api/v1/services',
  query: { watch: 'true', resourceVersion: '7' },
};

describe('requests', () => {
  const onlyRequests = (fault: RequestFault, extra: FaultSchedule = {}) =>
    setUp({ requests: { [fault]: 1 }, ...extra });

  test('a refused request never reaches the server', async () => {
    const { server, transport } = onlyRequests('refused');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => transport.request(write)));
    assert.equal(server.writes, 0);
    const kinds = outcomes.map((o) => (o.status === 'rejected' ? kindOf(o.reason) : 'answered'));
    assert.deepEqual(new Set(kinds), new Set(['refused', 'reset']));
  });

  test('a lost answer belongs to a write that happened', async () => {
    const { server, transport } = onlyRequests('lost');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => transport.request(write)));
    assert.equal(server.writes, 20);
    const seen = new Set(outcomes.map((o) => (o.status === 'fulfilled' ? o.value.status : 'reset')));
    assert.deepEqual(seen, new Set([504, 'reset']));
  });

  test('a hung request ends by its time-out, and not before', async () => {
    const { clock, transport } = onlyRequests('hung');
    const outcome = watchOutcome(transport.request({ ...write, timeoutMs: 5000 }));
    await clock.advance(4999);
    assert.equal(outcome.settled, false);
    await clock.advance(1);
    assert.equal(kindOf(outcome.error), 'timeout');
  });

  test('a hung request ends at once when its signal is aborted', async () => {
    const { clock, transport } = onlyRequests('hung');
    const controller = new AbortController();
    const outcome = watchOutcome(transport.request({ ...write, signal: controller.signal }));
    await clock.settle();
    controller.abort(new Error('enough'));
    await clock.settle();
    assert.equal(kindOf(outcome.error), 'aborted');
    assert.equal(clock.pendingTimers, 0);
  });

  test('a conflict is a 409 that changed nothing, and never befalls a create or a read', async () => {
    const { server, transport } = onlyRequests('conflict');
    assert.equal((await transport.request(write)).status, 409);
    assert.equal(server.writes, 0);
    assert.equal((await transport.request({ ...write, method: 'POST' })).status, 200);
    assert.equal((await transport.request({ ...write, method: 'GET' })).status, 200);
  });

  test('a throttled request says when to come back', async () => {
    const { server, transport } = onlyRequests('throttled', { retryAfterSeconds: [3, 3] });
    const response = await transport.request(write);
    assert.equal(response.status, 429);
    assert.equal(response.headers['retry-after'], '3');
    assert.equal(server.writes, 0);
  });

  test('an unavailable server answers 500 or 503 with a Status', async () => {
    const { transport } = onlyRequests('unavailable');
    const answers = await Promise.all(Array.from({ length: 20 }, () => transport.request(write)));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([500, 503]));
    for (const { body, status } of answers) assert.partialDeepStrictEqual(body, { kind: 'Status', code: status });
  });

  test('a list expires only while it continues', async () => {
    const { transport } = onlyRequests('expired');
    const list: ApiRequest = { method: 'GET', path: '/api/v1/pods', query: { limit: '500' } };
    assert.equal((await transport.request(list)).status, 200);
    assert.equal((await transport.request({ ...list, query: { continue: 'token' } })).status, 410);
  });

  test('a slow answer comes later, whichever way was slow', async () => {
    const { clock, server, transport } = onlyRequests('slow', { delayMs: [400, 400] });
    const outcomes = Array.from({ length: 20 }, () => watchOutcome(transport.request(write)));
    await clock.advance(399);
    assert.ok(outcomes.every((outcome) => !outcome.settled));
    assert.ok(server.writes > 0 && server.writes < 20, 'some writes happen early and some late');
    await clock.advance(1);
    assert.ok(outcomes.every((outcome) => outcome.settled && outcome.error === undefined));
    assert.equal(server.writes, 20);
  });
});

describe('watches', () => {
  const onlyOpenings = (fault: OpeningFault) => setUp({ openings: { [fault]: 1 } });
  const onlyBatches = (fault: BatchFault, extra: FaultSchedule = {}) => setUp({ batches: { [fault]: 1 }, ...extra });

  test('an opening is refused, throttled, unavailable or expired, and then the server knows no watch', async () => {
    await assert.rejects(onlyOpenings('refused').transport.watch(pods), { name: 'TransportError' });
    for (const [fault, statuses] of [
      ['throttled', [429]],
      ['unavailable', [500, 503]],
      ['expired', [410]],
    ] as const) {
      const { server, transport } = onlyOpenings(fault);
      const answer = await transport.watch(pods);
      assert.ok('status' in answer && statuses.some((status) => status === answer.status), fault);
      assert.equal(server.openWatches, 0);
    }
  });

  test('a watch from the present cannot be expired', async () => {
    const { transport } = onlyOpenings('expired');
    const answer = await transport.watch({ ...pods, query: { watch: 'true' } });
    assert.ok(Symbol.asyncIterator in answer);
  });

  test('a cut delivers a beginning of the batch, breaks, and closes the server side', async () => {
    const { clock, server, transport } = onlyBatches('cut');
    const seen = await consume(transport, pods);
    server.send('/api/v1/pods', events(1, 2, 3));
    await clock.settle();
    assert.deepEqual(seen.versions, [1, 2, 3].slice(0, seen.versions.length));
    assert.equal(kindOf(seen.error), 'reset');
    assert.equal(server.openWatches, 0);
  });

  test('an ended watch ends without an error', async () => {
    const { clock, server, transport } = onlyBatches('ended');
    const seen = await consume(transport, pods);
    server.send('/api/v1/pods', events(1, 2, 3));
    await clock.settle();
    assert.equal(seen.ended, true);
    assert.equal(server.openWatches, 0);
  });

  test('an expired watch says so in an ERROR event and ends', async () => {
    const { clock, server, transport } = onlyBatches('expired');
    const seen = await consume(transport, pods);
    server.send('/api/v1/pods', events(1, 2));
    await clock.settle();
    const last = seen.events.at(-1);
    assert.equal(last?.type, 'ERROR');
    assert.partialDeepStrictEqual(last.object, { code: 410, reason: 'Expired' });
    assert.equal(seen.ended, true);
  });

  test('a duplicated batch is delivered twice in a row', async () => {
    const { clock, server, transport } = onlyBatches('duplicated');
    const seen = await consume(transport, pods);
    server.send('/api/v1/pods', events(1, 2));
    server.send('/api/v1/pods', events(3));
    await clock.settle();
    assert.deepEqual(seen.versions, [1, 2, 1, 2, 3, 3]);
  });

  test('a delayed batch holds up its own stream', async () => {
    const { clock, server, transport } = onlyBatches('delayed', { delayMs: [100, 100] });
    const seen = await consume(transport, pods);
    server.send('/api/v1/pods', events(1));
    server.send('/api/v1/pods', events(2));
    await clock.advance(99);
    assert.deepEqual(seen.versions, []);
    await clock.advance(1);
    assert.deepEqual(seen.versions, [1]);
    await clock.advance(100);
    assert.deepEqual(seen.versions, [1, 2]);
  });

  test('an overtaken batch waits for another kind and comes right after it', async () => {
    const { clock, server, transport } = setUp({ batches: { overtaken: 1 }, delayMs: [60_000, 60_000] });
    const order: string[] = [];
    await consume(transport, pods, () => order.push('pods'));
    server.send('/api/v1/pods', events(1));
    await clock.settle();
    assert.equal(order.length, 0);
    transport.heal();
    await consume(transport, services, () => order.push('services'));
    server.send('/api/v1/services', events(2));
    await clock.settle();
    assert.deepEqual(order, ['services', 'pods']);
    assert.equal(clock.pendingTimers, 0);
  });

  test('a silent watch neither delivers nor ends, not even once healed, until it is aborted', async () => {
    const { clock, server, transport } = onlyBatches('silent');
    const controller = new AbortController();
    const seen = await consume(transport, { ...pods, signal: controller.signal });
    server.send('/api/v1/pods', events(1));
    await clock.settle();
    transport.heal();
    server.send('/api/v1/pods', events(2));
    await clock.advance(3_600_000);
    assert.deepEqual([seen.versions, seen.ended, seen.error], [[], false, undefined]);
    controller.abort(new Error('gone quiet'));
    await clock.settle();
    assert.equal(kindOf(seen.error), 'aborted');
  });

  test('leaving the loop closes the connection', async () => {
    const { clock, server, transport } = setUp({});
    const stream = await transport.watch(pods);
    assert.ok(Symbol.asyncIterator in stream);
    server.send('/api/v1/pods', events(1));
    for await (const batch of stream) {
      assert.equal(batch.length, 1);
      break;
    }
    await clock.settle();
    assert.equal(server.openWatches, 0);
  });

  test('within one stream nothing is lost before its end and nothing changes places', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 20 }), async (seed, sizes) => {
        const random = createRandom(seed);
        const { clock, server, transport } = setUp({ ...randomSchedule(random), openings: {} }, seed);
        const seen = await consume(transport, pods);
        let version = 0;
        for (const size of sizes) server.send('/api/v1/pods', events(...Array.from({ length: size }, () => ++version)));
        await clock.runUntilIdle(1e9);
        const firstSeen = [...new Set(seen.versions)];
        assert.deepEqual(
          firstSeen,
          firstSeen
            .keys()
            .map((index) => index + 1)
            .toArray(),
        );
        if (
          seen.error === undefined &&
          !seen.ended &&
          !transport.faults.some(({ fault }) => fault === 'watch silent')
        ) {
          assert.equal(firstSeen.length, version);
        }
      }),
    );
  });
});

describe('crashes', () => {
  test('the process dies right after the chosen write and nothing leaves it any more', async () => {
    const { clock, server, transport } = setUp({});
    transport.crashAfterWrites(2);
    const outcomes = [];
    for (let turn = 0; turn < 4; turn++) {
      outcomes.push(watchOutcome(transport.request(write)));
      await clock.settle();
    }
    await clock.advance(60_000);
    assert.equal(server.writes, 2);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.settled),
      [true, false, false, false],
    );
    assert.equal(transport.dead, true);
    await transport.died;
  });

  test('neither reads, dry runs nor refused writes count', async () => {
    const { server, transport } = setUp({});
    transport.crashAfterWrites(1);
    server.refuse = true;
    await transport.request(write);
    server.refuse = false;
    await transport.request({ ...write, query: { dryRun: 'All' } });
    await transport.request({ ...write, method: 'GET' });
    assert.equal(transport.dead, false);
  });

  test('the dead hear no events, and the server loses their watches', async () => {
    const { clock, server, transport } = setUp({});
    const seen = await consume(transport, pods);
    transport.crashAfterWrites(0);
    await clock.settle();
    server.send('/api/v1/pods', events(1));
    await clock.settle();
    assert.deepEqual([seen.versions, seen.ended, seen.error], [[], false, undefined]);
    assert.equal(server.openWatches, 0);
  });

  test('closing lets go of everything that hangs', async () => {
    const { clock, transport } = setUp({ requests: { slow: 1 } });
    const request = watchOutcome(transport.request(write));
    const seen = await consume(transport, pods);
    transport.crashAfterWrites(0);
    const later = watchOutcome(transport.request(write));
    await transport.close();
    await clock.settle();
    for (const error of [request.error, later.error, seen.error]) assert.equal(kindOf(error), 'closed');
  });

  test('a killed clock fires no timer of the dead and leaves those of the living alone', async () => {
    const clock = createVirtualClock();
    const first = mortalClock(clock);
    const fired: string[] = [];
    first.after(10, () => fired.push('dead'));
    void first.yield().then(() => fired.push('dead'));
    clock.after(10, () => fired.push('living'));
    first.kill();
    first.after(5, () => fired.push('dead'));
    assert.equal(clock.pendingTimers, 1);
    await clock.advance(20);
    assert.deepEqual(fired, ['living']);
  });
});

test('once healed, nothing is injected any more', async () => {
  const { clock, server, transport } = setUp({
    requests: { refused: 1 },
    openings: { refused: 1 },
    batches: { cut: 1 },
  });
  await assert.rejects(transport.request(write));
  transport.heal();
  await transport.request(write);
  const seen = await consume(transport, pods);
  server.send('/api/v1/pods', events(1));
  await clock.settle();
  assert.deepEqual(seen.versions, [1]);
  assert.deepEqual(
    transport.faults.map(({ fault }) => fault),
    ['refused', 'healed'],
  );
});

test('the same seed injects the same faults', async () => {
  const report = async (seed: number) => {
    const { clock, transport } = setUp(randomSchedule(createRandom(seed)), seed);
    const start = clock.now();
    for (let turn = 0; turn < 40; turn++) void transport.request(write).catch(() => {});
    await clock.runUntilIdle(1e9);
    return formatFaults(transport.faults, start);
  };
  assert.equal(await report(4), await report(4));
  assert.notEqual(await report(4), await report(5));
  assert.match(await report(4), /PATCH \/api\/v1\/namespaces\/a\/configmaps\/b/);
});
