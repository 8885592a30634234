import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { causeRecord } from './cause.ts';
import { createHistory } from './history.ts';

const entry = (verb: string) => ({ verb, cause: causeRecord('2026-01-01T00:00:00Z', 'x.y', 'Site default/a', []) });

describe('the history of writes', () => {
  test('tells the last ones of an object, newest first', () => {
    const history = createHistory();
    for (let number = 0; number < 12; number++) history.record('a', entry(`w${number}`));
    assert.deepEqual(
      history.of('a').map(({ verb }) => verb),
      ['w11', 'w10', 'w9', 'w8', 'w7', 'w6', 'w5', 'w4', 'w3', 'w2'],
    );
    assert.deepEqual(history.of('b'), []);
  });

  test('forgets the objects that were not written for longest, so that it stays bounded', () => {
    const history = createHistory();
    history.record('kept', entry('first'));
    history.record('lost', entry('first'));
    for (let number = 0; number < 9_999; number++) {
      history.record(`o${number}`, entry('w'));
      if (number === 5000) history.record('kept', entry('again'));
    }
    assert.deepEqual(history.of('lost'), []);
    assert.equal(history.of('kept').length, 2);
    assert.equal(history.of('o9998').length, 1);
  });
});
