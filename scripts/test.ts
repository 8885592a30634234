// Runs every test of the workspace with Node's own runner. Arguments: file globs (default all), or node --test options.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';

const root = dirname(import.meta.dirname);
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const everywhere = ['packages', 'operators', 'apps', 'bench', 'scripts', 'docs'].map(
  (folder) => `${folder}/**/*.test.ts`,
);
const files = globSync(wanted.length > 0 ? wanted : everywhere, {
  cwd: root,
  exclude: (name) => name.includes('node_modules'),
}).toSorted();
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(' ')}`);
  process.exit(1);
}
// As many files at a time as there are cores: Node's own default leaves one idle.
const concurrency = `--test-concurrency=${availableParallelism()}`;
const args = ['--disable-warning=ExperimentalWarning', '--test', concurrency, ...options, ...files];
const runner = spawn(process.execPath, args, {
  cwd: root,
  stdio: 'inherit',
});
runner.on('exit', (code) => process.exit(code ?? 1));
