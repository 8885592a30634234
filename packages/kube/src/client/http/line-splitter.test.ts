import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createLineSplitter } from './line-splitter.ts';

test('the lines do not depend on the division of the bytes into chunks', () => {
  const line = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, 'é'));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 10 }), fc.array(fc.nat(400), { maxLength: 10 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      const splitter = createLineSplitter(1000);
      const out = places.slice(1).flatMap((end, index) => splitter.push(bytes.subarray(places[index], end)));
      assert.deepEqual(
        out,
        lines.filter((text) => text !== '').map((text) => Buffer.from(text).toString()),
      );
      assert.equal(splitter.pendingBytes, 0);
    }),
  );
});

test('a line of exactly the limit passes, one byte more does not, and lines before it are kept', () => {
  const within = createLineSplitter(4);
  assert.deepEqual(within.push(Buffer.from('ab')), []);
  assert.deepEqual(within.push(Buffer.from('cd\nx')), ['abcd']);
  assert.equal(within.isOverflown, false);

  const beyond = createLineSplitter(4);
  assert.deepEqual(beyond.push(Buffer.from('ok\nabcde\nlater\n')), ['ok']);
  assert.equal(beyond.isOverflown, true);

  const unended = createLineSplitter(4);
  assert.deepEqual(unended.push(Buffer.from('ok\nabc')), ['ok']);
  assert.deepEqual(unended.push(Buffer.from('de')), []);
  assert.equal(unended.isOverflown, true);
});

test('empty lines and single carriage returns are skipped', () => {
  assert.deepEqual(createLineSplitter(100).push(Buffer.from('\n\r\n{"a":1}\r\n\n')), ['{"a":1}\r']);
});
