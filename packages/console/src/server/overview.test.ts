import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeCauses } from '@capstan/reconcile';
import { overviewOf } from './overview.ts';
import type { Row, Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

const MANY = 10_000;

function rowOf(at: number): Row {
  const place = { world: '', kind: 'Site.example.dev', key: `team-${at % 100}/site-${at}` };
  return {
    id: `${place.kind} ${place.key}`,
    ...place,
    state: 'broken',
    operator: 'sites',
    reason: 'Bad',
    message: 'm',
  };
}

test('ten thousand root causes are counted, and the answer holds fifty, also for one namespace', () => {
  const all = Array.from({ length: MANY }, (_, at) => rowOf(at));
  const rows = { all: new Map(all.map((row) => [row.id, row])), unready: () => all } as unknown as Rows;
  const runtime = { worlds: new Map(), sinks: [] };
  const source = { runtime, operators: [{ name: 'sites' }] } as unknown as ConsoleSource;
  const causes = {
    roots: all.map(({ id }) => ({ id, affects: [] })),
    absent: new Map(),
    causesOf: () => [],
  } as unknown as RuntimeCauses;
  const whole = overviewOf(source, rows, causes);
  assert.deepEqual([whole.roots.length, whole.rootCount, whole.namespaces.length], [50, MANY, 100]);
  assert.ok(JSON.stringify(whole).length < 40_000);
  const one = overviewOf(source, rows, causes, 'team-7');
  assert.deepEqual([one.roots.length, one.rootCount, one.operators[0]?.objects], [50, 100, 100]);
  assert.ok(one.roots.every(({ key }) => key.startsWith('team-7/')));
});
