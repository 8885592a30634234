import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../json-schema.ts';
import { validateSchema } from './validate-schema.ts';

// Each line is the output of kube-apiserver for `spec.x` with this schema and value.
const CASES: [title: string, schema: JsonSchema, value: unknown, ...messages: string[]][] = [
  [
    'a string for an integer',
    { type: 'integer' },
    'a',
    'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"',
  ],
  [
    'a fraction for an integer',
    { type: 'integer' },
    1.5,
    'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
  ],
  ['a whole number for a number', { type: 'number' }, 2],
  [
    'null for a string',
    { type: 'string' },
    null,
    'spec.x: Invalid value: "null": spec.x in body must be of type string: "null"',
  ],
  ['null where null is allowed', { type: 'string', nullable: true }, null],
  [
    'an object for a list',
    { type: 'array', items: { type: 'string' } },
    {},
    'spec.x: Invalid value: "object": spec.x in body must be of type array: "object"',
  ],
  [
    'a boolean for an int-or-string',
    { 'x-kubernetes-int-or-string': true },
    true,
    'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
  ],
  ['a string for an int-or-string', { 'x-kubernetes-int-or-string': true }, '25%'],
  [
    'a number for a formatted string',
    { type: 'string', format: 'date-time' },
    5,
    'spec.x: Invalid value: "int64": spec.x in body must be of type date-time: "int64"',
  ],
  [
    'a fraction for an int32',
    { type: 'integer', format: 'int32' },
    1.5,
    'spec.x: Invalid value: "float64": spec.x in body must be of type int32: "float64"',
    '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
  ],
  ['the largest int64', { type: 'integer', format: 'int64' }, Number('9223372036854775807')],
  [
    'an integer beyond int64',
    { type: 'integer', format: 'int64' },
    1e19,
    'spec.x: Invalid value: "float64": spec.x in body must be of type int64: "float64"',
    '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in spec.x',
  ],
  [
    'a number beyond float',
    { type: 'number', format: 'float' },
    3.5e38,
    '<nil>: Invalid value: "": Checked value must be of type number with format float in spec.x',
  ],
  [
    'a boolean for an int-or-string with its types spelt out',
    { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    true,
    'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
    '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    'spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"',
  ],
  [
    'a pattern that does not compile',
    { type: 'string', pattern: '+' },
    'foo',
    'spec.x: Invalid value: "foo": spec.x in body should match \'+, but pattern is invalid: error parsing regexp: missing argument to repetition operator: `+`\'',
  ],
  [
    'an integer beyond int32',
    { type: 'integer', format: 'int32' },
    2 ** 31,
    '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
  ],
  [
    'below the minimum',
    { type: 'integer', minimum: 1 },
    0,
    'spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1',
  ],
  [
    'above the maximum',
    { type: 'integer', maximum: 65535 },
    65536,
    'spec.x: Invalid value: 65536: spec.x in body should be less than or equal to 65535',
  ],
  [
    'at an exclusive minimum',
    { type: 'integer', minimum: 1, exclusiveMinimum: true },
    1,
    'spec.x: Invalid value: 1: spec.x in body should be greater than 1',
  ],
  [
    'at an exclusive maximum',
    { type: 'number', maximum: 0.5, exclusiveMaximum: true },
    0.5,
    'spec.x: Invalid value: 0.5: spec.x in body should be less than 0.5',
  ],
  [
    'a bound in millions',
    { type: 'number', maximum: 2_000_000 },
    2_500_000.5,
    'spec.x: Invalid value: 2.5000005e+06: spec.x in body should be less than or equal to 2e+06',
  ],
  [
    'no multiple',
    { type: 'integer', multipleOf: 4 },
    6,
    'spec.x: Invalid value: 6: spec.x in body should be a multiple of 4',
  ],
  ['a multiple of a fraction', { type: 'number', multipleOf: 0.1 }, 0.3],
  [
    'too short',
    { type: 'string', minLength: 1 },
    '',
    'spec.x: Invalid value: "": spec.x in body should be at least 1 chars long',
  ],
  ['too long', { type: 'string', maxLength: 2 }, 'abc', 'spec.x: Too long: may not be more than 2 bytes'],
  ['too long for one', { type: 'string', maxLength: 1 }, 'abc', 'spec.x: Too long: may not be more than 1 byte'],
  ['as long as allowed in characters, not in units', { type: 'string', maxLength: 2 }, '😀😀'],
  [
    'no match',
    { type: 'string', pattern: '^[a-z]+$' },
    'A"',
    `spec.x: Invalid value: "A\\"": spec.x in body should match '^[a-z]+$'`,
  ],
  [
    'not an instant',
    { type: 'string', format: 'date-time' },
    'soon',
    'spec.x: Invalid value: "soon": spec.x in body must be of type date-time: "soon"',
  ],
  ['a format that no server knows', { type: 'string', format: 'colour' }, 'soon'],
  [
    'none of the values',
    { type: 'string', enum: ['a', 'b'] },
    'c',
    'spec.x: Unsupported value: "c": supported values: "a", "b"',
  ],
  [
    'none of the numbers',
    { type: 'integer', enum: [1, 2] },
    3,
    'spec.x: Unsupported value: 3: supported values: "1", "2"',
  ],
  [
    'null for an enum that has it',
    { type: 'string', nullable: true, enum: ['a', null] },
    null,
    'spec.x: Unsupported value: null: supported values: "a", "null"',
  ],
  [
    'too few items',
    { type: 'array', items: { type: 'string' }, minItems: 1 },
    [],
    'spec.x: Invalid value: 0: spec.x in body should have at least 1 items',
  ],
  [
    'too many items',
    { type: 'array', items: { type: 'string' }, maxItems: 1 },
    ['a', 'b'],
    'spec.x: Too many: 2: must have at most 1 item',
  ],
  [
    'a bad item',
    { type: 'array', items: { type: 'object', properties: { port: { type: 'integer' } } } },
    [{ port: 1 }, { port: 'http' }],
    'spec.x[1].port: Invalid value: "string": spec.x[1].port in body must be of type integer: "string"',
  ],
  [
    'a missing field',
    { type: 'object', required: ['a', 'b'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
    { b: '' },
    'spec.x.a: Required value',
  ],
  [
    'too few fields',
    { type: 'object', additionalProperties: { type: 'string' }, minProperties: 1 },
    {},
    'spec.x: Invalid value: 0: spec.x in body should have at least 1 properties',
  ],
  [
    'too many fields',
    { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 1 },
    { a: '', b: '' },
    'spec.x: Too many: 2: must have at most 1 item',
  ],
  [
    'a bad value of a map',
    { type: 'object', additionalProperties: { type: 'string' } },
    { 'a.b': 1 },
    'spec.x.a.b: Invalid value: "integer": spec.x.a.b in body must be of type string: "integer"',
  ],
  [
    'several errors at once',
    { type: 'string', maxLength: 1, enum: ['a'] },
    'bb',
    'spec.x: Too long: may not be more than 1 byte',
    'spec.x: Unsupported value: "bb": supported values: "a"',
  ],
  [
    'none of anyOf, the closest branch explained',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    {},
    '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    'spec.x.a: Required value',
  ],
  [
    'two of oneOf',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    { a: '', b: '' },
    '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  ],
  [
    'none of oneOf, the branch that matches more explained',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['c'], properties: { b: { minLength: 1 } } }],
    },
    { b: 'x' },
    '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid',
    'spec.x.c: Required value',
  ],
  [
    'not all of allOf',
    { type: 'integer', allOf: [{ minimum: 1 }, { maximum: 5 }] },
    7,
    'spec.x: Invalid value: 7: spec.x in body should be less than or equal to 5',
    '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)',
  ],
  [
    'what must not be',
    { type: 'string', not: { enum: ['root'] } },
    'root',
    '<nil>: Invalid value: "": "spec.x" must not validate the schema (not)',
  ],
  [
    'the same error found twice',
    { type: 'string', minLength: 2, anyOf: [{ minLength: 2 }] },
    'a',
    '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long',
  ],
];

for (const [title, schema, value, ...messages] of CASES) {
  test(`the server's words: ${title}`, () => {
    const root: JsonSchema = { type: 'object', properties: { spec: { type: 'object', properties: { x: schema } } } };
    const errors = validateSchema(root, { spec: { x: value } });
    assert.deepEqual(
      errors.map(({ message }) => message),
      messages,
    );
  });
}

test('errors carry their type, field, value and detail apart from the message', () => {
  const [error] = validateSchema({ type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }, { a: 0 });
  assert.deepEqual(error, {
    type: 'FieldValueInvalid',
    field: 'a',
    badValue: 0,
    detail: 'a in body should be greater than or equal to 1',
    message: 'a: Invalid value: 0: a in body should be greater than or equal to 1',
  });
});

test('a missing field of the root is named without a leading dot', () => {
  const [error] = validateSchema({ type: 'object', required: ['spec'] }, {});
  assert.equal(error?.message, 'spec: Required value');
});

test('a path stands before the fields and not in the details', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: { type: 'string', minLength: 2 } } };
  const [error] = validateSchema(schema, { a: '' }, { path: 'spec.default' });
  assert.equal(error?.message, 'spec.default.a: Invalid value: "": a in body should be at least 2 chars long');
});

