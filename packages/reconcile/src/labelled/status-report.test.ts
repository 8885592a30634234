import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, ConfigMap, type KubeObject, silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createStatusReport } from './status-report.ts';

interface Report {
  readonly count: number;
}

/** A report of a count on a ConfigMap, the times at which it was sent, and a switch for failures. */
function reporting() {
  const clock = createVirtualClock();
  const start = clock.now();
  const state: { report: Report | undefined; isFailing: boolean } = { report: { count: 1 }, isFailing: false };
  const sent: [seconds: number, count: number][] = [];
  const parse = (object: KubeObject | undefined) =>
    (object as { status?: { found?: Report } } | undefined)?.status?.found;
  const client = {
    find: () => Promise.resolve({ status: { found: { count: 1 } } }),
    apply(_kind: unknown, object: KubeObject) {
      sent.push([(clock.now() - start) / 1000, parse(object)?.count ?? 0]);
      return state.isFailing ? Promise.reject(new Error('no answer')) : Promise.resolve(object);
    },
  } as unknown as Client;
  const report = createStatusReport<Report>({
    client,
    kind: ConfigMap,
    ref: { namespace: 'default', name: 'a' },
    field: 'found',
    fieldManager: 'test',
    clock,
    logger: silentLogger,
    compose: () => state.report,
    parse,
    isWorthWriting: (written, next) => written?.count !== next.count,
  });
  const ending = new AbortController();
  return { clock, state, sent, report, begin: () => report.run(ending.signal), end: () => ending.abort() };
}

test('a report is written when it differs, at most every two seconds, with the last content', async () => {
  const { clock, state, sent, report, begin, end } = reporting();
  const ended = begin();
  await clock.advance(100);
  for (let count = 2; count < 6; count++) {
    state.report = { count };
    report.poke();
    await clock.advance(100);
  }
  await clock.advance(10_000);
  assert.deepEqual(sent, [
    [0, 1],
    [2, 5],
  ]);
  report.poke();
  state.report = undefined;
  report.poke();
  await clock.advance(60_000);
  assert.equal(sent.length, 2);
  end();
  await ended;
});

test('a report that an earlier process wrote is not written again', async () => {
  const { clock, state, sent, report, begin, end } = reporting();
  assert.deepEqual(await report.read(new AbortController().signal), { count: 1 });
  const ended = begin();
  await clock.advance(60_000);
  assert.deepEqual(sent, []);
  state.report = { count: 2 };
  await clock.advance(30_000);
  assert.equal(sent.length, 1, 'volatile figures are compared without a poke');
  end();
  await ended;
});

test('a failed write is repeated after waits that grow, however often something changes', async () => {
  const { clock, state, sent, report, begin, end } = reporting();
  state.isFailing = true;
  const ended = begin();
  for (let second = 0; second < 30; second++) {
    report.poke();
    await clock.advance(1000);
  }
  assert.deepEqual(
    sent.map(([seconds]) => seconds),
    [0, 4, 12, 28],
  );
  state.isFailing = false;
  await clock.advance(60_000);
  assert.equal(sent.length, 5);
  end();
  await ended;
});
