import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubeObject, Secret } from '@capstan/kube';
import { formatObjectId, operator } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import { createRows, type Row } from './rows.ts';
import type { ConsoleSource } from './source.ts';

const STATES = ['broken', 'paused', 'progress', 'ready'] as const;

/** Rows over objects that the test keeps, with their states. */
function rowsOver(objects: Map<string, Row['state']>, reasons = new Map<string, string>()) {
  const [namespace, since] = ['default', '2026-01-01T00:00:00Z'];
  const objectOf = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } });
  const peek = (key: string) => {
    const name = key.slice(key.indexOf('/') + 1);
    return objects.has(name) ? objectOf(name) : undefined;
  };
  const world = {
    name: '',
    kinds: [Secret],
    readTable: () => ({ peek }),
    peek: () => [...objects.keys()].map(objectOf),
  };
  const source = {
    runtime: { worlds: new Map([['', world]]) },
    operators: [operator({ name: 'own', kinds: [Secret as never], reconcilers: [] })],
    healthOf: ({ metadata: { name = '' } }: KubeObject) => ({
      state: objects.get(name),
      reason: reasons.get(name) ?? '',
      message: '',
      since,
    }),
  } as unknown as ConsoleSource;
  let now = 0;
  const rows = createRows(source, () => `2026-02-01T00:00:0${now++}Z`);
  const update = (name: string) => rows.update([{ world: '', kind: 'Secret', key: `${namespace}/${name}` }]);
  return {
    rows,
    update,
    idOf: (name: string) => formatObjectId({ world: '', kind: 'Secret', key: `default/${name}` }),
  };
}

describe('the rows of the explorer', () => {
  it('stay in the order of a full sort through random changes', () => {
    const random = createRandom(7);
    const objects = new Map<string, Row['state']>();
    const { rows, update, idOf } = rowsOver(objects);
    const none = () => new Set<string>();
    assert.equal(rows.page({ q: '', limit: 10 }, none).total, 0);
    for (let step = 0; step < 400; step++) {
      const name = `s${random.integer(0, 40)}`;
      if (random.integer(0, 3) === 0) objects.delete(name);
      else objects.set(name, STATES[random.integer(0, 3)] ?? 'ready');
      update(name);
      const expected = [...objects]
        .map(([one, state]) => `${STATES.indexOf(state as never)} ${idOf(one)}`)
        .sort()
        .map((text) => text.slice(2));
      assert.deepEqual(
        rows.page({ q: '', limit: 100 }, none).rows.map(({ id }) => id),
        expected,
      );
      const unready = [...objects.values()].filter((state) => state !== 'ready').length;
      assert.equal(rows.unready().length, unready);
    }
  });

  it('have the time of a change of the reason, which no condition has', () => {
    const objects = new Map<string, Row['state']>([['a', 'broken']]);
    const reasons = new Map([['a', 'One']]);
    const { rows, update, idOf } = rowsOver(objects, reasons);
    const since = () => rows.all.get(idOf('a'))?.since;
    assert.equal(since(), '2026-01-01T00:00:00Z');
    reasons.set('a', 'Two');
    update('a');
    assert.equal(since(), '2026-02-01T00:00:00Z');
    update('a');
    assert.equal(since(), '2026-02-01T00:00:00Z');
  });
});
