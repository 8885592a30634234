import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { causeDigest, keyedDigest, keyFor, plainDigest, sameDigest } from './digest.ts';

const key = (id = 'k1', fill = 1) => ({ id, bytes: new Uint8Array(32).fill(fill) });
const keyed = (values: unknown[], secrets: string[], with_ = key()) =>
  keyedDigest(
    values,
    (text) => secrets.includes(text),
    () => with_,
  );

/** The same data, built in another order of fields. */
function rebuilt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rebuilt);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, part]) => [name, rebuilt(part)]),
  );
}

const json = () => fc.jsonValue({ maxDepth: 3 });

describe('a digest', () => {
  test('does not depend on the order in which objects were built', () => {
    fc.assert(fc.property(json(), (value) => assert.equal(plainDigest(rebuilt(value)), plainDigest(value))));
  });

  test('does not depend on it either where names are numbers, which JavaScript puts first', () => {
    const sorted = { 9: 'x', 10: 'y', b: { y: 1, z: 2 } };
    assert.equal(plainDigest({ b: { z: 2, y: 1 }, 10: 'y', 9: 'x' }), plainDigest(sorted));
    assert.equal(plainDigest({ 1: 'x', b: { z: 2, y: 1 } }), plainDigest({ 1: 'x', b: { y: 1, z: 2 } }));
    assert.equal(plainDigest({ ...sorted, gone: undefined }), plainDigest(sorted));
    assert.equal(plainDigest({ 1: 'x', a: undefined }), plainDigest({ 1: 'x' }));
    assert.notEqual(plainDigest({ 9: 'y', 10: 'x' }), plainDigest({ 9: 'x', 10: 'y' }));
  });

  test('a digest of two different lists of values is never the same', () => {
    fc.assert(
      fc.property(fc.array(json(), { maxLength: 3 }), fc.array(json(), { maxLength: 3 }), (left, right) => {
        fc.pre(JSON.stringify(rebuilt(left)) !== JSON.stringify(rebuilt(right)));
        const isSameText = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
        assert.equal(plainDigest(...left) === plainDigest(...right), isSameText);
      }),
    );
  });

  test('frames its values: where one ends and the next begins counts', () => {
    assert.notEqual(plainDigest('ab', 'c'), plainDigest('a', 'bc'));
    assert.notEqual(plainDigest(['a'], 'b'), plainDigest(['a', 'b']));
    assert.notEqual(plainDigest('1'), plainDigest(1));
  });

  test('keeps the order of lists, which has meaning', () => {
    assert.notEqual(plainDigest(['a', 'b']), plainDigest(['b', 'a']));
  });

  test('takes an undefined field for no field, and an undefined value for null', () => {
    assert.equal(plainDigest({ a: 1, b: undefined }), plainDigest({ a: 1 }));
    assert.equal(plainDigest(undefined), plainDigest(null));
    assert.notEqual(plainDigest({ a: null }), plainDigest({}));
  });

  test('is one for numbers that JSON writes alike', () => {
    assert.equal(plainDigest(-0), plainDigest(0));
    assert.equal(plainDigest(1e2), plainDigest(100));
    assert.notEqual(plainDigest(0.1 + 0.2), plainDigest(0.3));
  });

  test('a digest of a value that JSON cannot hold is refused, since its changes would not be seen', () => {
    const cannot: [unknown, RegExp][] = [
      [new Map([['a', 1]]), /a Map/],
      [new Set(['a']), /a Set/],
      [Number.NaN, /NaN/],
      [Number.POSITIVE_INFINITY, /Infinity/],
      [1n, /a bigint/],
      [() => 1, /a function/],
      [Symbol('s'), /a symbol/],
      [{ deep: [new Map()] }, /a Map/],
    ];
    for (const [value, named] of cannot) assert.throws(() => plainDigest(value), named);
  });

  test('takes bytes by their content and times as they print', () => {
    assert.equal(plainDigest(Buffer.from('abc')), plainDigest(new Uint8Array([97, 98, 99])));
    assert.notEqual(plainDigest(Buffer.from('abc')), plainDigest(Buffer.from('abd')));
    assert.equal(plainDigest(new Date(0)), plainDigest('1970-01-01T00:00:00.000Z'));
  });

  test('has a form that does not change from one release to the next', () => {
    // If this fails, an upgrade would roll everything: make a new version of the form instead.
    assert.equal(plainDigest({ b: [1, 'x'], a: null }, 'y'), 'v1.c7e7740ad6bcfa9ea1a6b43476bf9bf8');
  });
});

