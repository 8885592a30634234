import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { duplicateFields, readJson } from './json-text.ts';

const cases: [text: string, duplicates: string[]][] = [
  ['{}', []],
  ['{"a":1,"b":{"a":1}}', []],
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"a":{"b":1,"b":2},"c":[{"d":1},{"d":1,"d":2}]}', ['a.b', 'c[1].d']],
  ['[[{"x":1,"x":1}]]', ['[0][0].x']],
  ['{"a\\"b":1,"a\\"b":2}', ['a"b']],
  ['{"a\\\\":1,"b":"\\\\","a\\\\":2}', ['a\\']],
  ['{"\\u0061":1,"a":2}', ['a']],
  ['{"a":"{\\"a\\":1,","b":"}"}', []],
];
for (const [text, duplicates] of cases) {
  test(`${text} has ${duplicates.length === 0 ? 'nothing' : duplicates.join(' and ')} twice`, () => {
    assert.deepEqual(duplicateFields(text), duplicates);
  });
}

test('no value that JSON.stringify writes has anything twice, and it is read as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(readJson(text), { value: JSON.parse(text) as unknown, duplicates: [] });
    }),
  );
});

test('a field written twice anywhere is found', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
      const [key = ''] = Object.keys(object);
      const text = `{"list":[0,${JSON.stringify(object).slice(0, -1)},${JSON.stringify(key)}:null}]}`;
      assert.deepEqual(duplicateFields(text), [`list[1].${key}`]);
    }),
  );
});
