import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { drop, mergeStatus, timeOfWrite } from './status.ts';

describe('the status after a plan', () => {
  test('keeps what the plan does not mention, replaces what it mentions as a whole, and loses what it drops', () => {
    const current = { kept: 1, replaced: { a: 1, b: 2 }, dropped: true, list: [1] };
    assert.deepEqual(mergeStatus(current, { replaced: { b: 3 }, dropped: drop(), list: [2], new: 'x' }), {
      kept: 1,
      replaced: { b: 3 },
      list: [2],
      new: 'x',
    });
  });

  test('is the very same when the plan changes nothing, so that nothing is written', () => {
    const current = { a: { b: [1, { c: 2 }] } };
    for (const input of [{}, { a: { b: [1, { c: 2 }] } }, { a: undefined }, { gone: drop() }, { gone: null }]) {
      assert.equal(mergeStatus(current, input), current);
    }
    assert.equal(mergeStatus(undefined, {}), undefined);
    assert.equal(mergeStatus(undefined, { gone: drop() }), undefined);
    assert.equal(mergeStatus(undefined, { gone: undefined }), undefined);
  });

  test('has no undefined, null or dropped parts, which a server would not keep either', () => {
    const input = { list: [{ a: 1, b: undefined, c: null, d: drop() }], map: { x: { y: null } } };
    const next = mergeStatus({}, input);
    assert.deepEqual(next, { list: [{ a: 1 }], map: { x: {} } });
    assert.equal(mergeStatus(next, input), next);
  });

  test('gets the time of the write where a plan asks for it, and that time alone is no difference', () => {
    const input = (status: string) => ({ list: [{ name: 'a', conditions: [{ status, at: timeOfWrite() }] }] });
    const first = mergeStatus({}, input('True'), () => 'one');
    assert.deepEqual(first, { list: [{ name: 'a', conditions: [{ status: 'True', at: 'one' }] }] });
    assert.equal(
      mergeStatus(first, input('True'), () => 'two'),
      first,
    );
    assert.deepEqual(
      mergeStatus(first, input('False'), () => 'two'),
      { list: [{ name: 'a', conditions: [{ status: 'False', at: 'two' }] }] },
    );
  });

  test('settles: what was merged once changes nothing the second time', () => {
    const json = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(json, json, (current, input) => {
        const next = mergeStatus(current, input);
        assert.equal(mergeStatus(next, input), next);
      }),
    );
  });

  test('leaves its arguments as they are', () => {
    const current = Object.freeze({ a: Object.freeze({ b: 1 }) });
    mergeStatus(current, Object.freeze({ a: drop(), c: 1 }));
    assert.deepEqual(current, { a: { b: 1 } });
  });
});
