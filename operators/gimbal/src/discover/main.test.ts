import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from './version.ts';

// Reported at the end of the discoverer's own process, not in the one that fills the cache.
const TELL = `data:text/javascript,process.argv[1].endsWith('main.mjs') && process.on('exit', () => console.log(
  process.moduleLoadList.some((name) => name.includes('amaro')) ? 'compiler' : 'no compiler'))`;

test('a discoverer never has the compiler of TypeScript in its memory, not even at the first start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gimbal-cache-'));
  try {
    const { NODE_COMPILE_CACHE: _cache, NODE_DISABLE_COMPILE_CACHE: _off, ...env } = process.env;
    const start = () =>
      execFileSync(
        process.execPath,
        [`--import=${TELL.replaceAll(/\s+/g, ' ')}`, join(import.meta.dirname, 'main.mjs'), 'kubernetes', '--version'],
        { encoding: 'utf8', env: { ...env, TMPDIR: folder } },
      );
    const detail = `gimbal discover kubernetes ${VERSION}\nno compiler\n`;
    assert.equal(start(), detail, 'the first start');
    const filled = readdirSync(folder, { recursive: true }).length;
    assert.ok(filled > 50, `${filled} files in the cache`);
    assert.equal(start(), detail, 'the second start');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
