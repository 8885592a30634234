// Applies random changes, faults and waits. Afterwards, the copy must be the server's content, the events of listeners must add up to the
// copy, and no event may come twice or out of order (the mirror reports that).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, createVirtualClock, runs, type VirtualClock } from '@capstan/testing';
import fc from 'fast-check';
import { TransportError } from '../errors.ts';
import { mirror } from './mirror.test-support.ts';
import { apiError, type Fault, type ScriptedServer } from './scripted-server.test-support.ts';
import { type Stage, stage } from './stage.test-support.ts';

type Step = (stage: Stage<VirtualClock>) => Promise<void> | void;

const name = fc.constantFrom('a', 'b', 'c', 'd');
const labels = fc.constantFrom(undefined, { app: 'x' }, { app: 'y' });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc
    .constantFrom(
      [400, 'BadRequest'],
      [403, 'Forbidden'],
      [404, 'NotFound'],
      [410, 'Expired'],
      [429, 'TooManyRequests'],
      [500, 'InternalError'],
    )
    .map(([code, reason]) => ({ error: apiError(code, reason) })),
  fc
    .constantFrom('reset' as const, 'refused' as const, 'malformed' as const)
    .map((kind) => ({ error: new TransportError(kind, 'scripted') })),
  fc.integer({ min: 1, max: 20_000 }).map((delayMs) => ({ delayMs })),
  fc.constant('hang' as const),
);

const step: fc.Arbitrary<{ text: string; run: Step }> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(name, fc.nat(9), labels)
      .map(([name, value, labels]) =>
        expected(
          `put ${name} ${JSON.stringify(labels)}`,
          ({ server }) => void server.put(name, { value, ...(labels ? { labels } : {}) }),
        ),
      ),
  },
  { weight: 3, arbitrary: name.map((name) => expected(`remove ${name}`, ({ server }) => void server.remove(name))) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(name, labels)
      .map(([name, labels]) =>
        expected(`own put ${name} ${JSON.stringify(labels)}`, ({ server, informer }) =>
          informer.observeWrite(server.put(name, labels ? { labels } : {})),
        ),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.boolean()).map(([name, knows]) =>
      expected(`own remove ${name} ${knows}`, ({ server, informer }) => {
        const gone = server.remove(name);
        const version = knows ? [String(server.version)] : [];
        if (gone) informer.observeDelete({ namespace: 'default', name }, gone.metadata.uid ?? '', ...version);
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.nat(20_000)).map(([name, ms]) =>
      expected(`late own put ${name} after ${ms}`, async ({ clock, server, informer }) => {
        const answer = server.put(name);
        await clock.advance(ms);
        informer.observeWrite(answer);
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('cut', 'end', 'silence', 'repeat', 'bookmark')
      .map((what) => expected(what, ({ server }) => server.watches.at(-1)?.[what as 'cut']())),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(
        { type: 'ERROR' as const, object: { code: 410, reason: 'Expired' } },
        { type: 'ERROR' as const, object: { code: 500 } },
        { type: 'ADDED' as const, object: {} },
        { type: 'MODIFIED' as const, object: 'garbage' },
      )
      .map((event) => expected(`send ${JSON.stringify(event)}`, ({ server }) => server.watches.at(-1)?.send(event))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('list' as const, 'watch' as const), fault)
      .map(([verb, fault]) => expected(`${verb} ${describe(fault)}`, ({ server }) => server.fail(verb, fault))),
  },
  { weight: 1, arbitrary: fc.constant(expected('compact', ({ server }) => server.compact())) },
  { weight: 1, arbitrary: fc.constant(expected('hold', ({ server }) => void (server.held = true))) },
  { weight: 1, arbitrary: fc.constant(expected('release', ({ server }) => server.release())) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(0, 30, 2_000)
      .map((ms) => expected(`latency ${ms}`, ({ server }) => void (server.latencyMs = ms))),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('offers' as const, 'refuses' as const, 'ignores' as const)
      .map((how) => expected(`streaming ${how}`, ({ server }) => void (server.streaming = how))),
  },
  { weight: 1, arbitrary: fc.constant(expected('join', ({ informer, joined }) => void joined.push(mirror(informer)))) },
  {
    weight: 5,
    arbitrary: fc
      .oneof(fc.nat(2_000), fc.nat(90_000), fc.nat(700_000))
      .map((ms) => expected(`wait ${ms}`, ({ clock }) => clock.advance(ms))),
  },
  { weight: 3, arbitrary: fc.constant(expected('settle', ({ clock }) => clock.settle())) },
);

async function play(steps: readonly { run: Step }[], seed: number, labelSelector: string | undefined): Promise<void> {
  const played = await stage(
    createVirtualClock(),
    createRandom(seed),
    (server: ScriptedServer) => {
      server.put('a', { labels: { app: 'x' } });
      server.put('b');
      if (seed % 2 === 0) server.streaming = 'offers';
    },
    { pageSize: 2, ...(labelSelector ? { labelSelector } : {}) },
  );
  const { clock, server, informer, assertCurrent, stop } = played;
  for (const { run } of steps) await run(played);
  // Within this time, all scripted faults have happened and silent connections have been given up.
  server.release();
  server.latencyMs = 0;
  await clock.advance(2_400_000);
  played.joined.push(mirror(informer));
  assert.equal(informer.isSynced, true);
  assert.equal(informer.state().phase, 'watching');
  assertCurrent();
  server.put('last', { labels: { app: 'x' } });
  await clock.settle();
  assertCurrent();
  await stop();
}

test('after any faults the copy is the server’s content, and events were published once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
      fc.nat(1000),
      fc.constantFrom(undefined, undefined, 'app=x'),
      (steps, seed, labelSelector) => play(steps, seed, labelSelector),
    ),
    { numRuns: runs(150, 1000, 'CAPSTAN_RUNS'), endOnFailure: false },
  );
});

function expected(text: string, run: Step): { text: string; run: Step } {
  return { text, run, toString: () => text } as { text: string; run: Step };
}

function describe(fault: Fault): string {
  if (fault === 'hang') return 'hangs';
  return 'error' in fault ? fault.error.message : `takes ${fault.delayMs} ms`;
}