describe('a digest of secrets', () => {
  test('shows neither the secret nor a hash of it that anybody could compute', () => {
    const text = keyed([{ user: 'admin', password: 'hunter2' }], ['hunter2']);
    assert.match(text, /^v1\.[0-9a-f]{32}\.k1\.[0-9a-f]{32}$/);
    assert.equal(text.split('.')[1], keyed([{ user: 'admin', password: 'other' }], ['other']).split('.')[1]);
    assert.notEqual(text.split('.')[1], plainDigest({ user: 'admin', password: 'hunter2' }).split('.')[1]);
  });

  test('changes with the secret, and with what is around it', () => {
    const before = keyed(['a', 'hunter2'], ['hunter2']);
    assert.equal(sameDigest(before, keyed(['a', 'hunter3'], ['hunter3'])), false);
    assert.equal(sameDigest(before, keyed(['b', 'hunter2'], ['hunter2'])), false);
    assert.equal(keyed(['a', 'hunter2'], ['hunter2']), before);
  });

  test('shows which of two secrets is where', () => {
    const secrets = ['one', 'two'];
    assert.notEqual(keyed([{ a: 'one', b: 'two' }], secrets), keyed([{ a: 'two', b: 'one' }], secrets));
    assert.equal(keyed([{ a: 'one', b: 'two' }], secrets), keyed([{ b: 'two', a: 'one' }], secrets));
  });

  test('finds a secret in bytes too', () => {
    const bytes = Buffer.from('hunter2');
    assert.match(keyed([bytes], [bytes.toString('base64')]), /\.k1\./);
  });

  test('is a plain one, and asks for no key, when nothing in it is secret', () => {
    const text = keyedDigest(
      ['a'],
      () => false,
      () => assert.fail('no key is needed'),
    );
    assert.equal(text, plainDigest('a'));
  });

  test('says the same under a new key, so that the key alone rolls nothing', () => {
    const before = keyed(['a', 'hunter2'], ['hunter2'], key('k1', 1));
    const after = keyed(['a', 'hunter2'], ['hunter2'], key('k2', 2));
    assert.notEqual(before, after);
    assert.equal(sameDigest(before, after), true);
    const changed = keyed(['b', 'hunter2'], ['hunter2'], key('k2', 2));
    assert.equal(sameDigest(before, changed), false);
  });

  test('never says the same as one without secrets', () => {
    const plain = plainDigest('\u0000sensitive');
    assert.equal(sameDigest(plain, keyed(['hunter2'], ['hunter2'])), false);
  });
});

test('two digests are compared as wholes where no secret is in them', () => {
  const plain = plainDigest('a');
  assert.equal(sameDigest(plain, plainDigest('a')), true);
  assert.equal(sameDigest(plain, plainDigest('b')), false);
  assert.equal(sameDigest(undefined, undefined), true);
  assert.equal(sameDigest(undefined, plain), false);
  assert.equal(sameDigest(plain, undefined), false);
});

test('an object with a name that begins with a digit is digested as pairs in the order of the text', () => {
  const asPairs = (...pairs: readonly [string, unknown][]) => plainDigest({ '\u0000pairs': pairs });
  for (const digit of ['0', '9', '5a']) assert.equal(plainDigest({ [digit]: 'x' }), asPairs([digit, 'x']));
  for (const other of ['/', ':', 'a0', '']) assert.notEqual(plainDigest({ [other]: 'x' }), asPairs([other, 'x']));
  assert.equal(plainDigest({ 9: 'y', 10: 'x' }), asPairs(['10', 'x'], ['9', 'y']));
  assert.equal(plainDigest({ b: 1, 2: 'y' }), asPairs(['2', 'y'], ['b', 1]));
});

test('a value of a class is refused by its name, and a field toJSON that is no function is data', () => {
  assert.throws(() => plainDigest(Object.create(Object.create(null) as object)), /an? object of a class/);
  assert.throws(
    () =>
      plainDigest(
        new (class Clock {
          readonly at = 1;
        })(),
      ),
    /a Clock/,
  );
  assert.equal(plainDigest({ toJSON: 1 }), plainDigest({ toJSON: 1 }));
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, part]) => [name, sorted(part)]));
}

test('the digest of a sensitive object in a cause is keyed, and does not count metadata', () => {
  const secret = (data: string, resourceVersion: string) => ({
    kind: 'Secret',
    metadata: { resourceVersion },
    data: { a: data },
  });
  assert.equal(causeDigest(secret('x', '1'), key()), causeDigest(secret('x', '2'), key()));
  assert.notEqual(causeDigest(secret('x', '1'), key()), causeDigest(secret('y', '1'), key()));
  assert.notEqual(causeDigest(secret('x', '1'), key()), causeDigest(secret('x', '1'), key('k1', 2)));
});

test('the digest of a cause has twelve digits, and covers the whole object or its seen parts', () => {
  const secret = { kind: 'Secret', metadata: { namespace: 'one' }, data: { a: 'x', b: 'y' } };
  const whole = causeDigest(secret, key());
  assert.match(whole, /^[0-9a-f]{12}$/);
  assert.equal(whole, '54d88293b7d2');
  assert.equal(causeDigest(secret, key(), secret), whole);
  assert.notEqual(causeDigest(secret, key(), { a: 'x' }), whole);
  assert.notEqual(causeDigest(secret, key(), { a: 'x' }), causeDigest(secret, key(), { a: 'z' }));
  assert.equal(causeDigest({ data: {} }, key()), causeDigest({ metadata: { namespace: '' }, data: {} }, key()));
});

test('a key for one namespace and purpose is another than for any other, and than that of another operator', () => {
  const given = { id: 'k', bytes: new Uint8Array(32) };
  const other = { id: 'k', bytes: new Uint8Array(32).fill(1) };
  const keys = [
    keyFor(given, 'one', 'inputs'),
    keyFor(given, 'two', 'inputs'),
    keyFor(given, 'one', 'cause'),
    keyFor(other, 'one', 'inputs'),
  ].map(({ bytes }) => Buffer.from(bytes).toString('hex'));
  assert.equal(new Set(keys).size, 4);
  assert.equal(keyFor(given, 'one', 'inputs').id, 'k_n');
  assert.deepEqual(keyFor(given, 'one', 'inputs'), keyFor(given, 'one', 'inputs'));
});
