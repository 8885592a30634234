import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preview } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import { Shop, scaled, shops } from './preview.ts';

const ref = { namespace: 'default', name: 'corner' };
const manifest = { apiVersion: Shop.apiVersion, kind: Shop.kind, metadata: ref, spec: { replicas: 2 } };

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [shops],
    given: async (client) => void (await client.create(Shop, manifest)),
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const lines = (writes: readonly { verb: string; object: string; disturbs?: string }[]) =>
  writes.map(({ verb, object, disturbs }) => `${verb} ${object}${disturbs === undefined ? '' : `, ${disturbs}`}`);

test('a changed copy of the cached object shows what would follow', () =>
  staged(async ({ client, program, transport }) => {
    const current = await client.get(Shop, ref);
    transport.clear();
    const { writes } = await scaled(program.runtime, current, 0);
    assert.deepEqual(lines(writes).toSorted(), [
      'apply ConfigMap default/corner',
      'apply Deployment default/corner, stops pods',
      'status Shop default/corner',
    ]);
    assert.deepEqual(lines((await scaled(program.runtime, current, 2)).writes), [], 'the same object changes nothing');
    assert.deepEqual(transport.writes, []);
  }));

test('a manifest is enough, for an object that is there and for one that is not', () =>
  staged(async ({ program }) => {
    const changed = { ...manifest, spec: { replicas: 3 } };
    const { writes } = await preview(program.runtime, [{ kind: Shop, object: changed }]);
    assert.deepEqual(
      writes.find(({ object }) => object === 'Deployment default/corner')?.changes.map(({ path }) => path),
      ['spec.replicas'],
    );
    const added = { ...manifest, metadata: { namespace: 'default', name: 'other' } };
    const created = await preview(program.runtime, [{ kind: Shop, object: added }]);
    assert.deepEqual(lines(created.writes).toSorted(), [
      'apply ConfigMap default/other',
      'apply Deployment default/other, starts pods',
      'status Shop default/other',
    ]);
  }));
