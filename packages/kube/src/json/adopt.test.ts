import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createAdopt } from './adopt.ts';

const unique: ReadonlySet<string> = new Set(['uid', 'data']);
const json = fc.jsonValue({ maxDepth: 5 });

describe('a value that a cache adopts', () => {
  test('equals what was parsed, and neither it nor its sibling is changed', () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 12 }), fc.boolean(), (values, freeze) => {
        const adopt = createAdopt<unknown>({ unique, freeze });
        let sibling: unknown;
        // Twice: the second time each part is compared with an equal one.
        for (const value of [...values, ...structuredClone(values)]) {
          const before = structuredClone(value);
          const siblingBefore = structuredClone(sibling);
          const kept = adopt(value, sibling);
          assert.deepStrictEqual(kept, before);
          assert.deepStrictEqual(value, before);
          assert.deepStrictEqual(sibling, siblingBefore);
          sibling = kept;
        }
      }),
    );
  });

  test('is frozen down to its leaves, with the parts that it shares', () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 12 }), (values) => {
        const adopt = createAdopt<unknown>({ unique, freeze: true });
        let sibling: unknown;
        for (const value of values) {
          sibling = adopt(value, sibling);
          assertFrozen(sibling);
        }
      }),
    );
  });

  test('is its sibling when both are equal', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(json), fc.dictionary(fc.string(), json)), (value) => {
        const adopt = createAdopt<unknown>({ unique, freeze: true });
        const first = adopt(value, undefined);
        // -0 and 0 are equal and JSON has one of them; a field named __proto__ is never shared.
        const copy: unknown = JSON.parse(JSON.stringify(value));
        const text = JSON.stringify(value);
        if (text.includes('__proto__')) return;
        assert.equal(adopt(copy, first), first);
      }),
    );
  });

  test('keeps the parts once that it has in common with its sibling', () => {
    const adopt = createAdopt<Readonly<Record<string, unknown>>>({ unique, freeze: true });
    const object = (name: string) => ({
      name,
      uid: `uid-of-${name}`,
      data: { a: { b: 1 } },
      status: [{ ready: true }],
    });
    const first = adopt(object('first'), undefined);
    const second = adopt(object('second'), first);
    assert.deepEqual(second, object('second'));
    assert.equal(second['status'], first['status']);
    assert.equal(second['data'], first['data']);
  });

  test('shares again soon when parts begin to be equal that never were', () => {
    const adopt = createAdopt<{ spec: { number: number } }>({ unique, freeze: true });
    let sibling: { spec: { number: number } } | undefined;
    for (let number = 0; number < 1000; number++) sibling = adopt({ spec: { number } }, sibling);
    let copies = 0;
    for (let at = 0; at < 5000; at++) {
      const kept = adopt({ spec: { number: -1 } }, sibling);
      if (kept.spec !== sibling?.spec) copies++;
      sibling = kept;
    }
    assert.ok(copies < 2500, `${copies} of 5000 equal parts were kept apart`);
  });

  test('is frozen however deep it is nested', () => {
    const text = `${'{"a":['.repeat(20_000)}1${']}'.repeat(20_000)}`;
    const adopt = createAdopt<unknown>({ unique, freeze: true });
    let kept = adopt(JSON.parse(text), adopt(JSON.parse(text), undefined));
    for (let depth = 0; typeof kept === 'object' && kept !== null; depth++) {
      assert.ok(Object.isFrozen(kept), `depth ${depth}`);
      kept = Object.values(kept)[0];
    }
    assert.equal(kept, 1);
  });

  test('takes a field named __proto__ as a field', () => {
    const adopt = createAdopt<object>({ unique, freeze: true });
    const parse = (inner: number) => JSON.parse(`{"__proto__":{"a":{"b":${inner}}},"c":{"d":1}}`) as object;
    const first = adopt(parse(1), undefined);
    const second = adopt(parse(2), first);
    assert.equal(JSON.stringify(second), JSON.stringify(parse(2)));
    assert.equal(Object.getPrototypeOf(second), Object.prototype);
    assertFrozen(second);
  });
});

test('texts that repeat are kept once, also where the first thousands differ', () => {
  const bytesOf = (field: string) => {
    const program = `
      import { createAdopt } from ${JSON.stringify(new URL('./adopt.ts', import.meta.url).href)};
      const adopt = createAdopt({ unique: new Set(['uid']), freeze: true });
      const kept = [];
      const make = (at) => JSON.parse('{"${field}":"service-of-a-shop-' + (at % 2000) + '-canary","number":' + at + '}');
      gc();
      const before = process.memoryUsage().heapUsed;
      for (let at = 0; at < 40_000; at++) kept.push(adopt(make(at), kept.at(-1)));
      gc(); gc();
      console.log(Math.round((process.memoryUsage().heapUsed - before) / 40_000), kept.length);
    `;
    const { stdout } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', program]);
    return Number.parseInt(stdout.toString(), 10);
  };
  // A unique field is never interned, so it shows the size of the copies.
  const [once, apart] = [bytesOf('name'), bytesOf('uid')];
  assert.ok(once + 24 < apart, `${once} bytes an object, ${apart} without interning`);
});

function assertFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  assert.ok(Object.isFrozen(value), JSON.stringify(value));
  for (const part of Object.values(value)) assertFrozen(part);
}
