import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { covers, servedHosts, specificity } from './hostnames.ts';

suite('hostnames', () => {
  const cases: [listener: string | undefined, route: string[] | undefined, served: string[]][] = [
    [undefined, undefined, ['*']],
    [undefined, ['a.test', '*.b.test'], ['a.test', '*.b.test']],
    ['a.test', undefined, ['a.test']],
    ['a.test', ['a.test'], ['a.test']],
    ['a.test', ['b.test'], []],
    ['*.test', ['a.test', 'a.b.test', 'test', 'other'], ['a.test', 'a.b.test']],
    ['a.b.test', ['*.test', '*.b.test'], ['a.b.test']],
    ['*.b.test', ['*.test'], ['*.b.test']],
    ['*.test', ['*.b.test'], ['*.b.test']],
    ['A.Test', ['a.test'], ['a.test']],
  ];
  for (const [listener, route, served] of cases)
    test(`a listener for ${listener ?? 'all'} serves a route for ${route?.join(', ') ?? 'all'} at ${served.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(servedHosts(listener, route), served);
    });

  test('a wildcard covers names below it, and not its own suffix or a name that only ends alike', () => {
    assert.equal(covers('*.b.test', 'a.b.test'), true);
    assert.equal(covers('*.b.test', 'b.test'), false);
    assert.equal(covers('*.b.test', 'ab.test'), false);
  });

  test('a name is more specific than any wildcard, a longer wildcard than a shorter one', () => {
    const sorted = ['*.longer.example.test', 'x.io', '*', '*.test'].toSorted((l, r) => specificity(r) - specificity(l));
    assert.deepEqual(sorted, ['x.io', '*.longer.example.test', '*.test', '*']);
  });
});
