// Everything a machine can say about the code without running it: format, types, lint. `--fix` corrects what can be corrected.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
const fix = process.argv.includes('--fix');
const steps: [title: string, command: string, ...args: string[]][] = [
  ['format', 'biome', 'check', ...(fix ? ['--write'] : []), '.'],
  ['types', 'tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings', ...(fix ? ['--fix'] : [])],
];
let failed = false;
for (const [title, command, ...args] of steps) {
  const started = performance.now();
  const result = spawnSync(join(root, 'node_modules', '.bin', command), args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${title}: ${result.status === 0 ? 'ok' : 'not ok'} (${seconds} s)`);
  failed ||= result.status !== 0;
}
process.exit(failed ? 1 : 0);
