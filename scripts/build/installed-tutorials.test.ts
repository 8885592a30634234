// The tutorials from the tarball, without a checkout: every block of the package's own pages is pasted as it stands.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';
import { buildProgramPackage } from './program-package.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const REAL = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache/capstan/real');
const withoutEnvoy = existsSync(join(REAL, 'envoy/envoy')) ? false : 'Envoy is not there: npm run setup:real -- envoy';
/** Each needs a cluster of its own; the last two need the most time. */
const PAGES = ['kroxylicious', 'crossplane', 'sesame', 'gimbal', 'submariner'];

describe('a tutorial of the package', { skip: tutorialSkip() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-tutorials-'));
  const built = join(folder, 'package');
  let tarball = '';
  before(async () => {
    await buildProgramPackage(ROOT, built);
    const to = join(folder, 'packed');
    mkdirSync(to);
    execFileSync('npm', ['pack', built, '--pack-destination', to, '--silent'], { stdio: 'pipe' });
    tarball = join(to, readdirSync(to)[0] ?? '');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const page of PAGES)
    test(`${page} works as it stands, pasted block by block`, {
      skip: page === 'sesame' ? withoutEnvoy : false,
      timeout: 400_000,
    }, async (t) => {
      const text = readFileSync(join(built, 'docs', `${page}.md`), 'utf8');
      assert.doesNotMatch(text, /\bnpm (?:start|run (?!bench))/);
      const env = {
        XPKG_CACHE_DIR: join(folder, 'packages'),
        ...(page === 'sesame' && { CAPSTAN_REAL: REAL }),
        // This Node.js is new enough, so the one that npm would fetch is not needed.
        npm_config_omit: 'optional',
        PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      };
      await runTutorial({ page: `${page}.md`, installed: { text, tarball }, env, after: (end) => t.after(end) });
    });
});
