import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityToNumber,
  storedQuantity,
} from './quantity.ts';

describe('a quantity', () => {
  it('the canonical form of a quantity has no fraction and the largest suffix that loses nothing', () => {
    for (const [text, canonical] of [
      ['0', '0'],
      ['0Gi', '0'],
      ['-0', '0'],
      ['1.5', '1500m'],
      ['0.1', '100m'],
      ['.5', '500m'],
      ['1.', '1'],
      ['+1', '1'],
      ['-1.5Gi', '-1536Mi'],
      ['1.5Gi', '1536Mi'],
      ['1024Mi', '1Gi'],
      ['1024', '1024'],
      ['1000', '1k'],
      ['1000m', '1'],
      ['1500k', '1500k'],
      ['0.5Ki', '512'],
      ['1Ki', '1Ki'],
      ['1000Ki', '1000Ki'],
      ['1.0001Ki', '1024102400u'],
      ['12e6', '12e6'],
      ['1200e4', '12e6'],
      ['1E3', '1e3'],
      ['1e-3', '1e-3'],
      ['5e0', '5'],
      ['0.0000000001', '1n'],
      ['-0.0000000001', '-1n'],
      ['1e-30', '1e-9'],
      ['9223372036854775807', '9223372036854775807'],
      ['100Ei', '9223372036854775807'],
      ['1E', '1E'],
      ['5000E', '5000E'],
    ] as const) {
      assert.equal(canonicalQuantity(text), canonical, text);
    }
    assert.equal(canonicalQuantity(2), '2');
    assert.equal(canonicalQuantity(0.5), '500m');
  });

  it('quantities are compared by value in all notations', () => {
    for (const [a, b, order] of [
      ['1', '1000m', 0],
      ['1Gi', '1G', 1],
      ['500m', '1', -1],
      ['-1', '0', -1],
      ['1e3', '1k', 0],
      ['1024Ki', '1Mi', 0],
    ] as const) {
      assert.equal(compareQuantities(a, b), order, `${a} and ${b}`);
      assert.equal(compareQuantities(b, a), 0 - order);
    }
  });

  it('a server returns the canonical form of a quantity, or the original text if it looks canonical', () => {
    for (const [text, stored] of [
      ['1.5', '1500m'],
      ['1.500', '1.500'],
      ['+5', '+5'],
      ['005', '005'],
      ['1E3', '1E3'],
      ['0.5', '500m'],
      ['1000m', '1'],
      ['1024Mi', '1Gi'],
      ['+1Gi', '+1Gi'],
      ['1.5Gi', '1536Mi'],
      ['0Gi', '0'],
    ] as const) {
      assert.equal(storedQuantity(text), stored, text);
    }
  });

  it('a quantity is converted to a number', () => {
    assert.equal(quantityToNumber('1.5Gi'), 1610612736);
    assert.equal(quantityToNumber('-250m'), -0.25);
  });

  it('an invalid quantity is refused with the problem and the remedy', () => {
    for (const [text, problem] of [
      ['', 'quantities must match'],
      ['.', 'quantities must match'],
      ['Gi', 'quantities must match'],
      ['1 Gi', 'quantities must match'],
      ['1.2.3', 'quantities must match'],
      ['1Zi', 'quantities must match'],
      ['1i', "unable to parse quantity's suffix"],
      ['1KI', 'quantities must match'],
      ['1e', "unable to parse quantity's suffix"],
      ['1ki', "unable to parse quantity's suffix"],
      ['1e999999999', 'its exponent is larger than 1000'],
      ['1'.repeat(2000), 'it has too many digits'],
    ] as const) {
      assert.throws(
        () => parseQuantity(text),
        (error: Error) =>
          error.message.includes(`is not a quantity: ${problem}`) &&
          error.message.includes('; write a number with a suffix'),
        text.slice(0, 20),
      );
    }
  });

  it('the canonical form keeps the value of a quantity', () => {
    const format = fc.constantFrom('DecimalSI' as const, 'BinarySI' as const, 'DecimalExponent' as const);
    const nanos = fc.oneof(
      fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }),
      fc.bigInt({ min: -(2n ** 20n), max: 2n ** 20n }).map((value) => value * 1024n * 1_000_000_000n),
    );
    fc.assert(
      fc.property(nanos, format, (nanos, format) => {
        const text = formatQuantity({ nanos, format });
        assert.equal(parseQuantity(text).nanos, nanos);
        assert.equal(canonicalQuantity(text), text);
      }),
    );
  });
});
