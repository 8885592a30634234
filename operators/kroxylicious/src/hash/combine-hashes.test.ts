import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keyedDigest, plainDigest, sameDigest } from '@capstan/reconcile';
import * as fc from 'fast-check';
import { combineHashes, isKeyed, reportedHash, shortHash } from './combine-hashes.ts';

const leaf = (content: string, key?: string) =>
  key === undefined
    ? plainDigest(content)
    : keyedDigest(
        [content],
        () => true,
        () => ({ id: key, bytes: Buffer.from(key) }),
      );

describe('an aggregate hash', () => {
  const child = fc.record({ name: fc.string({ minLength: 1 }), content: fc.string(), keyed: fc.boolean() });
  const children = fc.uniqueArray(child, { selector: ({ name }) => name });
  const hashed = (list: readonly { name: string; content: string; keyed: boolean }[], key = 'k1') =>
    list.map(({ name, content, keyed }) => ({ name, hash: leaf(content, keyed ? key : undefined) }));

  test('does not depend on the order in which children come', () => {
    fc.assert(
      fc.property(children, fc.jsonValue(), (list, own) => {
        assert.equal(combineHashes(own, hashed(list)), combineHashes(own, hashed(list.toReversed())));
      }),
    );
  });

  test('differs when a child, its name or the own part differs', () => {
    const before = combineHashes('own', [{ name: 'a', hash: leaf('1') }]);
    assert.notEqual(combineHashes('own', [{ name: 'a', hash: leaf('2') }]), before);
    assert.notEqual(combineHashes('own', [{ name: 'b', hash: leaf('1') }]), before);
    assert.notEqual(combineHashes('other', [{ name: 'a', hash: leaf('1') }]), before);
    assert.notEqual(combineHashes('own', []), before);
    assert.notEqual(
      combineHashes('own', [{ name: 'a', hash: leaf('1', 'k') }]),
      combineHashes('own', [{ name: 'a', hash: leaf('2', 'k') }]),
    );
  });

  test('frames its parts: names that run together are still different names', () => {
    const hash = leaf('x');
    assert.notEqual(
      combineHashes('', [
        { name: 'ab', hash },
        { name: 'c', hash },
      ]),
      combineHashes('', [
        { name: 'a', hash },
        { name: 'bc', hash },
      ]),
    );
  });

  test('counts as equal under a new key, however deep the secret lies', () => {
    const tree = (key: string, plain: string) =>
      combineHashes('top', [
        {
          name: 'middle',
          hash: combineHashes('middle', [
            { name: 'leaf', hash: leaf('secret', key) },
            { name: 'other', hash: leaf(plain) },
          ]),
        },
      ]);
    assert.notEqual(tree('k1', 'a'), tree('k2', 'a'));
    assert.ok(sameDigest(tree('k1', 'a'), tree('k2', 'a')));
    assert.ok(!sameDigest(tree('k1', 'a'), tree('k2', 'b')));
  });

  test('is the same in every process', () => {
    assert.equal(
      combineHashes({ b: 1, a: [2] }, [{ name: 'x', hash: 'v1.00.k.11' }]),
      'v1.4525650697445680bc9563b8dbb235a1.k.64ad0fce2f24475e1734da2314854bb5',
    );
  });

  test('has a keyed part exactly if a child has one, with the keys of those children alone', () => {
    const plain = { name: 'a', hash: leaf('x') };
    const keyed = { name: 'b', hash: leaf('y', 'k') };
    assert.match(combineHashes('own', [plain]), /^v1\.[0-9a-f]+$/);
    assert.match(combineHashes('own', [plain, keyed]), /^v1\.[0-9a-f]+\.k\.[0-9a-f]+$/);
    assert.equal(isKeyed(combineHashes('own', [plain])), false);
    assert.equal(isKeyed(combineHashes('own', [plain, keyed])), true);
  });

  test('has a short form for messages, which also differs if only the keyed part differs', () => {
    assert.equal(reportedHash('v1.0123456789abcdef0123'), '0123456789ab');
    assert.equal(reportedHash('v1.0123456789abcdef0123.k.fedcba98765'), '0123456789ab.fedcba98');
  });

  test('has a short form for names', () => {
    assert.equal(shortHash('v1.0123456789abcdef0123.k.0'), '0123456789ab');
    // A text without parts stands in a status that someone edited.
    assert.equal(shortHash('edited'), '');
  });
});
