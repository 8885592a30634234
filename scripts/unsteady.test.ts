import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from './workspace-files.ts';

describe('the record of unsteady test files', () => {
  const rows = [
    ...readFileSync(join(root, '.ci/unsteady.md'), 'utf8').matchAll(/^\| (\d{4}-\S+) \| (\S+) \| (\w+) \| (.+) \|$/gm),
  ];
  const lines = readFileSync(join(root, '.ci/unsteady.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| \d/.test(line));

  test('every line has a date, a file of the repository, a server and a reason', () => {
    assert.equal(rows.length, lines.length, 'a line does not have the four columns');
    for (const [, , file = ''] of rows)
      assert.ok(existsSync(join(root, file)), `${file} does not exist; remove its line`);
  });

  test('no test file is recorded twice', () => {
    const files = rows.map(([, , file = '']) => file);
    const twice = files.filter((file, index) => files.indexOf(file) !== index);
    assert.deepEqual(twice, [], 'fix the cause or delete the test file, and remove its lines');
  });
});
