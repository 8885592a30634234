import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTypeCompiler } from './type-schema.ts';
import { typedProblem } from './typed-check.ts';

const { compile } = createTypeCompiler(new Map());

describe('a schema with oneOf', () => {
  test('and no type is a quantity: any scalar', () => {
    const quantity = compile({ oneOf: [{ type: 'string' }, { type: 'number' }] });
    assert.equal(typedProblem(quantity, '1Gi'), undefined);
    assert.equal(typedProblem(quantity, 5), undefined);
    assert.match(typedProblem(quantity, { a: 1 }) ?? '', /expected any scalar/);
  });

  test('and a type has that type: only one of its fields may be there', () => {
    const spec = compile({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    });
    assert.equal(typedProblem(spec, { a: 'x' }), undefined);
    assert.match(typedProblem(spec, { a: 5 }) ?? '', /\.a: expected string/);
  });
});
