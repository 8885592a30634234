import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cores } from './cores.ts';
import { mutantsOf } from './mutants.ts';
import { SURVIVORS } from './survivors.ts';
import { parseCores } from './try-cores.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('every core has files and tests that are there', () => {
  for (const { name, files, tests } of cores()) {
    assert.ok(files.length > 0 && tests.length > 0, name);
    for (const file of [...files, ...tests]) assert.ok(existsSync(join(ROOT, file)), file);
  }
});

test('a mutant changes a part of its file, and types, imports and texts of errors have none', () => {
  const file = 'operators/kroxylicious/src/hash/combine-hashes.ts';
  const text = readFileSync(join(ROOT, file), 'utf8');
  const mutants = mutantsOf([file]);
  assert.ok(mutants.length > 3);
  for (const { start, end, to, line } of mutants) {
    assert.notEqual(text.slice(start, end), to);
    assert.doesNotMatch(text.split('\n')[line - 1] ?? '', /^import|^export (?:type|interface)|throw /);
  }
});

test('a survivor with a reason is still a mutant of its file', () => {
  const files = [...new Set(SURVIVORS.map(({ file }) => file))];
  const known = new Set(files.length === 0 ? [] : mutantsOf(files).map(({ file, id }) => `${file} ${id}`));
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
