import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { byHand, event, lineOf, setup, streamOf, watch } from './http-transport.test-support.ts';
import { answer } from './local-server.ts';

test('events arrive in batches as their lines are completed, including characters split between chunks', async (t) => {
  const hand = byHand();
  const { transport } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200, { 'content-type': 'application/json' });
  const bytes = Buffer.from(lineOf('a') + lineOf('bü') + lineOf('c'));
  const middle = bytes.indexOf('ü') + 1;
  response.write(bytes.subarray(0, middle));
  const stream = streamOf(await opening);
  assert.deepEqual((await stream.next()).value, [event('a')]);
  response.end(bytes.subarray(middle));
  assert.deepEqual((await stream.next()).value, [event('bü'), event('c')]);
  assert.equal((await stream.next()).done, true);
});

test('a watch that is not iterated is not read any further and loses nothing', async (t) => {
  const hand = byHand();
  const { transport } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const stream = streamOf(await opening);
  const count = 400;
  const filling = 'x'.repeat(100_000);
  let written = 0;
  const writing = (async () => {
    for (; written < count; written++) {
      if (!response.write(lineOf(`${written} ${filling}`))) await once(response, 'drain');
    }
    response.end();
  })();
  // These are enough turns to send all events several times.
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(written < count, `the server could write ${written} events of ${count}`);
  const names: string[] = [];
  for (let step = await stream.next(); !step.done; step = await stream.next()) {
    for (const { object } of step.value) names.push((object as { metadata: { name: string } }).metadata.name);
  }
  await writing;
  assert.deepEqual(
    names.map((name) => Number(name.split(' ')[0])),
    Array.from({ length: count }, (_, index) => index),
  );
});

test('a time-out ends the opening of a watch but never an open watch', async (t) => {
  const clock = createVirtualClock();
  const hand = byHand();
  const { transport } = await setup(t, hand.handler, { clock });
  const late = assert.rejects(transport.watch({ ...watch, timeoutMs: 1_000 }), { kind: 'timeout' });
  await hand.next();
  await clock.advance(1_000);
  await late;

  const opening = transport.watch({ ...watch, timeoutMs: 1_000 });
  const [, response] = await hand.next();
  response.writeHead(200).flushHeaders();
  const stream = streamOf(await opening);
  await clock.advance(3_600_000);
  response.end(lineOf('late'));
  assert.deepEqual((await stream.next()).value, [event('late')]);
});

test('a watch that is cut throws after all events that arrived completely', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200).write(`${lineOf('a')}{"type":"ADDED","obj`);
  const stream = streamOf(await opening);
  assert.deepEqual((await stream.next()).value, [event('a')]);
  const cut = assert.rejects(stream.next(), { name: 'TransportError', kind: 'reset' });
  server.cut();
  await cut;
});

test('a watch that ends cleanly within an event throws', async (t) => {
  const { transport } = await setup(t, (_request, response) => response.writeHead(200).end(`${lineOf('a')}{"type":`));
  const stream = streamOf(await transport.watch(watch));
  assert.deepEqual((await stream.next()).value, [event('a')]);
  await assert.rejects(stream.next(), { kind: 'reset', message: /in the middle of an event/ });
});

test('an invalid or too long line ends the watch after the events before it', async (t) => {
  const bodies: Record<string, string> = {
    '/no-json': 'oops\n',
    '/no-event': '{"kind":"Status"}\n',
    '/large': lineOf('x'.repeat(500)),
  };
  const { transport, server } = await setup(
    t,
    (request, response) => {
      response.writeHead(200).write(lineOf('a') + bodies[request.url ?? ''] + lineOf('b'));
    },
    { maxLineBytes: 200 },
  );
  for (const [path, kind] of [
    ['/no-json', 'malformed'],
    ['/no-event', 'malformed'],
    ['/large', 'too-large'],
  ] as const) {
    const stream = streamOf(await transport.watch({ method: 'GET', path }));
    assert.deepEqual((await stream.next()).value, [event('a')], path);
    await assert.rejects(stream.next(), { name: 'TransportError', kind }, path);
  }
  await server.whenOpen(0);
});

test('leaving the loop and aborting close the connection of a watch', async (t) => {
  const { transport, server } = await setup(t, (_request, response) => response.writeHead(200).write(lineOf('a')));
  const left = await transport.watch(watch);
  assert.ok(Symbol.asyncIterator in left);
  for await (const batch of left) {
    assert.deepEqual(batch, [event('a')]);
    break;
  }
  await server.whenOpen(0);

  const never = await transport.watch(watch);
  await streamOf(never).return?.();
  await server.whenOpen(0);

  const controller = new AbortController();
  const stream = streamOf(await transport.watch({ ...watch, signal: controller.signal }));
  await stream.next();
  const ended = assert.rejects(stream.next(), { kind: 'aborted' });
  controller.abort();
  await ended;
  await server.whenOpen(0);
});

test('a refused watch is an answer, and its connection is reused', async (t) => {
  const { transport, server } = await setup(t, (_request, response) => answer(response, { kind: 'Status' }, 410));
  for (let index = 0; index < 10; index++) {
    const result = await transport.watch(watch);
    assert.ok('status' in result);
    assert.deepEqual([result.status, result.body], [410, { kind: 'Status' }]);
  }
  assert.ok(server.accepted <= 2);
});
