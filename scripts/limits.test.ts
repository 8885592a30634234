import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { AREAS } from './limits/limit-table.ts';
import { limitsPage, valueOf } from './limits/limits-page.ts';
import { CHECKED_FOLDERS, OTHER_CONSTANTS } from './limits/other-constants.ts';

const root = dirname(import.meta.dirname);
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('docs/limits.md is current; npm run generate:limits writes it', () => {
  assert.equal(read('docs/limits.md'), limitsPage(read));
});

test('each constant named MAX or LIMIT of a reader of outside bytes is in the table, or named with a reason', () => {
  const listed = new Set(
    AREAS.flatMap(({ limits }) => limits.map(({ file, name }) => `${file} ${name.split('.')[0]}`)),
  );
  const files = globSync(
    CHECKED_FOLDERS.map((folder) => `${folder}/**/*.ts`),
    { cwd: root },
  ).filter((file) => !file.includes('.test'));
  const found = files.flatMap((file) =>
    [...read(file).matchAll(/^(?:export )?const (\w*(?:MAX|LIMIT)\w*)(?:: \w+)? = [\d({]/gm)].map(
      ([, name]) => `${file} ${name}`,
    ),
  );
  assert.ok(found.length > 60, `${found.length} constants`);
  assert.deepEqual(
    found.filter((one) => !listed.has(one) && OTHER_CONSTANTS[one] === undefined),
    [],
  );
  assert.deepEqual(
    Object.keys(OTHER_CONSTANTS).filter((one) => !found.includes(one)),
    [],
    'constants that are gone',
  );
});

test('values are read from constants, their sums and products, fields and defaults of options', () => {
  const text =
    'const MIB = 1024 * 1024;\nconst A = 3 * MIB;\nconst B: Limits = { one: 16 * MIB, two: 2 ** 18 };\nconst C = 1_000 + 4096;\nfunction f({ maxD = 8 * 1024 ** 3, maxE = 5 }) {}\n';
  const values = ['A', 'B.one', 'B.two', 'C', 'maxD', 'maxE'].map((name) => valueOf({ file: 'x', name }, text));
  assert.deepEqual(values, [3 * 1024 ** 2, 16 * 1024 ** 2, 2 ** 18, 5096, 8 * 1024 ** 3, 5]);
  assert.throws(() => valueOf({ file: 'x', name: 'F' }, text), /x has no number F/);
});
