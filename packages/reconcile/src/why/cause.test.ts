import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cause } from '../engine/index.ts';
import { causeRecord, formatCause, mergeCauses, parseCause } from './cause.ts';

const cause = (table: string, via: readonly string[]): Cause => ({
  source: { table, key: 'default/a' },
  paths: [],
  before: '1',
  after: '2',
  via,
});

describe('the record of a cause', () => {
  const objects = (...causes: ReturnType<typeof cause>[]) =>
    causeRecord('2026-01-01T00:00:00Z', 'x.y', 'Site default/a', causes).changes.map(({ object }) => object);

  test('reports what the plan was made from, and not what our own writes changed on the way', () => {
    const secret = cause('Secret', ['hash default/a', 'x.y default/a', 'writes of x.y default/a']);
    const child = cause('our ConfigMap', ['writes of x.y default/a']);
    assert.deepEqual(objects(secret, child), ['Secret default/a']);
  });

  test('reports an edit of the object itself without our own writes, and its status only where nothing else changed', () => {
    const own = (...paths: string[]) => ({ ...cause('Site', ['writes of x.y default/a']), paths });
    const child = cause('our ConfigMap', ['writes of x.y default/a']);
    const secret = cause('Secret', ['x.y default/a', 'writes of x.y default/a']);
    assert.deepEqual(objects(own('spec.size', 'status.ready'), child), ['Site default/a']);
    assert.deepEqual(objects(secret, own('status.ready')), ['Secret default/a']);
    assert.deepEqual(recordOf([own('spec.size', 'status.ready')]).changes[0]?.paths, ['spec.size']);
    assert.deepEqual(recordOf([own('status.ready')]).changes[0]?.paths, ['status.ready']);
    const records = ['metadata.resourceVersion', 'metadata.generation', 'metadata.managedFields[0].time'];
    assert.deepEqual(recordOf([own('spec.size', ...records)]).changes[0]?.paths, ['spec.size']);
    assert.deepEqual(objects(secret, own('status.ready', ...records)), ['Secret default/a']);
    assert.deepEqual(recordOf([own('metadata.labels.generation')]).changes[0]?.paths, ['metadata.labels.generation']);
  });

  test('reports neither what had only to be fetched nor what followed from an earlier plan, unless there is nothing else', () => {
    const created = { ...cause('Cluster', ['x.y default/a']), before: 'absent' };
    const fetched = { ...cause('Secret', ['hash default/a', 'x.y default/a']), before: 'unknown' };
    const followed = { ...cause('ReplicaSet.apps', ['x.y default/a']), isAside: true as const };
    assert.deepEqual(objects(followed, fetched, created), ['Cluster default/a']);
    assert.deepEqual(objects(followed, fetched), ['Secret default/a']);
    assert.deepEqual(objects(followed), ['ReplicaSet.apps default/a']);
  });

  test('reports drift when there is nothing else', () => {
    assert.deepEqual(objects(cause('our Deployment.apps', ['writes of x.y default/a'])), [
      'our Deployment.apps default/a',
    ]);
  });
});

const changed = (key: string, given: Partial<Cause> = {}): Cause => ({
  source: { table: 'ConfigMap', key },
  paths: ['data.x'],
  before: 'one',
  after: 'two',
  via: ['x.y default/a'],
  ...given,
});
const recordOf = (causes: readonly Cause[]) => causeRecord('2026-01-01T00:00:00Z', 'x.y', 'Site default/a', causes);
const many = (count: number, given: Partial<Cause> = {}) =>
  Array.from({ length: count }, (_, index) => changed(`default/c${index}`, given));

describe('the annotation', () => {
  test('says when, by whom, for what, which inputs changed, from what to what, and on which way', () => {
    assert.deepEqual(recordOf([changed('default/c')]), {
      at: '2026-01-01T00:00:00Z',
      by: 'x.y',
      for: 'Site default/a',
      changes: [{ object: 'ConfigMap default/c', paths: ['data.x'], from: 'one', to: 'two', via: ['x.y default/a'] }],
    });
  });

  test('is read as it was written, and is nothing when a user broke it', () => {
    const record = recordOf(many(3));
    assert.deepEqual(parseCause(formatCause(record)), record);
    for (const text of [undefined, '', '{', 'null', '7', '{"changes":1,"by":"x"}', '{"changes":[]}'])
      assert.equal(parseCause(text), undefined);
  });

  test('stays small, and says how much it leaves out', () => {
    const eleven = recordOf(many(11, { paths: [], via: ['x'] }));
    assert.deepEqual([eleven.changes.length, eleven.more], [10, 1]);
    assert.equal(recordOf(many(10, { paths: [], via: ['x'] })).more, undefined);
    const long = recordOf(many(10, { paths: ['p'.repeat(300)] }));
    assert.ok(formatCause(long).length <= 1500);
    assert.equal(long.changes.length + (long.more ?? 0), 10);
    assert.ok(long.changes.length > 1);
  });

  test('reports at least one change, however long its names are', () => {
    const paths = Array.from({ length: 8 }, () => 'p'.repeat(900));
    const huge = recordOf(many(3, { paths, via: paths, source: { table: 'fact image', key: 'k'.repeat(5000) } }));
    assert.ok(formatCause(huge).length <= 1500);
    assert.deepEqual([huge.changes.length, huge.more], [1, 2]);
    assert.match(huge.changes[0]?.object ?? '', /^fact image k+…$/);
  });

  test('the annotation about the state at the start is empty', () => {
    assert.deepEqual([recordOf([]).changes, recordOf([]).more], [[], undefined]);
  });
});

describe('causes of several waves before one write', () => {
  test('an object that was fetched on the way and changed then counts from its fetching on', () => {
    const fetched = changed('default/a', { before: 'unknown', after: 'one' });
    const [merged] = mergeCauses([fetched], [changed('default/a')]);
    assert.deepEqual([merged?.before, merged?.after], ['one', 'two']);
  });

  test('are one for each object, from the first value to the last', () => {
    const merged = mergeCauses(
      [changed('default/a'), changed('default/b')],
      [changed('default/a', { before: 'two', after: 'three', paths: ['data.y'] }), changed('default/c')],
    );
    assert.deepEqual(
      merged.map(({ source, before, after, paths }) => [source.key, before, after, paths]),
      [
        ['default/a', 'one', 'three', ['data.x', 'data.y']],
        ['default/b', 'one', 'two', ['data.x']],
        ['default/c', 'one', 'two', ['data.x']],
      ],
    );
  });

  test('causes of objects of one name and different kinds are distinguished', () => {
    const other = changed('default/a', { source: { table: 'Secret', key: 'default/a' } });
    assert.equal(mergeCauses([changed('default/a')], [other]).length, 2);
  });

  test('do not grow without end', () => {
    let merged: readonly Cause[] = [];
    for (let wave = 0; wave < 10; wave++) {
      merged = mergeCauses(merged, [
        ...many(10).map((cause) => ({ ...cause, source: { table: `T${wave}`, key: cause.source.key } })),
        changed('default/same', { paths: [`p${wave}`, `q${wave}`] }),
      ]);
    }
    assert.ok(merged.length <= 20);
    assert.ok(merged.every(({ paths }) => paths.length <= 8));
  });
});
