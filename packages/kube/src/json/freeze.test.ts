import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freezeDeep, isRefusedChange } from './freeze.ts';

class Place {
  readonly parts: string[] = [];
  #visits = 0;
  visit(): number {
    return ++this.#visits;
  }
}

const value = () => ({
  object: { inner: { text: 'a' } },
  list: [{ text: 'a' }, { text: 'b' }],
  map: new Map([['a', { text: 'a' }]]),
  set: new Set(['a']),
  date: new Date(0),
  place: new Place(),
});

/** Ways to change a value; each must be refused, and none may leave a trace. */
const changes: Record<string, (of: ReturnType<typeof value>) => unknown> = {
  'a field of the value': (of) => (of.object = { inner: { text: 'changed' } }),
  'a field deep inside': (of) => (of.object.inner.text = 'changed'),
  'a new field': (of) => Object.assign(of.object, { added: true }),
  'a field that is deleted': (of) => delete (of.object as Partial<typeof of.object>).inner,
  'a field that is redefined': (of) => Object.defineProperty(of.object, 'inner', { value: 1 }),
  'a list that grows': (of) => of.list.push({ text: 'c' }),
  'a list that is sorted': (of) => of.list.sort((a, b) => (a.text < b.text ? 1 : -1)),
  'a list that shrinks': (of) => of.list.pop(),
  'an item of a list': (of) => ((of.list[0] as { text: string }).text = 'changed'),
  'an entry of a Map': (of) => of.map.set('a', { text: 'changed' }),
  'the value in a Map': (of) => ((of.map.get('a') as { text: string }).text = 'changed'),
  'a Map that is cleared': (of) => of.map.clear(),
  'an entry of a Set': (of) => of.set.add('b'),
  'a Date': (of) => of.date.setUTCFullYear(1999),
  'a field of an instance': (of) => of.place.parts.push('changed'),
};

describe('a frozen value', () => {
  for (const [name, change] of Object.entries(changes))
    test(`refuses a change of ${name}`, () => {
      const frozen = freezeDeep(value());
      assert.throws(
        () => change(frozen),
        (error) => isRefusedChange(error),
      );
      assert.deepEqual(JSON.stringify(frozen), JSON.stringify(value()));
      assert.deepEqual([...frozen.map], [...value().map]);
      assert.deepEqual([...frozen.set], ['a']);
    });

  test('can be read in every way', () => {
    const frozen = freezeDeep(value());
    assert.equal(frozen.map.get('a')?.text, 'a');
    assert.equal(frozen.date.toISOString(), '1970-01-01T00:00:00.000Z');
    assert.equal(frozen.place.visit(), 1);
    assert.deepEqual(structuredClone(frozen.object), { inner: { text: 'a' } });
    assert.deepEqual([...frozen.list].toReversed(), [{ text: 'b' }, { text: 'a' }]);
  });

  test('may contain itself, bytes and regular expressions', () => {
    const pattern = /a/g;
    const cyclic: Record<string, unknown> = { bytes: Buffer.from('a'), pattern };
    cyclic['self'] = cyclic;
    freezeDeep(cyclic);
    assert.equal(pattern.exec('a')?.index, 0);
    assert.ok(Object.isFrozen(cyclic));
  });

  test('may be nested deeper than the stack is', () => {
    let deep: Record<string, unknown> = { last: {} };
    const { last } = deep;
    for (let depth = 0; depth < 200_000; depth++) deep = { deep };
    freezeDeep(deep);
    assert.ok(Object.isFrozen(last));
  });

  test('is not left through a part that was frozen before', () => {
    const before = freezeDeep({ spec: { text: 'a' } });
    const after = freezeDeep({ ...before, status: { text: 'b' } });
    assert.ok(Object.isFrozen(after) && Object.isFrozen(after.spec) && Object.isFrozen(after.status));
  });
});

test('another TypeError is not taken for a refused change', () => {
  assert.throws(
    () => (undefined as unknown as { name: string }).name,
    (error) => !isRefusedChange(error),
  );
  assert.equal(isRefusedChange(new Error('Cannot add property a, object is not extensible')), false);
});
