import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../../schema/json-schema.ts';
import { compileRule } from '../rule.ts';

const text: JsonSchema = { type: 'string' };
const schema: JsonSchema = {
  type: 'object',
  properties: {
    name: text,
    count: { type: 'integer' },
    ratio: { type: 'number' },
    isOn: { type: 'boolean' },
    tags: { type: 'array', items: text },
    labels: { type: 'object', additionalProperties: text },
    port: { 'x-kubernetes-int-or-string': true },
    when: { type: 'string', format: 'date-time' },
    every: { type: 'string', format: 'duration' },
    data: { type: 'string', format: 'byte' },
    any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    raw: { 'x-kubernetes-preserve-unknown-fields': true },
    namespace: text,
    'a-b': text,
    'a.b/c': text,
    a__b: text,
    'a b': text,
  },
};
const errorOf = (rule: string): string | undefined => compileRule({ rule }, schema).error;

test('fields have the types of the schema', () => {
  const rules = [
    "self.name == 'a' && self.count == 1 && self.ratio == 1.0 && self.isOn",
    "self.tags[0] == 'a' && self.labels['k'] == 'v' && self.labels.k == 'v'",
    "self.port == 1 || self.port == 'a'",
    "self.when > timestamp('2020-01-01T00:00:00Z') && self.every < duration('1h')",
    "self.data == b'x'",
    'self.any == self.any',
    "self.__namespace__ == 'a' && self.namespace == 'a' && self.a__dash__b == 'a' && self.a__dot__b__slash__c == ''",
    "self.a__underscores__b == 'a'",
    'self.tags.all(tag, self.labels.exists(key, key == tag))',
    'self.count < self.ratio',
    'type(self.port) == int',
  ];
  for (const rule of rules) assert.equal(errorOf(rule), undefined, rule);
});

const REFUSED: [rule: string, place: string, message: string][] = [
  ['self.nme', '1:5', "undefined field 'nme'"],
  ['self.any.x == 1', '1:9', "undefined field 'x'"],
  ['self.raw == 1', '1:5', "undefined field 'raw'"],
  ['self.a__b == 1', '1:5', "undefined field 'a__b'"],
  ['self.name.x == 1', '1:10', "type 'string' does not support field selection"],
  ['self.count == 1.0', '1:12', "found no matching overload for '_==_' applied to '(int, double)'"],
  ["self.count + 'a' == ''", '1:12', "found no matching overload for '_+_' applied to '(int, string)'"],
  ["self.count.startsWith('a')", '1:22', "found no matching overload for 'startsWith' applied to 'int.(string)'"],
  ['size(1, 2) == 1', '1:5', "found no matching overload for 'size' applied to '(int, int)'"],
  ['self.name.upper()', '1:16', "undeclared reference to 'upper' (in container '')"],
  ['none(1)', '1:5', "undeclared reference to 'none' (in container '')"],
  ['none == 1', '1:1', "undeclared reference to 'none' (in container '')"],
  ["self.name in ['a', 1]", '1:20', "expected type 'string' but found 'int'"],
  ["{'a': 1, 'b': 'c'} == {}", '1:15', "expected type 'int' but found 'string'"],
  [
    'self.name.all(x, true)',
    '1:5',
    "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
  ],
  ['self.tags.all(x, x)', '1:18', "expected type 'bool' but found 'string'"],
  ["self.isOn ? 1 : 'a'", '1:11', "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
  ["self.name.matches('(')", '1:19', 'invalid matches argument'],
  ["self.every == duration('x')", '1:24', 'invalid duration argument'],
  ["self.when == timestamp('2020')", '1:24', 'invalid timestamp argument'],
  ['Thing{} == Thing{}', '1:6', "undeclared reference to 'Thing' (in container '')"],
  ['cel.bind(x, 1, x == 1)', '1:1', "undeclared reference to 'cel' (in container '')"],
  ['math.greatest(1, 2) == 2', '1:1', "undeclared reference to 'math' (in container '')"],
  ['self.metadata.name == ""', '1:5', "undefined field 'metadata'"],
];
for (const [rule, place, message] of REFUSED) {
  test(`${rule} is refused: ${message.slice(0, 70)}`, () => {
    const [first] = (errorOf(rule) ?? '').split('\n');
    assert.equal(first, `compilation failed: ERROR: <input>:${place}: ${message}`);
  });
}

test('a rule must return a bool, and a message a string', () => {
  assert.equal(errorOf('self.count'), 'cel expression must evaluate to a bool');
  const message = (messageExpression: string) => compileRule({ rule: 'true', messageExpression }, schema).messageError;
  assert.equal(message('1'), 'messageExpression must evaluate to a string');
  assert.equal(
    message('self.x'),
    "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x\n | ....^",
  );
  assert.equal(
    errorOf("self.name.find('(') == ''"),
    'program instantiation failed: error parsing regexp: missing closing ): `(`',
  );
});

test('a root has apiVersion, kind and metadata regardless of its schema', () => {
  const rule =
    "self.metadata.name == 'a' && self.metadata.generateName == '' && self.kind == 'K' && self.apiVersion == 'v1'";
  assert.equal(compileRule({ rule }, schema, { isResource: true }).error, undefined);
  const labels = compileRule({ rule: 'self.metadata.labels == {}' }, schema, { isResource: true });
  assert.match(labels.error ?? '', /undefined field 'labels'/);
});

test('oldSelf has the type of self, or an optional of it', () => {
  assert.equal(compileRule({ rule: 'oldSelf.count == 1' }, schema).usesOldSelf, true);
  assert.equal(compileRule({ rule: 'self.count == 1' }, schema).usesOldSelf, false);
  const rule = { rule: 'oldSelf.hasValue() && oldSelf.value().count == 1', optionalOldSelf: true };
  assert.equal(compileRule(rule, schema).error, undefined);
  assert.match(
    compileRule({ rule: 'oldSelf.hasValue()' }, schema).error ?? '',
    /found no matching overload for 'hasValue'/,
  );
});
