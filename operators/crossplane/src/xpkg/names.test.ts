import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { friendlyId, toDnsLabel } from './names.ts';

describe('the name of a revision', () => {
  for (const [name, hash, expected] of [
    ['provider-aws', '1234567891234567', 'provider-aws-123456789123'],
    [
      'provider.aws-plusabunchofothernonsensethatisgoingtogetslicedoff',
      '1234.567891234567',
      'provider-aws-plusabunchofothernonsensethatisgoingt-1234-5678912',
    ],
    ['provider-in-cluster', 'provider-in-cluster', 'provider-in-cluster-provider-in'],
  ] as const)
    test(`the name of a revision of ${name} at ${hash} is ${expected}`, () =>
      assert.equal(friendlyId(name, hash), expected));

  test('drops upper case instead of lowering it, and turns separators into dashes', () => {
    assert.equal(toDnsLabel('-hi/my.name/is-'), 'hi-my-name-is');
    assert.equal(toDnsLabel('Hello:World'), 'ello-orld');
    assert.equal(toDnsLabel('größe'), 'gre');
    assert.equal(toDnsLabel(''), '');
  });

  test('is a DNS label whatever the package is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (name, hash) => {
        assert.match(friendlyId(`p${name}`, hash), /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$/);
      }),
    );
  });
});
