import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCelCompiler } from './compile.ts';
import { compareStrings, compareValues, equalValues } from './equality.ts';
import { escapeProperty } from './syntax/escape.ts';
import { BOOL, INT, listOf, STRING } from './typing/types.ts';
import { type CelList, list, type Value } from './values.ts';

const compiler = createCelCompiler();

function program(text: string, types: Parameters<typeof compiler.compile>[1]): (...values: Value[]) => Value {
  const compiled = compiler.compile(text, types);
  assert.ok('program' in compiled, 'issues' in compiled ? compiled.issues : '');
  return (...values) => compiled.program.run(values).value;
}

const a = { name: 'a', type: INT };
const b = { name: 'b', type: INT };
const int64 = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(-20n, 20n));

test('ints are exact, and a result beyond 64 bits is an overflow', () => {
  const operators: [string, (x: bigint, y: bigint) => bigint][] = [
    ['+', (x, y) => x + y],
    ['-', (x, y) => x - y],
    ['*', (x, y) => x * y],
    ['/', (x, y) => x / y],
  ];
  for (const [operator, expected] of operators) {
    const run = program(`a ${operator} b`, [a, b]);
    fc.assert(
      fc.property(int64, int64, (x, y) => {
        if (operator === '/' && y === 0n) {
          assert.throws(() => run(x, y), /division by zero/);
          return;
        }
        const result = expected(x, y);
        if (BigInt.asIntN(64, result) === result) assert.equal(run(x, y), result);
        else assert.throws(() => run(x, y), /integer overflow/);
      }),
    );
  }
});

test('texts are ordered by their characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (x, y) => {
      assert.equal(Math.sign(compareStrings(x, y)), Math.sign(Buffer.compare(Buffer.from(x), Buffer.from(y))));
    }),
  );
});

test('numbers of different types are equal if their values are equal', () => {
  fc.assert(
    fc.property(fc.integer(), fc.oneof(fc.integer(), fc.double({ noNaN: true })), (x, y) => {
      assert.equal(equalValues(BigInt(x), y), x === y);
      assert.equal(Math.sign(compareValues(BigInt(x), y)), Math.sign(x - y));
    }),
  );
});

test('macros return the same results as the methods of arrays', () => {
  const items = { name: 'a', type: listOf(INT) };
  const pairs: [string, (values: bigint[]) => unknown][] = [
    ['a.all(x, x > 0)', (values) => values.every((x) => x > 0n)],
    ['a.exists(x, x > 0)', (values) => values.some((x) => x > 0n)],
    ['a.exists_one(x, x > 0)', (values) => values.filter((x) => x > 0n).length === 1],
    ['a.map(x, x * 2) == a.filter(x, true).map(x, x + x)', () => true],
    ['a.sort() == a.sortBy(x, x) && a.sort().isSorted()', () => true],
    ['a.size() == 0 || a.sum() >= a.min() * a.size()', () => true],
    ['sets.equivalent(a, a.distinct()) && a.reverse().reverse() == a', () => true],
  ];
  for (const [text, expected] of pairs) {
    const run = program(text, [items]);
    fc.assert(
      fc.property(fc.array(fc.bigInt(-9n, 9n), { maxLength: 12 }), (values) => {
        assert.equal(run(list(values)), expected(values), text);
      }),
    );
  }
});

test('texts are cut by characters', () => {
  const text = { name: 'a', type: STRING };
  const split = program("a.split('')", [text]);
  const joined = program("a.split(',').join(',') == a && a.replace('a', 'a') == a", [text]);
  const found = program("!a.contains('é') || a.substring(a.indexOf('é')).startsWith('é')", [text]);
  const texts = fc.array(fc.constantFrom('a', ',', 'é', '😀', 'e\u0301')).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, (value) => {
      assert.deepEqual((split(value) as CelList).items, Array.from(value));
      assert.equal(joined(value), true);
      assert.equal(found(value), true);
    }),
  );
});

test('conditions short-circuit both ways, so that an error beside a decisive operand does not count', () => {
  const flag = (name: string) => ({ name, type: BOOL });
  const either = program('(a || 1 / 0 == 1) == (1 / 0 == 1 || a)', [flag('a')]);
  assert.equal(either(true), true);
  assert.throws(() => either(false), /division by zero/);
});

test('escaped names are identifiers, and no two properties share one', () => {
  const names = fc.stringMatching(/^[a-z_./-][a-z0-9_./-]{0,6}$/);
  fc.assert(
    fc.property(names, names, (x, y) => {
      const escaped = escapeProperty(x);
      assert.match(escaped ?? '', /^[A-Za-z_][A-Za-z0-9_]*$/);
      if (x !== y) assert.notEqual(escaped, escapeProperty(y));
    }),
  );
  assert.equal(escapeProperty('a b'), undefined);
  assert.equal(escapeProperty('1a'), undefined);
  assert.equal(escapeProperty('namespace'), '__namespace__');
});