test('a field that is undefined is a field that is absent', () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['b'],
    properties: { a: { type: 'string' }, b: { type: 'string' } },
  };
  assert.deepEqual(
    validateSchema(schema, { a: undefined, b: undefined }).map(({ message }) => message),
    ['b: Required value'],
  );
});

test('a property with the name of an inherited method is absent until it is given', () => {
  const text: JsonSchema = { type: 'string' };
  const schema: JsonSchema = { type: 'object', properties: { constructor: text } };
  assert.deepEqual(validateSchema(schema, {}), []);
  assert.equal(validateSchema(schema, { constructor: 1 }).length, 1);
});

test('an update may keep what was invalid before, and must not make it worse', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 3 },
      ports: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
        items: { type: 'object', properties: { id: { type: 'string' }, port: { type: 'integer', minimum: 1 } } },
      },
      plain: { type: 'array', items: { type: 'integer', minimum: 1 } },
    },
  };
  const old = { name: 'long name', ports: [{ id: 'a', port: 0 }], plain: [0] };
  const moved = {
    ...old,
    ports: [
      { id: 'b', port: 1 },
      { id: 'a', port: 0 },
    ],
  };
  assert.deepEqual(validateSchema(schema, moved, { old }), []);
  const changed = { ...old, name: 'longer name', plain: [0, 1] };
  assert.deepEqual(
    validateSchema(schema, changed, { old }).map(({ field }) => field),
    ['name', 'plain[0]'],
  );
});
