import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONSchemaProps } from '../builtin/index.ts';
import { checkStructural } from './structural.ts';

const at = 'spec.versions[0].schema.openAPIV3Schema.properties[x]';

// Each schema stands at the property x of the root.
const CASES: [title: string, schema: JSONSchemaProps, ...messages: string[]][] = [
  ['no type', {}, `${at}.type: Required value: must not be empty for specified object fields`],
  [
    'no type of items',
    { type: 'array', items: {} },
    `${at}.items.type: Required value: must not be empty for specified array items`,
  ],
  ['a list without items', { type: 'array' }, `${at}.items: Required value: must be specified`],
  [
    'an unknown type',
    { type: 'text' },
    `${at}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
  ],
  [
    'a type inside anyOf',
    { type: 'string', anyOf: [{ type: 'string' }] },
    `${at}.anyOf[0].type: Forbidden: must be empty to be structural`,
  ],
  [
    'a description inside oneOf',
    { type: 'string', oneOf: [{ description: 'a' }] },
    `${at}.oneOf[0].description: Forbidden: must be empty to be structural`,
  ],
  [
    'the types of an int-or-string',
    { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
  ],
  [
    'the types of an int-or-string with more',
    {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'a' }],
    },
  ],
  [
    'an int-or-string that preserves',
    { 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true },
    `${at}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true`,
  ],
  [
    'an embedded resource without fields',
    { type: 'object', 'x-kubernetes-embedded-resource': true },
    `${at}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
  ],
  [
    'an embedded string',
    { type: 'string', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    `${at}.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true`,
  ],
  [
    'fields and other fields',
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
    `${at}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
  ],
  [
    'unique items',
    { type: 'array', items: { type: 'string' }, uniqueItems: true },
    `${at}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
  ],
  ['a reference', { $ref: '#/a' }, `${at}.$ref: Forbidden: $ref is not supported`],
  [
    'definitions',
    { type: 'object', definitions: { a: {} } },
    `${at}.definitions: Forbidden: definitions is not supported`,
  ],
  [
    'preserving nothing',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': false },
    `${at}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`,
  ],
  [
    'a list type of an object',
    { type: 'object', 'x-kubernetes-list-type': 'set' },
    `${at}.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified`,
  ],
  [
    'an unknown map type',
    { type: 'object', 'x-kubernetes-map-type': 'loose' },
    `${at}.x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"`,
  ],
  [
    'a set of granular objects',
    { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } },
    `${at}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
  ],
  [
    'a list-map without keys',
    { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } },
    `${at}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
  ],
  [
    'an optional key',
    {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      items: { type: 'object', properties: { a: { type: 'string' } } },
    },
    `${at}.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
  ],
  [
    'a key that is no field',
    { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'], items: { type: 'object' } },
    `${at}.x-kubernetes-list-map-keys: Invalid value: ["a"]: entries must all be names of item properties`,
  ],
  [
    'keys of a set',
    { type: 'array', 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['a'], items: { type: 'string' } },
    `${at}.x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty`,
  ],
  [
    'a pattern of another dialect',
    { type: 'string', pattern: '(?=a)' },
    `${at}.pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: \`(?=\``,
  ],
  [
    'a default of the wrong type',
    { type: 'integer', default: 'a' },
    `${at}.default: Invalid value: "string":  in body must be of type integer: "string"`,
  ],
  [
    'a default out of bounds',
    { type: 'object', default: { a: 0 }, properties: { a: { type: 'integer', minimum: 1 } } },
    `${at}.default.a: Invalid value: 0: a in body should be greater than or equal to 1`,
  ],
  [
    'a default with unknown fields',
    { type: 'object', default: { b: 1 }, properties: { a: { type: 'integer' } } },
    `${at}.default: Invalid value: {"b":1}: must not have unknown fields`,
  ],
  [
    'a rule without text',
    { type: 'string', 'x-kubernetes-validations': [{ rule: ' ' }] },
    `${at}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
  ],
  [
    'a rule of several lines without a message',
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'self\n== ""' }] },
    `${at}.x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks`,
  ],
  [
    'a rule with an unknown reason',
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', reason: 'Because' }] },
    `${at}.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
  ],
  [
    'a rule about a field that is not there',
    { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.a' }] },
    `${at}.x-kubernetes-validations[0].fieldPath: Invalid value: ".a": must be a valid path`,
  ],
];

for (const [title, schema, ...messages] of CASES) {
  test(`a CRD's schema with ${title} is ${messages.length === 0 ? 'accepted' : 'refused'}`, () => {
    const errors = checkStructural(
      { type: 'object', properties: { x: schema } },
      { path: 'spec.versions[0].schema.openAPIV3Schema' },
    );
    assert.deepEqual(
      errors.map(({ message }) => message),
      messages,
    );
  });
}

// Each schema is the root itself.
const ROOTS: [title: string, schema: JSONSchemaProps, ...messages: string[]][] = [
  ['no type', {}, 'root.type: Required value: must not be empty at the root'],
  ['another type', { type: 'string' }, 'root.type: Invalid value: "string": must be object at the root'],
  ['null', { type: 'object', nullable: true }, 'root.nullable: Forbidden: nullable cannot be true at the root'],
  [
    'any keys',
    { type: 'object', additionalProperties: { type: 'string' } },
    'root.additionalProperties: Forbidden: must not be used at the root',
  ],
  [
    'metadata restricted to names',
    {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } } },
    },
  ],
  [
    'metadata restricted otherwise',
    { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
    'root.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ],
  [
    'a default of the kind',
    { type: 'object', properties: { kind: { type: 'string', default: 'A' } } },
    'root.properties[kind].default: Forbidden: must not be set in top-level kind',
  ],
  [
    'a junctor about an unknown field',
    { type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] },
    'root.properties[a]: Required value: because it is defined in root.anyOf[0].properties[a]',
  ],
];

for (const [title, schema, ...messages] of ROOTS) {
  test(`a root schema with ${title} is ${messages.length === 0 ? 'accepted' : 'refused'}`, () => {
    assert.deepEqual(
      checkStructural(schema, { path: 'root' }).map(({ message }) => message),
      messages,
    );
  });
}

test('beside a status subresource the root takes no junctors', () => {
  const schema: JSONSchemaProps = { type: 'object', not: { required: ['a'] } };
  assert.deepEqual(checkStructural(schema), []);
  const [error] = checkStructural(schema, { path: 'root', hasStatusSubresource: true });
  assert.match(
    error?.message ?? '',
    /^root: Invalid value: .*: only \[Description Type .* XValidations\] fields are allowed at the root of the schema if the status subresource is enabled$/,
  );
});
