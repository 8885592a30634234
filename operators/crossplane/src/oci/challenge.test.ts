import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseChallenges } from './challenge.ts';
import { retryAfter } from './failure.ts';

test('challenges are read, one or several, quoted or not', () => {
  assert.deepEqual(parseChallenges('Basic realm="a, b"'), [{ scheme: 'basic', parameters: { realm: 'a, b' } }]);
  assert.deepEqual(
    parseChallenges('Bearer realm="https://auth.example.org/token",service="r",scope="repository:a/b:pull,push"'),
    [
      {
        scheme: 'bearer',
        parameters: { realm: 'https://auth.example.org/token', service: 'r', scope: 'repository:a/b:pull,push' },
      },
    ],
  );
  assert.deepEqual(parseChallenges(['Negotiate', 'BASIC Realm=x, Bearer realm="y"']), [
    { scheme: 'negotiate', parameters: {} },
    { scheme: 'basic', parameters: { realm: 'x' } },
    { scheme: 'bearer', parameters: { realm: 'y' } },
  ]);
  assert.deepEqual(parseChallenges('Basic realm="say \\"hi\\""'), [
    { scheme: 'basic', parameters: { realm: 'say "hi"' } },
  ]);
  assert.deepEqual(parseChallenges(undefined), []);
});

test('any header is read without harm', () => {
  fc.assert(fc.property(fc.string(), (text) => void parseChallenges(text)));
  parseChallenges(`Bearer realm="${'\\"'.repeat(50_000)}`);
});

test('a pause is seconds or a date', () => {
  assert.equal(retryAfter('7', 0), 7000);
  assert.equal(retryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 4000), 6000);
  assert.equal(retryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 40_000), 0);
  assert.equal(retryAfter('soon', 0), undefined);
  assert.equal(retryAfter(undefined, 0), undefined);
});
