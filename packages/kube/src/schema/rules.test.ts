import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from './json-schema.ts';
import { type EvaluateRule, type RuleOutcome, validateRules } from './rules.ts';

const rule = (more: Partial<ValidationRule> = {}): JsonSchema => ({
  type: 'string',
  'x-kubernetes-validations': [{ rule: " self == 'x' ", ...more }],
});
const failing: EvaluateRule = () => ({ holds: false });
const messages = (schema: JsonSchema, value: unknown, evaluate: EvaluateRule = failing, old?: unknown) =>
  validateRules(schema, value, evaluate, old).map(({ message }) => message);

const FAILURES: [title: string, more: Partial<ValidationRule>, outcome: RuleOutcome, message: string][] = [
  ['without a message', {}, { holds: false }, `a: Invalid value: "y": failed rule: self == 'x'`],
  ['with a message', { message: ' must be x ' }, { holds: false }, 'a: Invalid value: "y": must be x'],
  ['with a message expression', { message: 'm' }, { holds: false, message: 'is y' }, 'a: Invalid value: "y": is y'],
  ['as forbidden', { reason: 'FieldValueForbidden', message: 'no' }, { holds: false }, 'a: Forbidden: no'],
  ['as required', { reason: 'FieldValueRequired', message: 'x' }, { holds: false }, 'a: Required value: x'],
  ['as a duplicate', { reason: 'FieldValueDuplicate' }, { holds: false }, 'a: Duplicate value: "y"'],
  [
    'by not being evaluated',
    {},
    { error: 'no such key: b' },
    `a: Invalid value: "string": no such key: b evaluating rule: self == 'x'`,
  ],
];

for (const [title, more, outcome, message] of FAILURES) {
  test(`a rule fails ${title}`, () => {
    const schema: JsonSchema = { type: 'object', properties: { a: rule(more) } };
    assert.deepEqual(
      messages(schema, { a: 'y' }, () => outcome),
      [message],
    );
  });
}

test('a rule of an object does not print the object, and names the field it is about', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      a: {
        type: 'object',
        properties: { b: { type: 'string' } },
        'x-kubernetes-validations': [{ rule: 'false', fieldPath: '.b' }],
      },
    },
    'x-kubernetes-validations': [{ rule: 'false' }],
  };
  assert.deepEqual(messages(schema, { a: { b: '' } }), [
    '<nil>: Invalid value: failed rule: false',
    'a.b: Invalid value: failed rule: false',
  ]);
});

test('rules see the values in lists and maps, and skip null', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { list: { type: 'array', items: rule() }, map: { type: 'object', additionalProperties: rule() } },
  };
  const fields = validateRules(schema, { list: ['a', null], map: { k: 'b' } }, failing).map(({ field }) => field);
  assert.deepEqual(fields, ['list[0]', 'map[k]']);
});

test('an old value is found by field and by the keys of a list-map, not by place', () => {
  const items: JsonSchema = { type: 'object', properties: { id: { type: 'string' }, v: rule() } };
  const list = (more: JsonSchema): JsonSchema => ({
    type: 'object',
    properties: { l: { type: 'array', items, ...more } },
  });
  const keyed = list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] });
  const seen: unknown[] = [];
  const record: EvaluateRule = ({ self, oldSelf }) => {
    seen.push([self, oldSelf]);
    return { holds: true };
  };
  const old = {
    l: [
      { id: 'a', v: '1' },
      { id: 'b', v: '2' },
    ],
  };
  const now = { l: [{ id: 'b', v: '3' }] };
  validateRules(keyed, now, record, old);
  validateRules(list({}), now, record, old);
  assert.deepEqual(seen, [
    ['3', '2'],
    ['3', undefined],
  ]);
});

test('a value that an update did not change fails no rule, unless the rule compares with before', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: rule() } };
  assert.deepEqual(messages(schema, { a: 'y' }, failing, { a: 'y' }), []);
  assert.equal(messages(schema, { a: 'y' }, failing, { a: 'z' }).length, 1);
  assert.equal(messages(schema, { a: 'y' }, () => ({ holds: false, usesOldSelf: true }), { a: 'y' }).length, 1);
});
