import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { checkRules, rulesInSteps } from './check-rules.ts';
import { createCelCompiler } from './compile.ts';
import { compileRule } from './rule.ts';

const text: JsonSchema = { type: 'string' };
const ruled = (schema: JsonSchema, ...rules: ValidationRule[]): JsonSchema => ({
  ...schema,
  'x-kubernetes-validations': rules,
});
const object = (properties: Record<string, JsonSchema>): JsonSchema => ({ type: 'object', properties });
const messages = (schema: JsonSchema) => checkRules(schema, { path: 'schema' }).map(({ message }) => message);

test('rules that compile and cost little are accepted, wherever they stand', () => {
  const rule = { rule: 'self == oldSelf' };
  const list: JsonSchema = {
    type: 'array',
    maxItems: 100,
    items: object({ k: text, v: ruled({ ...text, maxLength: 10 }, rule) }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  };
  const map: JsonSchema = {
    type: 'object',
    maxProperties: 5,
    additionalProperties: ruled({ ...text, maxLength: 5 }, rule),
  };
  assert.deepEqual(messages(ruled(object({ list, map }), { rule: "self.metadata.name == 'a'" })), []);
});

test('a rule that does not compile is refused with its place', () => {
  const schema = object({ spec: object({ list: { type: 'array', items: ruled(text, { rule: 'self.x' }) } }) });
  const [message = '', ...others] = messages(schema);
  assert.equal(others.length, 0);
  const field = 'schema.properties[spec].properties[list].items.x-kubernetes-validations[0].rule';
  const shown =
    '{"Rule":"self.x","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}';
  assert.ok(message.startsWith(`${field}: Invalid value: ${shown}: `), message);
  assert.ok(
    message.endsWith(
      "compilation failed: ERROR: <input>:1:5: type 'string' does not support field selection\n | self.x\n | ....^",
    ),
    message,
  );
});

test('a rule that could cost too much is refused', () => {
  const rule = { rule: "self.all(x, self.all(y, x == y || x != 'a'))" };
  const [message] = messages(object({ a: ruled({ type: 'array', items: text }, rule) }));
  assert.match(
    message ?? '',
    /^schema\.properties\[a\]\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared\)$/,
  );
  const bounded: JsonSchema = { type: 'array', maxItems: 10, items: { ...text, maxLength: 10 } };
  assert.deepEqual(messages(object({ a: ruled(bounded, rule) })), []);
});

test('the cost of a rule below a list is multiplied by the maximal number of items', () => {
  const item = (maxItems?: number): JsonSchema => ({
    type: 'array',
    ...(maxItems !== undefined && { maxItems }),
    items: ruled(text, { rule: "self.contains('x')" }),
  });
  const [unbounded] = messages(object({ a: item() }));
  assert.match(unbounded ?? '', /estimated rule cost exceeds budget/);
  assert.deepEqual(messages(object({ a: item(10) })), []);
});

test('rules that are cheap one by one can cost too much together', () => {
  const rule = { rule: "self.all(x, x.contains('abc'))" };
  const list: JsonSchema = ruled({ type: 'array', maxItems: 30, items: text }, rule);
  const errors = messages(object(Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`f${index}`, list]))));
  assert.equal(errors.filter((message) => /contributed to estimated rule cost total/.test(message)).length, 4);
  assert.match(
    errors.at(-1) ?? '',
    /^schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1\.\d+x/,
  );
});

test('oldSelf exists only where an item can be correlated with its old value', () => {
  const list: JsonSchema = {
    type: 'array',
    maxItems: 3,
    items: ruled({ ...text, maxLength: 3 }, { rule: 'self == oldSelf' }),
  };
  assert.deepEqual(messages(object({ a: list })), [
    'schema.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[a]',
  ]);
});

test('optionalOldSelf is accepted only in rules that use oldSelf', () => {
  const schema = object({ a: ruled(text, { rule: "self == 'a'", optionalOldSelf: true }) });
  assert.deepEqual(messages(schema), [
    'schema.properties[a].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
  ]);
});

// These are the costs that API servers compute, so that a rule that is accepted here is accepted there.
const COSTS: [rule: string, run: number, most: number][] = [
  ['self.n == 1', 3, 2],
  ["self.s == 'abc'", 3, 3],
  ["self.s.startsWith('a')", 3, 3],
  ["self.s.matches('^a.c$')", 4, 12],
  ['self.l.all(x, x > 0)', 18, 103],
  ['self.l.exists(x, x == 3)', 21, 103],
  ['self.l.map(x, x * 2).size() == 3', 47, 295],
  ["self.s in ['a', 'b', 'c']", 2, 15],
  ['has(self.s)', 1, 1],
  ['self.l[0] == 1', 4, 3],
  ["duration('1h') > duration('1m')", 1, 3],
  ["'%s'.format([self.s]) == 'x'", 14, 14],
];
test('costs are counted as an API server counts them', () => {
  const schema = object({
    n: { type: 'integer' },
    s: { ...text, maxLength: 10 },
    l: { type: 'array', maxItems: 20, items: { type: 'integer' } },
  });
  for (const [rule, run, most] of COSTS) {
    const { program, declaration } = compileRule({ rule }, schema);
    assert.ok(program && declaration, rule);
    const { cost } = program.run([declaration.convert({ n: 1, s: 'abc', l: [1, 2, 3] }), null]);
    assert.deepEqual([rule, cost, program.maxCost], [rule, run, most]);
  }
});

test('rules are checked in steps, and no more are compiled when there are enough errors', () => {
  const ruled = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `field${index}`,
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'self +' }] },
    ]),
  ) as Record<string, JsonSchema>;
  const schema: JsonSchema = { type: 'object', properties: ruled };
  const steps = rulesInSteps(schema, { maxErrors: 5 });
  let pauses = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) pauses += 1;
  assert.equal(pauses, 5);
  assert.equal(next.value.length, 5);
  assert.equal(checkRules(schema).length, 20);
});

test('the time to compile a rule grows with its length, and not with the square of it', () => {
  const compiler = createCelCompiler();
  const timeOf = (terms: number) => {
    const rule = Array.from({ length: terms }, (_, index) => `self == 'a${index}'`).join(' || ');
    const best = [1, 2, 3].map(() => {
      const before = process.threadCpuUsage();
      assert.equal(compileRule({ rule }, { type: 'string', maxLength: 5 }, { compiler }).error, undefined);
      const { user, system } = process.threadCpuUsage(before);
      return user + system;
    });
    return Math.min(...best);
  };
  timeOf(500);
  const [short, long] = [timeOf(500), timeOf(4_000)];
  assert.ok(long < 30 * short, `${long} µs beside ${short} µs for an eighth of the terms`);
});
