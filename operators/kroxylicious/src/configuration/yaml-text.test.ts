import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { itemLines, yamlLines } from './yaml-text.ts';

const json = () => fc.jsonValue({ maxDepth: 4 }).filter((value) => typeof value === 'object' && value !== null);

describe('YAML text', () => {
  test('reads back as what was written', () => {
    fc.assert(
      fc.property(json(), (value) =>
        assert.deepEqual(
          parse(yamlLines(value).join('\n') || (Array.isArray(value) ? '[]' : '{}')),
          JSON.parse(JSON.stringify(value)),
        ),
      ),
    );
  });

  test('of an item reads back as an item', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) =>
        assert.deepEqual(parse(itemLines(value, '  ').join('\n')), [JSON.parse(JSON.stringify(value))]),
      ),
    );
  });

  test('escapes what older YAML takes for the end of a line, or refuses', () => {
    const [line = ''] = yamlLines({ text: 'a\u2028b\u0085c\u009f\ufeff\n' });
    assert.equal(line, String.raw`text: "a\u2028b\u0085c\u009f\ufeff\n"`);
    assert.deepEqual(parse(line), { text: 'a\u2028b\u0085c\u009f\ufeff\n' });
  });

  test('has one field a line, strings in quotes, and no undefined', () => {
    assert.deepEqual(yamlLines({ name: 'a', list: [{ x: 1, z: ['b'] }], none: undefined, empty: {}, yes: true }), [
      'name: "a"',
      'list:',
      '  - x: 1',
      '    z:',
      '      - "b"',
      'empty: {}',
      '"yes": true',
    ]);
  });
});
