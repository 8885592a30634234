import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap, Service } from '@capstan/kube';
import { operator, plan, reconciler } from '@capstan/reconcile';
import { rightsProblems, usedRights } from './rights.ts';

const reader = operator({
  name: 'reader',
  kinds: [],
  reconcilers: [reconciler({ name: 'maps', resource: ConfigMap, reads: [Service], reconcile: () => plan() })],
});
const MAPS = ['reader everywhere: list configmaps', 'reader everywhere: watch configmaps'];
const SERVICES = ['reader everywhere: list services', 'reader everywhere: watch services'];

test('a right that no test used is a problem, unless an exception explains it', () => {
  assert.deepEqual(rightsProblems([reader], new Set([...MAPS, ...SERVICES]), new Map()), []);
  const [first = '', ...rest] = rightsProblems([reader], new Set(MAPS), new Map());
  assert.match(first, /^reader everywhere: list services is granted, and no test used it; /);
  assert.equal(rest.length, 1);
  const excused = new Map(SERVICES.map((right) => [right, 'a peer is needed']));
  assert.deepEqual(rightsProblems([reader], new Set(MAPS), excused), []);
});

test('an exception for a right that is used, or that is not granted, is a problem', () => {
  const excused = new Map([...MAPS, 'reader everywhere: delete services'].map((right) => [right, 'why']));
  const problems = rightsProblems([reader], new Set([...MAPS, ...SERVICES]), excused);
  assert.equal(problems.length, 3);
  for (const problem of problems) assert.match(problem, /is an exception in scripts\/rights\.ts that is not needed/);
});

test('the rights of all files of a run count together', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-rights-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, '1.txt'), `${MAPS[0]}\n`);
  writeFileSync(join(folder, '2.txt'), `${MAPS[1]}\n`);
  const used = usedRights(folder);
  for (const right of MAPS) assert.ok(used.has(right));
});
