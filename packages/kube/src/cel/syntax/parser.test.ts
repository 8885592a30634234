import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCelCompiler } from '../compile.ts';
import { parseCel } from './parser.ts';

const compiler = createCelCompiler();
const issuesOf = (text: string): string => {
  const compiled = compiler.compile(text, []);
  return 'issues' in compiled ? compiled.issues : '';
};

test('an issue shows its line and its place', () => {
  assert.equal(
    issuesOf('1 == 1 &&\n\tnone'),
    "ERROR: <input>:2:2: undeclared reference to 'none' (in container '')\n |  none\n | .^",
  );
  assert.equal(
    issuesOf("'grün😀' == none"),
    "ERROR: <input>:1:12: undeclared reference to 'none' (in container '')\n | 'grün😀' == none\n | ...\uff0e.\uff0e.....^",
  );
});

test('several issues are reported in the order of the text', () => {
  assert.equal(
    issuesOf('a + b'),
    [
      "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a + b\n | ^",
      "ERROR: <input>:1:5: undeclared reference to 'b' (in container '')\n | a + b\n | ....^",
    ].join('\n'),
  );
});

const SYNTAX: [text: string, place: string, message: string][] = [
  ['1 2', '1:3', "Syntax error: extraneous input '2' expecting <EOF>"],
  ['1 +', '1:4', "Syntax error: mismatched input '<EOF>' expecting"],
  ['(1', '1:3', "Syntax error: missing ')' at '<EOF>'"],
  ['[1', '1:3', "Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
  ['f(1 2)', '1:5', "Syntax error: extraneous input '2' expecting {')', ','}"],
  ['a.', '1:3', "Syntax error: no viable alternative at input '.'"],
  ['a.true', '1:3', "Syntax error: mismatched input 'true' expecting IDENTIFIER"],
  ['a $ b', '1:3', "Syntax error: token recognition error at: '$'"],
  ['a = b', '1:3', "Syntax error: token recognition error at: '='"],
  ['for', '1:1', 'reserved identifier: for'],
  ['has(a)', '1:5', 'invalid argument to has() macro'],
  ['[1].all(x.y, true)', '1:10', 'argument must be a simple name'],
  ['[1].all(x, x, true)', '1:12', 'duplicate variable name: x'],
  ['9223372036854775808', '1:1', 'invalid int literal'],
  [`${'('.repeat(260)}1`, '1:251', 'expression recursion limit exceeded: 250'],
  [`1${'+1'.repeat(600)}`, '1:1004', 'expression recursion limit exceeded: 250'],
];
for (const [text, place, message] of SYNTAX) {
  test(`${text.slice(0, 20)} is refused: ${message.slice(0, 60)}`, () => {
    const [first] = issuesOf(text).split('\n');
    assert.ok(first?.startsWith(`ERROR: <input>:${place}: ${message}`), first ?? '');
  });
}

test('a long chain of conditions does not exceed the depth limit', () => {
  assert.equal(issuesOf(Array.from({ length: 5000 }, () => 'true').join(' && ')), '');
});

test('an expression that is too long is refused', () => {
  const message = 'expression code point size exceeds limit: size: 100001, limit 100000';
  assert.deepEqual(parseCel(' '.repeat(100_001)).issues, [{ at: 0, message }]);
});
