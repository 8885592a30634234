// The tutorial runs as written, with a package cache of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';

test('the tutorial runs as written', { skip: tutorialSkip(), timeout: 240_000 }, async (t) => {
  const cache = mkdtempSync(join(tmpdir(), 'capstan-packages-'));
  t.after(() => rmSync(cache, { recursive: true, force: true }));
  await runTutorial({ page: 'crossplane.md', env: { XPKG_CACHE_DIR: cache }, after: (end) => t.after(end) });
});
