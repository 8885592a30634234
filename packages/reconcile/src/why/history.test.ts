import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { causeRecord } from './cause.ts';
import { createHistory } from './history.ts';

const entry = (verb: string) => ({ verb, cause: causeRecord('2026-01-01T00:00:00Z', 'x.y', 'Site default/a', []) });

describe('the history of writes', () => {
  test('returns the last ones of an object, newest first', () => {
    const history = createHistory();
    for (let number = 0; number < 12; number++) history.record('a', entry(`w${number}`));
    assert.deepEqual(
      history.of('a').map(({ verb }) => verb),
      ['w11', 'w10', 'w9', 'w8', 'w7', 'w6', 'w5', 'w4', 'w3', 'w2'],
    );
    assert.deepEqual(history.of('b'), []);
  });

  test('returns entries as they were recorded', () => {
    const history = createHistory();
    const cause = { ...entry('w').cause, changes: [{ object: 'b', paths: ['é'], from: '1', to: '2', via: ['x'] }] };
    history.record('a', { verb: 'apply', cause });
    assert.deepEqual(history.of('a'), [{ verb: 'apply', cause }]);
  });

  test('forgets the objects that were not written for longest, so that it stays bounded', () => {
    const history = createHistory();
    history.record('kept', entry('first'));
    history.record('lost', entry('first'));
    for (let number = 0; number < 50_000; number++) {
      history.record(`o${number}`, entry('w'.repeat(200)));
      if (number % 10_000 === 0) history.record('kept', entry('again'));
    }
    assert.deepEqual(history.of('lost'), []);
    assert.deepEqual(history.of('o20000'), []);
    assert.equal(history.of('kept').length, 6);
    assert.equal(history.of('o49999').length, 1);
  });

  test('keeps what was recorded last, however large it is', () => {
    const history = createHistory();
    history.record('a', entry('x'.repeat(5 * 1024 * 1024)));
    assert.equal(history.of('a').length, 1);
    history.record('b', entry('w'));
    assert.deepEqual([history.of('a').length, history.of('b').length], [0, 1]);
  });
});
