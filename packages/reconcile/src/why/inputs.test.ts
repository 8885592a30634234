// Inputs of a plan as they are kept in an annotation, and compared after a restart.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Input, Inputs } from '../engine/index.ts';
import { changedInputs, keepInputs } from './inputs.ts';

const AT = '2026-01-01T00:00:00Z';
const input = (
  key: string,
  digest: string,
  given: Partial<Input> & { table?: string; created?: string } = {},
): Input => {
  const { table = 'Secret', created, ...rest } = given;
  const value = created === undefined ? undefined : { metadata: { creationTimestamp: created } };
  return { source: { table, key }, value, whole: '', digests: [digest], via: [`reads ${key}`, 'plan'], ...rest };
};
const inputs = (values: readonly Input[], given: Partial<Inputs> = {}): Inputs => ({
  values,
  lists: [...new Set(values.flatMap(({ list }) => list ?? []))],
  isThere: () => false,
  ...given,
});
const named = (before: Inputs, now: Inputs) =>
  changedInputs(now, { at: AT, inputs: {}, ...keepInputs(before) }).map(
    ({ source, before: from, after }) => `${source.table} ${source.key}: ${from} → ${after}`,
  );

describe('inputs after a restart', () => {
  const before = inputs([input('n/a', 'aa'), input('n/b', 'bb'), input('n/a', 'cc', { table: 'ConfigMap' })]);

  test('inputs after a restart that differ are named, with both digests, and no others', () => {
    const now = inputs([input('n/a', 'xx'), input('n/b', 'bb'), input('n/a', 'cc', { table: 'ConfigMap' })]);
    assert.deepEqual(named(before, now), ['Secret n/a: aa → xx']);
    const both = inputs([input('n/a', 'xx'), input('n/b', 'yy'), input('n/a', 'cc', { table: 'ConfigMap' })]);
    assert.deepEqual(named(before, both), ['Secret n/a: aa → xx', 'Secret n/b: bb → yy']);
  });

  test('inputs of one name and different kinds are distinguished after a restart', () => {
    const now = inputs([input('n/a', 'aa'), input('n/b', 'bb'), input('n/a', 'xx', { table: 'ConfigMap' })]);
    assert.deepEqual(named(before, now), ['ConfigMap n/a: cc → xx']);
  });

  test('inputs after a restart that were not read before are named only where no other differs', () => {
    assert.deepEqual(named(before, inputs([...before.values.slice(1), input('n/a', 'xx'), input('n/new', 'nn')])), [
      'Secret n/a: aa → xx',
    ]);
    assert.deepEqual(named(before, inputs([...before.values, input('n/new', 'nn')])), ['Secret n/new: unknown → nn']);
  });

  test('inputs after a restart that joined a list are named, created or only selected since', () => {
    const list = { list: 'abcd' };
    const [first, second] = [
      input('n/a', 'aa', list),
      input('n/b', 'bb', { ...list, created: '2026-01-01T00:01:00Z' }),
    ];
    assert.deepEqual(named(inputs([first]), inputs([first, second])), ['Secret n/b: absent → bb']);
    const older = input('n/b', 'bb', { ...list, created: '2025-01-01T00:00:00Z' });
    assert.deepEqual(named(inputs([first]), inputs([first, older])), ['Secret n/b:  → bb']);
    const none = inputs([input('n/x', 'xx')], { lists: ['abcd'] });
    assert.deepEqual(named(none, inputs([...none.values, second])), ['Secret n/b: absent → bb']);
    // The object that a new member refers to is read because of the member.
    const referred = input('n/used', 'uu');
    assert.deepEqual(named(inputs([first]), inputs([first, second, referred])), ['Secret n/b: absent → bb']);
  });

  test('inputs after a restart that left a list are named, removed or no longer selected', () => {
    const list = { list: 'abcd' };
    const both = inputs([input('n/a', 'aa', list), input('n/b', 'bb', list), input('n/used', 'uu')]);
    const one = [input('n/a', 'aa', list)];
    assert.deepEqual(named(both, inputs(one)), ['Secret n/b: bb → absent']);
    assert.deepEqual(named(both, inputs(one, { isThere: () => true })), ['Secret n/b: bb → ']);
    const edited = inputs([input('n/a', 'xx', list)]);
    assert.deepEqual(named(both, edited), ['Secret n/a: aa → xx', 'Secret n/b: bb → absent']);
    const none = inputs([input('n/used', 'uu')], { lists: ['abcd'] });
    assert.deepEqual(named(both, none), ['Secret n/a: aa → absent', 'Secret n/b: bb → absent']);
  });

  test('inputs after a restart that another reader looks at otherwise are not named', () => {
    const projected = (whole: string, ...digests: string[]) => inputs([input('n/a', '', { whole, digests })]);
    assert.deepEqual(named(projected('w1', 'p1'), projected('w1', 'p1', 'p2')), []);
    assert.deepEqual(named(projected('w1', 'p1', 'p2'), projected('w1', 'p1')), []);
    assert.deepEqual(named(projected('w1', 'p1'), projected('w2', 'p1', 'p2')), []);
    // A reader that was replaced by one of another part of the same value.
    assert.deepEqual(named(projected('w1', 'p1'), projected('w1', 'p2')), []);
    assert.deepEqual(named(projected('w1', 'p1'), projected('w2', 'p2')), ['Secret n/a: p1 → p2']);
  });

  test('inputs after a restart that are all as before name nothing', () => {
    assert.deepEqual(named(before, before), []);
  });

  test('carry the way on which they were read', () => {
    const kept = { at: AT, inputs: {}, ...keepInputs(before) };
    const changed = changedInputs(inputs([input('n/a', 'xx')]), kept);
    assert.deepEqual(changed[0]?.via, ['reads n/a', 'plan']);
  });

  test('are written in one order, and not at all where there are none or too many', () => {
    const [a, b] = [input('n/a', 'aa'), input('n/b', 'bb')];
    assert.deepEqual(keepInputs(inputs([b, a])), keepInputs(inputs([a, b])));
    assert.deepEqual(keepInputs(inputs([a, b]))?.inputs, { Secret: 'n/a :aa /b :bb' });
    assert.equal(keepInputs(inputs([])), undefined);
    assert.equal(
      keepInputs(inputs(Array.from({ length: 100 }, (_, at) => input('x'.repeat(200), `${at}`)))),
      undefined,
    );
  });

  test('keep keys of any text', () => {
    const odd = inputs([input('a b%20c/d e', 'aa', { table: 'fact' }), input('cluster', 'bb', { table: 'fact' })]);
    assert.deepEqual(named(odd, odd), []);
  });
});
