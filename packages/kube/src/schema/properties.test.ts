import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkStructural } from '../crd/structural.ts';
import { applyDefaults } from './defaults.ts';
import type { JsonSchema } from './json-schema.ts';
import { prune } from './prune.ts';
import { validateSchema } from './validation/validate-schema.ts';

// Small alphabets, so that values often fit their schema.
const name = fc.constantFrom('a', 'b', 'c', 'd');

const scalars: fc.Arbitrary<JsonSchema>[] = [
  fc.record({ type: fc.constant('string'), default: fc.constantFrom('x', 'y') }, { requiredKeys: ['type'] }),
  fc.record(
    { type: fc.constant('integer'), default: fc.integer(), nullable: fc.boolean() },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('boolean') }),
  fc.record({ type: fc.constant('object'), 'x-kubernetes-preserve-unknown-fields': fc.constant(true) }),
];

function schemaOfDepth(depth: number): fc.Arbitrary<JsonSchema> {
  if (depth === 0) return fc.oneof(...scalars);
  const below = schemaOfDepth(depth - 1);
  const properties = fc.dictionary(name, below, { maxKeys: 4 });
  const structures: fc.Arbitrary<JsonSchema>[] = [
    fc.record({ type: fc.constant('array'), items: below }),
    fc.record({ type: fc.constant('object'), additionalProperties: below }),
    fc.record(
      { type: fc.constant('object'), properties, 'x-kubernetes-preserve-unknown-fields': fc.constant(true) },
      { requiredKeys: ['type', 'properties'] },
    ),
  ];
  return fc.oneof(...scalars, ...structures, ...structures);
}

const anySchema = schemaOfDepth(3);

function jsonOfDepth(depth: number): fc.Arbitrary<unknown> {
  const scalar = fc.constantFrom<unknown>(null, true, 'x', 1);
  if (depth === 0) return scalar;
  const below = jsonOfDepth(depth - 1);
  return fc.oneof(scalar, fc.array(below, { maxLength: 3 }), fc.dictionary(name, below, { maxKeys: 4 }));
}

const anyJson = jsonOfDepth(4);

/** A value that fits the schema, some fields left out. */
function valueOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return fc.string();
    case 'integer':
      return fc.integer();
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), { maxLength: 3 });
    case 'object': {
      const { properties, additionalProperties } = schema;
      if (typeof additionalProperties === 'object')
        return fc.dictionary(name, valueOf(additionalProperties), { maxKeys: 3 });
      const fields = Object.entries(properties ?? {}).map(([key, part]) => [key, valueOf(part)] as const);
      return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
    }
    default:
      return fc.constant(1);
  }
}

const fitting = anySchema.chain((schema) => fc.tuple(fc.constant(schema), valueOf(schema)));

test('defaulting twice is defaulting once', () => {
  fc.assert(
    fc.property(anySchema, anyJson, (schema, value) => {
      const once = applyDefaults(schema, value);
      assert.equal(applyDefaults(schema, once), once);
    }),
  );
});

test('pruning twice is pruning once, and the second time drops nothing', () => {
  fc.assert(
    fc.property(anySchema, anyJson, (schema, value) => {
      const once = prune(schema, value);
      const twice = prune(schema, once.value);
      assert.equal(twice.value, once.value);
      assert.deepEqual(twice.dropped, []);
      if (once.dropped.length === 0) assert.equal(once.value, value);
    }),
  );
});

test('pruning and defaulting leave their input as it was', () => {
  fc.assert(
    fc.property(anySchema, anyJson, (schema, value) => {
      const before = JSON.stringify(value);
      applyDefaults(schema, prune(schema, value).value);
      assert.equal(JSON.stringify(value), before);
    }),
  );
});

test('a value that fits is valid before and after defaulting, and nothing of it is pruned', () => {
  fc.assert(
    fc.property(fitting, ([schema, value]) => {
      const defaulted = applyDefaults(schema, value);
      assert.deepEqual(validateSchema(schema, value), []);
      assert.deepEqual(validateSchema(schema, defaulted), []);
      assert.deepEqual(prune(schema, defaulted).dropped, []);
    }),
  );
});

test('an update that changes nothing is valid whatever was there', () => {
  fc.assert(
    fc.property(anySchema, anyJson, (schema, value) => {
      assert.deepEqual(validateSchema(schema, structuredClone(value), { old: value }), []);
    }),
  );
});

test('every schema of typed parts is structural once it stands below an object', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      assert.deepEqual(checkStructural({ type: 'object', properties: { spec: schema } }), []);
    }),
  );
});
