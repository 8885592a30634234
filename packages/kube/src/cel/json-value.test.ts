import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createCelCompiler, DYNAMIC, dynamicValue } from './index.ts';

const JSON_VALUE = { n: 3, half: 1.5, text: 'x', on: true, none: null, gone: undefined, list: [{ a: 1 }, { a: 2 }] };

const CASES: [expression: string, result: unknown][] = [
  ['v.n == 3 && type(v.n) == int && v.n + 1 == 4', true],
  ['v.half > 1.0 && type(v.half) == double', true],
  ['v.list.exists(one, one.a == 2) && v.list.size() == 2', true],
  ['v.list.map(one, one.a).sum() == 3', true],
  ['has(v.none) && v.none == null', true],
  ['has(v.gone) || has(v.absent)', false],
  ['v.all(key, key != "gone")', true],
  ['v.text + "y"', 'xy'],
];

for (const [expression, result] of CASES) {
  it(`JSON without a schema: ${expression}`, () => {
    const compiled = createCelCompiler().compile(expression, [{ name: 'v', type: DYNAMIC }]);
    assert.ok('program' in compiled, JSON.stringify(compiled));
    assert.equal(compiled.program.run([dynamicValue(JSON_VALUE)]).value, result);
  });
}
