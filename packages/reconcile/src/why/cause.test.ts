import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { causeRecord } from './cause.ts';

const cause = (table: string, via: readonly string[]) => ({
  source: { table, key: 'default/a' },
  paths: [],
  before: '1',
  after: '2',
  via,
});

describe('the record of a cause', () => {
  const objects = (...causes: ReturnType<typeof cause>[]) =>
    causeRecord('2026-01-01T00:00:00Z', 'x.y', 'Site default/a', causes).changes.map(({ object }) => object);

  test('tells what the plan was made from, and not what our own writes changed on the way', () => {
    const secret = cause('Secret', ['hash default/a', 'x.y default/a', 'writes of x.y default/a']);
    const child = cause('our ConfigMap', ['writes of x.y default/a']);
    assert.deepEqual(objects(secret, child), ['Secret default/a']);
  });

  test('tells of drift when there is nothing else', () => {
    assert.deepEqual(objects(cause('our Deployment.apps', ['writes of x.y default/a'])), [
      'our Deployment.apps default/a',
    ]);
  });
});
