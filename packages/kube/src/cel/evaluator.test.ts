import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { validateRules } from '../schema/rules.ts';
import { createRuleEvaluator } from './evaluator.ts';

const evaluate = createRuleEvaluator();
const text: JsonSchema = { type: 'string' };
const integer: JsonSchema = { type: 'integer' };
const object = (properties: Record<string, JsonSchema>, ...rules: (string | ValidationRule)[]): JsonSchema => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});
const messages = (schema: JsonSchema, value: unknown, old?: unknown): string[] =>
  validateRules(schema, value, evaluate, old).map(({ message }) => message);

test('a rule holds or fails on an object', () => {
  const schema = object({ min: integer, max: integer }, 'self.min <= self.max');
  assert.deepEqual(messages(schema, { min: 1, max: 2 }), []);
  assert.deepEqual(messages(schema, { min: 3, max: 2 }), ['<nil>: Invalid value: failed rule: self.min <= self.max']);
});

test('an absent field is an error unless the rule tests for it first', () => {
  const schema = object({ a: { ...object({ b: text }, "self.b == 'x'", "!has(self.b) || self.b == 'x'") } });
  assert.deepEqual(messages(schema, { a: {} }), [
    `a: Invalid value: "object": no such key: b evaluating rule: self.b == 'x'`,
  ]);
});

test('a type that is known only at run time can be wrong', () => {
  const schema = object({ port: { 'x-kubernetes-int-or-string': true } }, "self.port.startsWith('a')");
  assert.deepEqual(messages(schema, { port: 'ab' }), []);
  assert.deepEqual(messages(schema, { port: 1 }), [
    `<nil>: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.port.startsWith('a')`,
  ]);
});

test('null is a value in lists and maps, and no field of an object', () => {
  const nullable: JsonSchema = { ...text, nullable: true };
  const schema = object(
    {
      field: nullable,
      list: { type: 'array', items: nullable },
      map: { type: 'object', additionalProperties: nullable },
    },
    '!has(self.field)',
    'type(self.list[0]) == null_type && type(self.map["a"]) == null_type',
  );
  assert.deepEqual(messages(schema, { field: null, list: [null], map: { a: null } }), []);
});

test('numbers have the types of the schema, whatever they look like in JSON', () => {
  const schema = object(
    { a: { type: 'number' }, b: integer },
    'type(self.a) == double && type(self.b) == int && self.b / 2 == 1',
  );
  assert.deepEqual(messages(schema, { a: 3, b: 3 }), []);
});

test('strings with a format become values of their own types', () => {
  const format = (name: string): JsonSchema => ({ type: 'string', format: name });
  const schema = object(
    { every: format('duration'), at: format('date-time'), on: format('date'), data: format('byte') },
    "self.every == duration('90m') && self.at.getHours() == 11 && self.on < self.at && self.data == b'hi'",
  );
  const value = { every: '1h30m', at: '2026-01-02T12:00:00+01:00', on: '2026-01-02', data: 'aGk=' };
  assert.deepEqual(messages(schema, value), []);
});

test('sets and lists with keys are equal in any order', () => {
  const items = object({ k: text, v: text });
  const schema = object(
    {
      set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
      map: { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
    },
    "self.set == ['b', 'a'] && self.set + ['a', 'c'] == ['c', 'b', 'a']",
    'self.map == [self.map[1], self.map[0]] && size(self.map + [self.map[0]]) == 2',
  );
  const value = {
    set: ['a', 'b'],
    map: [
      { k: 'x', v: '1' },
      { k: 'y', v: '2' },
    ],
  };
  assert.deepEqual(messages(schema, value), []);
});

test('objects that differ in fields which rules cannot see are different', () => {
  const open: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: text } };
  const schema = object({ l: { type: 'array', items: open } }, 'self.l[0] == self.l[1]');
  assert.deepEqual(
    messages(schema, {
      l: [
        { a: '1', z: 1 },
        { a: '1', z: 1 },
      ],
    }),
    [],
  );
  assert.equal(
    messages(schema, {
      l: [
        { a: '1', z: 1 },
        { a: '1', z: 2 },
      ],
    }).length,
    1,
  );
});

test('a rule that uses oldSelf is not evaluated for a new object', () => {
  const schema = object({
    a: { ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }] },
  });
  assert.deepEqual(messages(schema, { a: 'x' }), []);
  assert.deepEqual(messages(schema, { a: 'x' }, {}), []);
  assert.deepEqual(messages(schema, { a: 'x' }, { a: 'x' }), []);
  assert.deepEqual(messages(schema, { a: 'x' }, { a: 'y' }), ['a: Invalid value: "x": is immutable']);
});

