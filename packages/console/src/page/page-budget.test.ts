import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { buildPage } from './build-page.ts';
import { CHUNK_BYTES, checkBudget, FIRST_LOAD_BYTES } from './page-budget.ts';

const file = (name: string, kilobytes: number) => ({ path: `/assets/${name}`, bytes: randomBytes(kilobytes * 1024) });
const output = (...imports: (readonly [path: string, kind: 'import-statement' | 'dynamic-import'])[]) => ({
  bytes: 0,
  inputs: {},
  exports: [],
  imports: imports.map(([path, kind]) => ({ path, kind })),
});

describe('the budget of the page', () => {
  it('counts scripts that the first one imports, and leaves out those that load later', () => {
    const files = [file('main.A.js', 10), file('chunk.B.js', 20), file('chunk.C.js', 100), file('style.D.css', 5)];
    const outputs = {
      'assets/main.A.js': output(['assets/chunk.B.js', 'import-statement'], ['assets/chunk.C.js', 'dynamic-import']),
      'assets/chunk.B.js': output(),
      'assets/chunk.C.js': output(['assets/chunk.B.js', 'import-statement']),
      'assets/style.D.css': output(),
    };
    const { firstLoad, largestChunk } = checkBudget(files, outputs);
    assert.ok(firstLoad > 35 * 1024 && firstLoad < 36 * 1024);
    assert.ok(largestChunk > 100 * 1024);
  });

  it('refuses a page that is too large', () => {
    assert.throws(() => checkBudget([file('main.A.js', 61)], { 'assets/main.A.js': output() }), {
      message: /first load/,
    });
    const outputs = { 'assets/main.A.js': output(), 'assets/chunk.B.js': output() };
    assert.throws(() => checkBudget([file('main.A.js', 1), file('chunk.B.js', 141)], outputs), { message: /chunk/ });
  });

  it('holds for the page', async () => {
    const { files } = await buildPage();
    assert.ok(files.length > 2 && FIRST_LOAD_BYTES < CHUNK_BYTES);
  });
});
