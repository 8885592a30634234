import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { createLogger } from '@capstan/reconcile';
import { createVirtualClock } from '@capstan/testing';
import { keepServing } from './last-resort.ts';

test('errors that nothing caught are counted, and logged at most once a second', async () => {
  const clock = createVirtualClock();
  const lines: string[] = [];
  const logger = createLogger({ clock, format: 'json', level: 'debug', write: (line) => void lines.push(line) });
  const source = new EventEmitter();
  const caught = keepServing(source, { clock, logger });
  source.emit('uncaughtException', new Error('a socket was gone'));
  for (let i = 0; i < 5; i += 1) source.emit('unhandledRejection', 'a promise');
  assert.equal(caught.count, 6);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /a socket was gone/);
  await clock.advance(1_000);
  source.emit('unhandledRejection', new Error('the last'));
  assert.match(lines[1] ?? '', /"errors":6.*the last/);
  caught.close();
  assert.equal(source.listenerCount('uncaughtException') + source.listenerCount('unhandledRejection'), 0);
});
