// Checks format, types, lint, the structure of folders and the language of comments, without running the code. `--fix` corrects as much as the tools can.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { checkComments } from './comment-patterns.ts';

const root = dirname(import.meta.dirname);
const fix = process.argv.includes('--fix');
const steps: [title: string, command: string, ...args: string[]][] = [
  ['format', 'biome', 'check', ...(fix ? ['--write'] : []), '.'],
  ['types', 'tsc', '--noEmit', '-p', 'tsconfig.json'],
  // The page has the types of the browser, which the programs must not see.
  ['types of the page', 'tsc', '--noEmit', '-p', 'packages/console/src/client/tsconfig.json'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings', ...(fix ? ['--fix'] : [])],
  // npm test runs these too: a change that breaks them is seen before it is committed.
  ['structure', 'node', '--test', '--test-reporter=dot', 'scripts/folders.test.ts', 'scripts/layers.test.ts'],
];
let failed = false;
for (const [title, command, ...args] of steps) {
  const started = performance.now();
  const result = spawnSync(join(root, 'node_modules', '.bin', command), args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${title}: ${result.status === 0 ? 'ok' : 'not ok'} (${seconds} s)`);
  failed ||= result.status !== 0;
}
const commentsPass = checkComments(fix);
console.log(`comments: ${commentsPass ? 'ok' : 'not ok'}`);
process.exit(failed || !commentsPass ? 1 : 0);
