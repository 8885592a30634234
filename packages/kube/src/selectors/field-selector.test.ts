import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { InvalidValueError } from '../errors.ts';
import { compileFieldSelector, parseFieldSelector } from './field-selector.ts';

const pod = new Map([
  ['metadata.name', 'web'],
  ['status.phase', 'Running'],
]);
const matches = (text: string) => parseFieldSelector(text).matches((field) => pod.get(field));

describe('a field selector', () => {
  it('matches what it says, a missing field counting as empty', () => {
    for (const text of [
      '',
      ',',
      '=',
      'metadata.name=web',
      'metadata.name==web',
      'status.phase!=Failed',
      'metadata.name=web,status.phase=Running,',
      'spec.nodeName=',
      'spec.nodeName!=a',
    ]) {
      assert.equal(matches(text), true, text);
    }
    for (const text of [
      'metadata.name=db',
      'metadata.name!=web',
      'spec.nodeName!=',
      'metadata.name=web,status.phase=Failed',
      'metadata.name= web',
    ]) {
      assert.equal(matches(text), false, text);
    }
  });

  it('has a canonical form', () => {
    assert.equal(parseFieldSelector('b!=2,a==1,,a=1').canonical, 'a=1,b!=2');
  });

  it('says which value a field must have', () => {
    const selector = parseFieldSelector('metadata.name=web,metadata.namespace!=a');
    assert.equal(selector.required('metadata.name'), 'web');
    assert.equal(selector.required('metadata.namespace'), undefined);
  });

  it('is refused in the words of kube-apiserver', () => {
    for (const [text, problem] of [
      ['a', "invalid selector: 'a'; can't understand 'a'"],
      ['a=1,b', "invalid selector: 'a=1,b'; can't understand 'b'"],
      ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
      ['a=b\\c', 'invalid field selector: invalid escape sequence: \\c'],
      ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ] as const) {
      assert.throws(
        () => parseFieldSelector(text),
        (error: unknown) => error instanceof InvalidValueError && error.problem === problem,
        text,
      );
    }
  });

  it('survives being written and read, whatever its values hold', () => {
    const term = fc.record(
      {
        field: fc.constantFrom('a', 'b.c'),
        operator: fc.constantFrom('=' as const, '!=' as const),
        value: fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('\\', ',', '=', 'x', '!') })),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
        const selector = compileFieldSelector(terms);
        assert.deepEqual(parseFieldSelector(selector.canonical).terms, selector.terms);
      }),
    );
  });
});
