import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goFloat, goJson, goNumber, goQuote } from './go-text.ts';
import { goRegExp } from './validation/go-regexp.ts';

test('strings are quoted as Go quotes them', () => {
  const cases: [string, string][] = [
    ['plain', '"plain"'],
    ['a "b" \\', '"a \\"b\\" \\\\"'],
    ['\n\t\u0007\u0001\u007f', '"\\n\\t\\a\\x01\\x7f"'],
    ['grün 😀', '"grün 😀"'],
    ['\u200b', '"\\u200b"'],
  ];
  for (const [text, quoted] of cases) assert.equal(goQuote(text), quoted);
});

test('numbers are written as Go writes them', () => {
  const floats: [number, string][] = [
    [0, '0'],
    [0.5, '0.5'],
    [999_999.5, '999999.5'],
    [1_000_000.5, '1.0000005e+06'],
    [1e6, '1e+06'],
    [0.0001, '0.0001'],
    [0.000_01, '1e-05'],
    [1e100, '1e+100'],
    [-2e7, '-2e+07'],
  ];
  for (const [value, text] of floats) assert.equal(goFloat(value), text);
  assert.equal(goNumber(1_000_000), '1000000');
});

test('JSON has its keys sorted and what HTML knows escaped', () => {
  assert.equal(
    goJson({ b: '<a&b>', a: [1, null, { d: undefined }] }),
    '{"a":[1,null,{}],"b":"\\u003ca\\u0026b\\u003e"}',
  );
});

test('patterns match what RE2 matches', () => {
  const cases: [pattern: string, yes: string[], no: string[]][] = [
    ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', ['a', 'a-b'], ['-a', 'A']],
    ['(?i)^abc$', ['ABC'], ['abd']],
    ['\\Aab\\z', ['ab'], ['abc', 'ab\n']],
    ['^\\pL+$', ['äb'], ['1']],
    ['^\\p{Greek}$', ['α'], ['a']],
    ['^[[:alpha:]_]+$', ['a_b'], ['1']],
    ['^\\-\\_\\/\\@$', ['-_/@'], ['-']],
    ['^[\\w.-]+$', ['a.b-c'], ['a b']],
    ['^[]a]+$', [']a'], ['b']],
    ['^a{2}b{,2}$', ['aab{,2}'], ['ab']],
    ['^(?P<year>\\d{4})$', ['2026'], ['26']],
    ['^\\Qa.b\\E$', ['a.b'], ['axb']],
    ['^\\s$', [' ', '\t'], ['\u00a0']],
    ['^\\x{41}\\x42\\103$', ['ABC'], ['abc']],
    ['^(?i:ab)c$', ['ABc'], ['ABC']],
  ];
  for (const [pattern, yes, no] of cases) {
    for (const text of yes) assert.ok(goRegExp(pattern).test(text), `${pattern} matches ${text}`);
    for (const text of no) assert.ok(!goRegExp(pattern).test(text), `${pattern} does not match ${text}`);
  }
});

test('patterns that RE2 does not have are refused in its words', () => {
  const cases: [pattern: string, message: string][] = [
    ['(?=a)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'error parsing regexp: invalid escape sequence: `\\1`'],
    ['*a', 'error parsing regexp: missing argument to repetition operator: `*`'],
    ['(a', 'error parsing regexp: missing closing ): `(a`'],
    ['a)', 'error parsing regexp: unexpected ): `a)`'],
    ['[a', 'error parsing regexp: missing closing ]: `[a`'],
    ['a{1001}', 'error parsing regexp: invalid repeat count: `{1001}`'],
    ['\\', 'error parsing regexp: trailing backslash at end of expression: ``'],
    ['\\y', 'error parsing regexp: invalid escape sequence: `\\y`'],
  ];
  for (const [pattern, message] of cases) assert.throws(() => goRegExp(pattern), { name: 'SchemaError', message });
});