test('a rule with optionalOldSelf is evaluated for a new object', () => {
  const rule = { rule: "oldSelf.hasValue() ? self == oldSelf.value() : self == 'new'", optionalOldSelf: true };
  const schema = object({ a: { ...text, 'x-kubernetes-validations': [rule] } });
  assert.deepEqual(messages(schema, { a: 'new' }), []);
  assert.equal(messages(schema, { a: 'x' }).length, 1);
  assert.deepEqual(messages(schema, { a: 'x' }, { a: 'x' }), []);
  assert.equal(messages(schema, { a: 'x' }, { a: 'y' }).length, 1);
});

test('messageExpression creates the message, and message is the fallback', () => {
  const rule = (messageExpression: string): ValidationRule => ({
    rule: 'self.n < 5',
    message: 'too many',
    messageExpression,
  });
  const message = (expression: string, n: number) => messages(object({ n: integer, s: text }, rule(expression)), { n });
  assert.deepEqual(message("'has %d, may have 4'.format([self.n])", 7), ['<nil>: Invalid value: has 7, may have 4']);
  for (const unusable of ["''", "'a\\nb'", 'self.s', "self.n > 6 ? 'x' + self.s : 'y'"]) {
    assert.deepEqual(message(unusable, 7), ['<nil>: Invalid value: too many'], unusable);
  }
});

test('reason and fieldPath determine the type and the path of the error', () => {
  const rule: ValidationRule = {
    rule: 'has(self.name)',
    message: 'give it a name',
    reason: 'FieldValueRequired',
    fieldPath: '.name',
  };
  assert.deepEqual(messages(object({ name: text }, rule), {}), ['name: Required value: give it a name']);
});

test('a rule of a branch of allOf sees the types of the schema around it', () => {
  const schema: JsonSchema = {
    ...object({ a: integer }),
    allOf: [{ properties: { a: { 'x-kubernetes-validations': [{ rule: 'self > 1' }] } } }],
  };
  assert.deepEqual(messages(schema, { a: 1 }), ['a: Invalid value: 1: failed rule: self > 1']);
});

test('an embedded resource is a root of its own', () => {
  const schema = object({
    template: {
      ...object({}, "self.metadata.name == 'x' && self.kind == 'Pod'"),
      'x-kubernetes-embedded-resource': true,
    },
  });
  assert.deepEqual(messages(schema, { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } } }), []);
});

test('a rule that costs too much is stopped, and no other is evaluated after it', () => {
  const items: JsonSchema = { type: 'array', items: integer };
  const schema = object({ a: items }, 'self.a.all(x, self.a.all(y, self.a.all(z, x + y + z >= 0)))', 'false');
  const value = { a: Array.from({ length: 200 }, (_, index) => index) };
  assert.deepEqual(messages(schema, value), [
    `<nil>: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.a.all(x, self.a.all(y, self.a.all(z, x + y + z >= 0)))`,
  ]);
});

test('the rules of one object share one budget', () => {
  const expensive: JsonSchema = {
    type: 'array',
    items: {
      type: 'array',
      items: integer,
      'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x + y >= 0))' }],
    },
  };
  const row = Array.from({ length: 300 }, (_, index) => index);
  const schema = object({ a: expensive, b: { ...text, 'x-kubernetes-validations': [{ rule: 'false' }] } });
  const errors = messages(schema, { a: Array.from({ length: 20 }, () => row), b: 'x' });
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /running out of cost budget, no further validation rules will be run$/);
});

test('a rule that does not compile is reported, not thrown', () => {
  assert.match(
    messages(object({}, 'self.x'), {})[0] ?? '',
    /rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'x'/,
  );
});

test('a pattern with exponential backtracking does not stop the server', () => {
  const schema = object({ a: text }, "self.a.matches('^(a+)+$')");
  const start = performance.now();
  assert.equal(messages(schema, { a: `${'a'.repeat(30_000)}b` }).length, 1);
  assert.ok(performance.now() - start < 2000);
});

test('a compiled rule is fast', () => {
  const schema = object({ n: integer, names: { type: 'array', items: text } });
  const rule = { rule: "self.n >= 1 && self.n <= 9 && self.names.all(name, name.matches('^[a-z0-9-]+$'))" };
  const input = { rule, schema, self: { n: 5, names: ['a-1', 'b-2', 'c-3'] }, oldSelf: undefined, isResource: false };
  const rate = (count: number): number => {
    const start = performance.now();
    for (let index = 0; index < count; index++) evaluate(input);
    return (count / (performance.now() - start)) * 1000;
  };
  rate(20_000);
  const best = Math.max(rate(20_000), rate(20_000), rate(20_000));
  // An idle machine reaches several hundred thousand. The limit is far lower, because test machines are shared.
  assert.ok(best > 50_000, `${Math.round(best)} evaluations a second`);
});
