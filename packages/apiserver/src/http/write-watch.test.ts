import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { WatchEvent } from '@capstan/kube';
import { manualClock, settle } from '../server.test-support.ts';
import { createEventStream, createSchedule } from '../watch/event-stream.ts';
import { createWatchWriter } from './write-watch.ts';

const event = (name: string): WatchEvent => ({
  type: 'ADDED',
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
});

/** A response that keeps its text. */
class FakeResponse extends EventEmitter {
  text = '';
  destroyed = false;
  writeHead() {}
  flushHeaders() {}
  write(piece: Uint8Array): boolean {
    this.text += Buffer.from(piece).toString();
    return true;
  }
  end(): void {
    this.emit('close');
  }
}

const namesIn = ({ text }: FakeResponse) => [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);

test('events wait for the turn of their watcher, keep their order, and are written together', async () => {
  const turns: PromiseWithResolvers<void>[] = [];
  const turn = () => {
    const next = Promise.withResolvers<void>();
    turns.push(next);
    return next.promise;
  };
  const schedule = createSchedule(() => undefined);
  const { stream, push, end } = createEventStream({
    initial: [],
    limit: 10,
    limitBytes: 1e6,
    schedule,
    onEnd: () => {},
  });
  const response = new FakeResponse();
  const write = createWatchWriter(manualClock(), 1_000);
  const writing = write(response as unknown as ServerResponse, stream, false, { turn });
  push(event('a'));
  await settle();
  push(event('b'));
  push(event('c'));
  await settle();
  assert.deepEqual(namesIn(response), []);
  turns[0]?.resolve();
  await settle();
  assert.deepEqual(namesIn(response), ['a']);
  turns[1]?.resolve();
  await settle();
  assert.deepEqual(namesIn(response), ['a', 'b', 'c']);
  assert.equal(turns.length, 2);
  end();
  await writing;
});

test('a watcher that has gone when its turn comes gets nothing, and its stream is ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isEnded = false;
  const onEnd = () => {
    isEnded = true;
  };
  const schedule = createSchedule(() => undefined);
  const { stream, push } = createEventStream({ initial: [], limit: 10, limitBytes: 1e6, schedule, onEnd });
  const response = new FakeResponse();
  const write = createWatchWriter(manualClock(), 1_000);
  const writing = write(response as unknown as ServerResponse, stream, false, { turn: () => promise });
  push(event('a'));
  await settle();
  response.destroyed = true;
  resolve();
  await writing;
  assert.deepEqual(namesIn(response), []);
  assert.ok(isEnded);
});
