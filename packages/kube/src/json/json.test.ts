import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalJson } from './canonical.ts';
import { diff } from './diff.ts';
import { equal } from './equal.ts';
import { share } from './share.ts';

// Through the parser once, which has no -0.
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('equal', () => {
  it('agrees with canonical JSON on JSON values', () => {
    fc.assert(fc.property(json, json, (a, b) => equal(a, b) === (canonicalJson(a) === canonicalJson(b))));
    fc.assert(fc.property(json, (a) => equal(a, copy(a))));
  });

  it('distinguishes a missing field from an undefined one, and class instances', () => {
    assert.equal(equal({ a: undefined }, { b: undefined }), false);
    assert.equal(equal({ a: undefined }, {}), false);
    assert.equal(equal({ a: undefined }, { a: undefined }), true);
    assert.equal(equal(new Map(), new Map()), false);
    assert.equal(equal([], {}), false);
    assert.equal(equal(new Uint8Array([1, 2]), new Uint8Array([1, 2])), true);
    assert.equal(equal(new Uint8Array([1, 2]), new Uint8Array([1, 3])), false);
  });
});

describe('share', () => {
  it('gives an equal value, and the old reference when nothing changed', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const before = copy(a);
        const after = copy(b);
        const shared = share(before, after);
        assert.deepEqual(shared, b);
        assert.deepEqual(before, a);
        assert.deepEqual(after, b);
        assert.equal(share(before, copy(a)), before);
      }),
    );
  });

  it('keeps the reference of each unchanged part', () => {
    const before = { spec: { ports: [{ port: 1 }, { port: 2 }] }, status: { ready: false } };
    const after = share(before, { spec: { ports: [{ port: 1 }, { port: 3 }] }, status: { ready: true } });
    assert.equal(after.spec.ports[0], before.spec.ports[0]);
    assert.notEqual(after.spec.ports[1], before.spec.ports[1]);
    assert.equal(share(before, { ...before, status: { ready: true } }).spec, before.spec);
    assert.deepEqual(Object.keys(share({ a: 1, b: 2 }, { a: 1 })), ['a']);
  });
});

describe('diff', () => {
  it('is empty exactly for equal values', () => {
    fc.assert(fc.property(json, json, (a, b) => (diff(a, b).length === 0) === equal(a, b)));
  });

  it('names the fields that differ, as a user would write them', () => {
    const before = { spec: { routes: [{ weight: 1 }, { weight: 2 }] }, data: { 'ca.crt': 'a' }, gone: 1 };
    const after = { spec: { routes: [{ weight: 1 }, { weight: 3 }, {}] }, data: { 'ca.crt': 'b' }, added: 1 };
    assert.deepEqual(diff(before, after), [
      'spec.routes[1].weight',
      'spec.routes[2]',
      'data["ca.crt"]',
      'gone',
      'added',
    ]);
    assert.equal(diff(before, after, 2).length, 2);
    assert.deepEqual(diff(undefined, after), ['.']);
  });
});

describe('canonicalJson', () => {
  it('does not depend on the order of keys and reads back as the same value', () => {
    assert.equal(canonicalJson({ b: [1, { d: 1, c: undefined }], a: null }), '{"a":null,"b":[1,{"d":1}]}');
    fc.assert(fc.property(json, (a) => assert.deepEqual(JSON.parse(canonicalJson(a)), copy(a))));
  });

  it('is the same whether the fields came in order or not, numbers among their names included', () => {
    const names = fc.constantFrom('', '1', '10', '2', '2a', 'a', 'b', 'Z', 'é', '-1');
    const tree = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.jsonValue(), tie('list'), tie('fields')),
      list: fc.array(tie('value'), { maxLength: 3 }),
      fields: fc.dictionary(names, tie('value'), { maxKeys: 6 }),
    })).value;
    const expected = (value: unknown): string => {
      if (typeof value !== 'object' || value === null) return JSON.stringify(value);
      if (Array.isArray(value)) return `[${value.map(expected).join(',')}]`;
      const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${expected(field)}`).join(',')}}`;
    };
    fc.assert(fc.property(tree, (value) => assert.equal(canonicalJson(value), expected(value))));
  });
});

it('a member named __proto__ is a member like any other', () => {
  const parse = (text: string) => JSON.parse(text) as unknown;
  assert.equal(equal(parse('{"__proto__":{}}'), parse('{"a":0}')), false);
  assert.equal(equal(parse('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":1}}')), true);
  const shared = share(parse('{"__proto__":{"a":1},"b":1}'), parse('{"__proto__":{"a":1},"b":2}'));
  assert.equal(JSON.stringify(shared), '{"__proto__":{"a":1},"b":2}');
  assert.equal(Object.getPrototypeOf(shared), Object.prototype);
});
