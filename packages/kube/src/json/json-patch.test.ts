import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { InvalidValueError } from '../errors.ts';
import { equal } from './equal.ts';
import { applyJsonPatch } from './json-patch.ts';
import { formatPointer, parsePointer } from './json-pointer.ts';

function refusal(document: unknown, ...patch: unknown[]): InvalidValueError {
  try {
    applyJsonPatch(document, patch);
  } catch (error) {
    if (error instanceof InvalidValueError) return error;
    throw error;
  }
  return assert.fail('it was accepted');
}

describe('a JSON patch', () => {
  it('copies no more than three megabytes, however often it copies what it has copied', () => {
    const double = Array.from({ length: 40 }, (_, index) => ({ op: 'copy', from: '/a', path: `/a/${index}` }));
    assert.match(refusal({ a: { text: 'x'.repeat(1000) } }, ...double).problem, /accumulated size increase/);
    const few = [{ op: 'copy', from: '/a', path: '/b' }];
    assert.deepEqual(applyJsonPatch({ a: 'x'.repeat(1000) }, few), { a: 'x'.repeat(1000), b: 'x'.repeat(1000) });
  });

  it('copies no more than two thousand levels, however often it copies a value into itself', () => {
    let depth = 1;
    const deeper = Array.from({ length: 14 }, () => {
      const path = `/a${'/a'.repeat(depth + 1)}`;
      depth = 2 * depth + 1;
      return { op: 'copy', from: '/a', path };
    });
    assert.match(refusal({ a: { a: {} } }, ...deeper).problem, /levels deep/);
  });

  it('reaches no more than two thousand levels', () => {
    let value: unknown = 'x';
    for (let level = 0; level < 900; level += 1) value = { a: value };
    const additions = Array.from({ length: 40 }, (_, index) => ({
      op: 'add',
      path: '/a'.repeat(index * 899 + 1),
      value,
    }));
    assert.match(refusal({}, ...additions).problem, /missing path/);
  });

  it('copies a container once, however many of its operations change it', () => {
    const members = Array.from({ length: 50_000 }, (_, index): [string, string] => [`key-${index}`, 'v']);
    const document = { a: Object.fromEntries(members), list: members.map(([key]) => key) };
    const patch = Array.from({ length: 10_000 }, (_, index) =>
      index % 2 === 0
        ? { op: 'add', path: `/a/key-${index}`, value: 'changed' }
        : { op: 'add', path: '/list/0', value: 'x' },
    );
    const before = process.cpuUsage();
    const result = applyJsonPatch(document, patch) as typeof document;
    const { user } = process.cpuUsage(before);
    assert.equal(result.list.length, 55_000);
    assert.equal(result.a['key-9998'], 'changed');
    assert.equal(document.a['key-9998'], 'v');
    // A copy for each operation takes half a minute.
    assert.ok(user / 1000 < 5_000, `${Math.round(user / 1000)} ms`);
  });

  it('changes neither the document nor its own values when parts are copied, moved and changed again', () => {
    const value = { x: [1] };
    const document = { a: value };
    const patch = [
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/x/-', value: 2 },
      { op: 'copy', from: '/b', path: '/c' },
      { op: 'add', path: '/c/x/-', value: 3 },
      { op: 'move', from: '/b', path: '/d' },
      { op: 'remove', path: '/d/x/0' },
      { op: 'add', path: '/e', value: { y: {} } },
      { op: 'add', path: '/e/y/z', value: 1 },
    ];
    const text = JSON.stringify(patch);
    const wanted = { a: { x: [1] }, c: { x: [1, 2, 3] }, d: { x: [2] }, e: { y: { z: 1 } } };
    assert.deepEqual(applyJsonPatch(document, patch), wanted);
    assert.deepEqual([document, JSON.stringify(patch)], [{ a: { x: [1] } }, text]);
  });

  it('does what each operation says', () => {
    for (const [document, operation, result] of [
      [{ a: 1 }, { op: 'add', path: '/b', value: 2 }, { a: 1, b: 2 }],
      [{ a: 1 }, { op: 'add', path: '/a', value: 2 }, { a: 2 }],
      [{ a: 1 }, { op: 'add', path: '/b' }, { a: 1, b: null }],
      [{ a: [1, 3] }, { op: 'add', path: '/a/1', value: 2 }, { a: [1, 2, 3] }],
      [{ a: [1] }, { op: 'add', path: '/a/-', value: 2 }, { a: [1, 2] }],
      [{ a: [1] }, { op: 'add', path: '/a/1', value: 2 }, { a: [1, 2] }],
      [{ a: [1, 3] }, { op: 'add', path: '/a/-1', value: 4 }, { a: [1, 3, 4] }],
      [[1], { op: 'add', path: '/0', value: 0 }, [0, 1]],
      [{ a: 1, b: 2 }, { op: 'remove', path: '/a' }, { b: 2 }],
      [{ a: [1, 2, 3] }, { op: 'remove', path: '/a/1' }, { a: [1, 3] }],
      [{ a: [1, 2, 3] }, { op: 'remove', path: '/a/-1' }, { a: [1, 2] }],
      [{ a: { b: 1 } }, { op: 'replace', path: '/a/b', value: [2] }, { a: { b: [2] } }],
      [{ a: [1, 2] }, { op: 'replace', path: '/a/0', value: 3 }, { a: [3, 2] }],
      [{ a: 1 }, { op: 'replace', path: '/b', value: 2 }, { a: 1, b: 2 }],
      [{ a: 1 }, { op: 'replace', path: '', value: { b: 2 } }, { b: 2 }],
      [
        { a: { x: 1 }, b: {} },
        { op: 'move', from: '/a/x', path: '/b/y' },
        { a: {}, b: { y: 1 } },
      ],
      [{ a: [1, 2, 3] }, { op: 'move', from: '/a/0', path: '/a/2' }, { a: [2, 3, 1] }],
      [{ a: { x: 1 } }, { op: 'copy', from: '/a', path: '/b' }, { a: { x: 1 }, b: { x: 1 } }],
      [
        { a: { b: [1, { c: null }] } },
        { op: 'test', path: '/a', value: { b: [1, { c: null }] } },
        { a: { b: [1, { c: null }] } },
      ],
      [{ a: 1 }, { op: 'test', path: '', value: { a: 1 } }, { a: 1 }],
      [{ a: 1 }, { op: 'test', path: '/b', value: null }, { a: 1 }],
      [{ 'a/b': { 'c~d': 1 } }, { op: 'replace', path: '/a~1b/c~0d', value: 2 }, { 'a/b': { 'c~d': 2 } }],
      [{ '~1': 1 }, { op: 'remove', path: '/~01' }, {}],
      [{ '': { '': 1 } }, { op: 'replace', path: '//', value: 2 }, { '': { '': 2 } }],
    ] as const) {
      assert.deepEqual(applyJsonPatch(document, [operation]), result, JSON.stringify(operation));
    }
  });

  it('applies operations in turn', () => {
    const patch = [
      { op: 'add', path: '/list', value: [] },
      { op: 'add', path: '/list/-', value: 1 },
      { op: 'test', path: '/list/0', value: 1 },
      { op: 'copy', from: '/list/0', path: '/first' },
      { op: 'remove', path: '/list' },
    ];
    assert.deepEqual(applyJsonPatch({}, patch), { first: 1 });
  });

  it('is refused in the words of kube-apiserver', () => {
    const document = { a: { b: 1 }, list: [1, 2], text: 'x' };
    for (const [operation, problem] of [
      [
        { op: 'add', path: '/x/y', value: 1 },
        'add operation does not apply: doc is missing path: "/x/y": missing value',
      ],
      [
        { op: 'add', path: '/text/y', value: 1 },
        'add operation does not apply: doc is missing path: "/text/y": missing value',
      ],
      [{ op: 'add', path: '', value: {} }, 'add operation does not apply: doc is missing path: "": missing value'],
      [{ op: 'add', path: 'a', value: 1 }, 'add operation does not apply: doc is missing path: "a": missing value'],
      [
        { op: 'add', path: '/list/3', value: 1 },
        "error in add for path: '/list/3': Unable to access invalid index: 3: invalid index referenced",
      ],
      [
        { op: 'add', path: '/list/x', value: 1 },
        `error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
      ],
      [
        { op: 'remove', path: '/c' },
        "error in remove for path: '/c': Unable to remove nonexistent key: c: missing value",
      ],
      [{ op: 'remove', path: '/x/c' }, 'remove operation does not apply: doc is missing path: "/x/c": missing value'],
      [
        { op: 'remove', path: '/list/2' },
        "error in remove for path: '/list/2': Unable to access invalid index: 2: invalid index referenced",
      ],
      [
        { op: 'remove', path: '/list/-' },
        `error in remove for path: '/list/-': strconv.Atoi: parsing "-": invalid syntax`,
      ],
      [
        { op: 'replace', path: '/x/c', value: 1 },
        'replace operation does not apply: doc is missing path: /x/c: missing value',
      ],
      [
        { op: 'replace', path: '/list/9', value: 1 },
        'replace operation does not apply: doc is missing key: /list/9: missing value',
      ],
      [
        { op: 'move', from: '/c', path: '/d' },
        "error in move for path: 'c': Unable to remove nonexistent key: c: missing value",
      ],
      [
        { op: 'move', from: '/x/c', path: '/d' },
        'move operation does not apply: doc is missing from path: /x/c: missing value',
      ],
      [
        { op: 'move', from: '/a', path: '/a/b' },
        'move operation does not apply: doc is missing destination path: /a/b: missing value',
      ],
      [
        { op: 'copy', from: '/x/c', path: '/d' },
        'copy operation does not apply: doc is missing from path: /x/c: missing value',
      ],
      [
        { op: 'copy', from: '/a', path: '/x/d' },
        'copy operation does not apply: doc is missing destination path: /x/d: missing value',
      ],
      [{ op: 'test', path: '/x/c', value: 1 }, 'test operation does not apply: is missing path: /x/c: missing value'],
    ] as const) {
      const error = refusal(document, operation);
      assert.equal(error.problem, problem);
      assert.equal(error.code, 'kube/InvalidJsonPatchDoesNotApply');
    }
    const failed = refusal(document, { op: 'test', path: '/a/b', value: 2 });
    assert.equal(failed.problem, 'testing value /a/b failed: test failed');
    assert.equal(failed.code, 'kube/InvalidJsonPatchTestFailed');
  });

  it('is refused before anything is done when it is no patch at all', () => {
    for (const [patch, problem] of [
      [{ op: 'add' }, 'it is an object and not a list'],
      [['add'], 'operation 0 is a string and not an object'],
      [
        [
          { op: 'add', path: '/a' },
          { op: 'delete', path: '/a' },
        ],
        'Unexpected kind: delete',
      ],
      [[{ path: '/a' }], 'Unexpected kind: unknown'],
      [[{ op: 'remove' }], 'operation 0 has no path'],
      [[{ op: 'copy', path: '/a' }], 'operation 0 has no from'],
      [[{ op: 'remove', path: 1 }], 'operation 0 has a number as its path'],
      [
        Array.from({ length: 10_001 }, () => ({ op: 'remove', path: '/a' })),
        'The allowed maximum operations in a JSON patch is 10000, got 10001',
      ],
    ] as const) {
      assert.throws(
        () => applyJsonPatch({}, patch),
        (error: unknown) =>
          error instanceof InvalidValueError && error.problem === problem && error.code === 'kube/InvalidJsonPatch',
        problem,
      );
    }
  });

  it('changes nothing in place and shares what it does not touch', () => {
    const document = { a: { x: [1] }, b: { y: [2] } };
    const before = structuredClone(document);
    const result = applyJsonPatch(document, [{ op: 'add', path: '/a/x/-', value: 2 }]);
    assert.deepEqual(result, { a: { x: [1, 2] }, b: { y: [2] } });
    const untouched = applyJsonPatch(result, [{ op: 'replace', path: '/a', value: document.b }]);
    assert.ok(typeof untouched === 'object' && untouched !== null && 'b' in untouched && untouched.b === document.b);
    assert.deepEqual(document, before);
    assert.equal(applyJsonPatch(document, [{ op: 'test', path: '/a/x/0', value: 1 }]), document);
    assert.equal(
      refusal(document, { op: 'remove', path: '/a' }, { op: 'remove', path: '/a' }).problem.includes('nonexistent'),
      true,
    );
    assert.deepEqual(document, before, 'a patch that fails half-way leaves nothing behind');
  });

  it('treats a member called __proto__ like any other', () => {
    const result = applyJsonPatch({ a: {} }, [
      { op: 'add', path: '/__proto__', value: { polluted: 1 } },
      { op: 'add', path: '/a/constructor', value: 1 },
    ]);
    assert.equal(JSON.stringify(result), '{"a":{"constructor":1},"__proto__":{"polluted":1}}');
    assert.match(refusal({}, { op: 'add', path: '/__proto__/x', value: 1 }).problem, /doc is missing path/);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it('puts and takes back whatever name and value it is given', () => {
    const name = fc.string({ unit: fc.constantFrom('a', '/', '~', '0', '1', '-', 'é') });
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.jsonValue(), { noNullPrototype: true }),
        name,
        fc.jsonValue(),
        (document, key, value) => {
          const path = formatPointer([key]);
          const added = applyJsonPatch(document, [
            { op: 'add', path, value },
            { op: 'test', path, value },
          ]);
          assert.ok(equal(added, { ...document, [key]: value }));
          const { [key]: _, ...rest } = document;
          assert.ok(equal(applyJsonPatch(added, [{ op: 'remove', path }]), rest));
        },
      ),
    );
  });

  it('treats lists as a list would be', () => {
    const step = fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move'),
      at: fc.nat(6),
      to: fc.nat(6),
      value: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 5 }), fc.array(step, { maxLength: 6 }), (start, steps) => {
        const list = [...start];
        const patch = steps.flatMap(({ op, at, to, value }): object[] => {
          if (op === 'add') {
            const index = at % (list.length + 1);
            list.splice(index, 0, value);
            return [{ op, path: `/list/${index}`, value }];
          }
          if (list.length === 0) return [];
          const index = at % list.length;
          if (op === 'remove') list.splice(index, 1);
          else if (op === 'replace') list[index] = value;
          else list.splice(to % list.length, 0, ...list.splice(index, 1));
          return [{ op, path: `/list/${op === 'move' ? to % list.length : index}`, from: `/list/${index}`, value }];
        });
        assert.deepEqual(applyJsonPatch({ list: start }, patch), { list });
      }),
    );
  });
});

describe('a JSON pointer', () => {
  it('survives being written and read', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('~', '/', '0', '1', 'a') })), (names) => {
        assert.deepEqual(parsePointer(formatPointer(names)), names);
      }),
    );
  });

  it('begins with a slash', () => {
    assert.equal(parsePointer('a/b'), undefined);
  });
});
