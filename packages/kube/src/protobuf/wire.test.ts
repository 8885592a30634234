import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { WireError, WireReader, WireWriter } from './index.ts';

suite('the wire format', () => {
  test('fields are read as they were written, also where the message is longer than a buffer', () => {
    const long = 'ü'.repeat(500_000);
    const out = new WireWriter();
    out.double(1.5, 5);
    const end = out.length;
    out.text('inner', 1);
    out.close(4, end);
    out.content(Uint8Array.of(1, 2), 3);
    out.text(long, 2);
    out.integer(-5, 1);
    const copy = Buffer.alloc(out.length);
    out.copyTo(copy);
    assert.deepEqual(copy, Buffer.from(out.result()));
    const read: unknown[] = [];
    for (const reader = new WireReader(copy); reader.next(); ) {
      if (reader.number === 1) read.push(reader.integer());
      else if (reader.number === 2) read.push(reader.text() === long);
      else if (reader.number === 3) read.push([...reader.bytes()]);
      else if (reader.number === 4) {
        const inner = reader.message();
        inner.next();
        read.push(inner.text());
      } else read.push(reader.double());
    }
    assert.deepEqual(read, [-5, true, [1, 2], 'inner', 1.5]);
  });

  test('a writer that is reset has nothing of what was written before', () => {
    const out = new WireWriter();
    out.bytes(Buffer.alloc(1_000_000, 1));
    out.reset();
    out.integer(1, 1);
    assert.deepEqual([...out.result()], [8, 1]);
  });

  test('a message beyond the limits is refused, and one within them is read', () => {
    const nested = (levels: number) => {
      const out = new WireWriter();
      for (let level = 0; level < levels; level += 1) out.close(1, 0);
      return out.result();
    };
    const depthOf = (bytes: Uint8Array) => {
      let reader = WireReader.limited(bytes, { depth: 3, fields: 10 });
      let depth = 0;
      for (; reader.next(); depth += 1) reader = reader.message();
      return depth;
    };
    assert.equal(depthOf(nested(3)), 3);
    assert.throws(() => depthOf(nested(4)), WireError);
    const many = WireReader.limited(Buffer.concat(Array(11).fill(Buffer.from([8, 1]))), { depth: 3, fields: 10 });
    assert.throws(() => {
      while (many.next());
    }, /more than 10 fields/);
    const packed = WireReader.limited(Buffer.from([10, 11, ...Array<number>(11).fill(1)]), { depth: 3, fields: 10 });
    packed.next();
    assert.throws(() => packed.packed(), /more than 10 fields/);
  });
});
