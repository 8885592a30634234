import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createProtobufDecoder } from './decode.ts';
import { encodeInSteps, encodeObject } from './encode.ts';

const { decode } = createProtobufDecoder();
const encoded = (object: object) => encodeObject(object) ?? assert.fail('the kind has no protobuf form');

describe('protobuf answers', () => {
  it('carry integers of every size', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer(), (generation, replicas) => {
        const object = { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { generation }, spec: { replicas } };
        // A generation of zero is one that is not set.
        const metadata = generation === 0 ? {} : { generation };
        assert.deepEqual(decode(encoded(object)), { ...object, metadata });
      }),
      {
        examples: [
          [2 ** 31, -1],
          [2 ** 49 - 1, 127],
          [-(2 ** 53 - 1), 128],
          [0, 16_384],
        ],
      },
    );
  });

  it('carry texts of every length and alphabet', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), fc.integer({ min: 0, max: 9000 }), (text, length) => {
        const data = { text, long: 'é'.repeat(length) };
        assert.deepEqual(decode(encoded({ kind: 'ConfigMap', apiVersion: 'v1', data })), {
          kind: 'ConfigMap',
          apiVersion: 'v1',
          data,
        });
      }),
    );
  });

  it('are pieces of a long list, made in steps between which other work is done', () => {
    const items = Array.from({ length: 700 }, (_, index) => ({
      metadata: { name: `object-${index}`, creationTimestamp: '2024-02-29T23:59:59Z' },
      data: { filling: 'x'.repeat(2000) },
    }));
    const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items };
    const encoding = encodeInSteps(list);
    let steps = 0;
    let result = encoding.next();
    for (; !result.done; result = encoding.next()) steps += 1;
    const pieces = result.value?.pieces() ?? [];
    assert.equal(steps, 3);
    assert.ok(pieces.length > 3, String(pieces.length));
    const whole = Buffer.concat(pieces);
    assert.deepEqual(decode(whole), list);
    assert.deepEqual(Buffer.from(encoded(list)), whole);
  });
});
