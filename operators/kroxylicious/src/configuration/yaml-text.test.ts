import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { itemLines, yamlLines } from './yaml-text.ts';

const json = () => fc.jsonValue({ maxDepth: 4 }).filter((value) => typeof value === 'object' && value !== null);

describe('YAML text', () => {
  test('reads back as the value that was written', () => {
    fc.assert(
      fc.property(json(), (value) =>
        assert.deepEqual(
          parse(yamlLines(value).join('\n') || (Array.isArray(value) ? '[]' : '{}')),
          JSON.parse(JSON.stringify(value)),
        ),
      ),
    );
  });

  test('YAML text of a list item reads back as a list item', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) =>
        assert.deepEqual(parse(itemLines(value, '  ').join('\n')), [JSON.parse(JSON.stringify(value))]),
      ),
    );
  });

  test('is the same for the same content in any field order', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      const fields = Object.entries(value).toReversed();
      return Object.fromEntries(fields.map(([name, part]) => [name, reversed(part)]));
    };
    fc.assert(fc.property(json(), (value) => assert.deepEqual(yamlLines(reversed(value)), yamlLines(value))));
  });

  test('escapes characters that older YAML refuses or treats as the end of a line', () => {
    const [line = ''] = yamlLines({ text: 'a\u2028b\u0085c\u009f\ufeff\n' });
    assert.equal(line, String.raw`text: "a\u2028b\u0085c\u009f\ufeff\n"`);
    assert.deepEqual(parse(line), { text: 'a\u2028b\u0085c\u009f\ufeff\n' });
  });

  test('has one field a line, names first, strings in quotes, and no undefined', () => {
    assert.deepEqual(
      yamlLines({ empty: {}, list: [{ x: 1, z: ['b'] }], none: undefined, type: 'b', name: 'a', yes: true }),
      ['name: "a"', 'type: "b"', 'empty: {}', 'list:', '  - x: 1', '    z:', '      - "b"', '"yes": true'],
    );
  });
});
