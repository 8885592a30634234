import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cores } from './cores.ts';
import { mutate } from './mutants.ts';
import { SURVIVORS } from './survivors.ts';
import { parseCores } from './try-cores.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('every core has files and tests that are there', () => {
  for (const { name, files, tests } of cores()) {
    assert.ok(files.length > 0 && tests.length > 0, name);
    for (const file of [...files, ...tests]) assert.ok(existsSync(join(ROOT, file)), file);
  }
});

test('types, imports and texts of errors have no mutants, and the mutated file is as the original where none is active', async () => {
  const file = 'operators/kroxylicious/src/hash/carried-hash.ts';
  const [mutated] = mutate([file]);
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  assert.ok(mutated !== undefined && mutated.mutants.length > 3);
  for (const { line } of mutated.mutants)
    assert.doesNotMatch(lines[line - 1] ?? '', /^import|^export (?:type|interface)|throw /);
  const numbers = [...mutated.text.matchAll(/\$mutant\((\d+)\)/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    mutated.mutants.map((_, index) => index + 1),
  );
});

test('a survivor with a reason is still a mutant of its file', () => {
  const files = [...new Set(SURVIVORS.map(({ file }) => file))];
  const known = new Set(
    files.length === 0
      ? []
      : mutate(files)
          .flatMap(({ mutants }) => mutants)
          .map(({ file, id }) => `${file} ${id}`),
  );
  const gone = SURVIVORS.filter(({ file, id }) => !known.has(`${file} ${id}`));
  assert.deepEqual(gone, []);
});

test('flags of the cores that cannot be understood are refused', () => {
  assert.equal(typeof parseCores(['--sample', '5', '--only', 'diff']), 'object');
  for (const args of [
    ['--sample', '0'],
    ['--minutes', '-1'],
    ['--only', 'nothing'],
    ['--seed', 'x'],
    ['--fast'],
    ['x'],
  ])
    assert.equal(typeof parseCores(args), 'string', args.join(' '));
});
