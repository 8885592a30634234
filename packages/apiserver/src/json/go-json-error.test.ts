import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { goJsonError } from './go-json-error.ts';

test('texts that are no JSON are described in the words of Go', () => {
  const cases: [text: string, message: string][] = [
    ['{"kind":', 'unexpected end of JSON input'],
    ['', 'unexpected end of JSON input'],
    ['nonsense', "invalid character 'o' in literal null (expecting 'u')"],
    ['{a', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['{}{}', "invalid character '{' after top-level value"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
  ];
  for (const [text, message] of cases) assert.equal(goJsonError(text), message, text);
});

test('a text has an error exactly when JSON.parse refuses it', () => {
  const parses = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 2 }), (json, at, noise) => {
      const place = json.length === 0 ? 0 : at % json.length;
      for (const text of [json, json.slice(0, place), json.slice(0, place) + noise + json.slice(place)]) {
        assert.equal(goJsonError(text) === undefined, parses(text), text);
      }
    }),
  );
});
