// Runs every test of the workspace with Node's own runner. Arguments: file globs (default all), --full (all seeds of long
// simulations, kills and generated sequences), or node --test options.
// Tests that play on a stage (createStage) name no server: they run on the embedded one, and a second time on a real
// kube-apiserver where there is one. CAPSTAN_TEST_SERVER=embedded or =real chooses one of the two. Files whose comment says
// `On the embedded server only: WHY.` are left out of the second run, which tells so.
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { findBinaries } from '@capstan/testing/binaries';

const root = dirname(import.meta.dirname);
const isFull = process.argv.includes('--full');
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-') && argument !== '--full');
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

// Whoever imports it by name imports the one of @capstan/testing.
const STAGE = /import \{[^}]*\b(?:createStage|createLives)\b[^}]*\} from '(?:@capstan\/testing|\.\/stage\.ts)'/;
const EMBEDDED_ONLY = /^\/\/ .*On the embedded server only: /m;
const chosen = process.env['CAPSTAN_TEST_SERVER'];
const onStage = files.filter(playsOnStage);
const staged = onStage.filter((file) => !EMBEDDED_ONLY.test(readFileSync(join(root, file), 'utf8')));
const binaries = findBinaries();
const told: string[] = [];
let failed = 0;

if (chosen !== 'real') {
  failed = await run('embedded', files, []);
  told.push(`the embedded server (${files.length} files)`);
}
if (chosen !== 'embedded' && staged.length > 0) {
  if ('missing' in binaries) told.push(`not on a real server (${binaries.missing})`);
  else {
    // A stage that a failed test left open would keep its file, and the server under it, from ending.
    const code = await run('real', staged, ['--test-force-exit', '--test-timeout=240000']);
    failed ||= code;
    const left = onStage.length - staged.length;
    const others = left === 0 ? '' : `, all but ${left}, which ${left === 1 ? 'says' : 'say'} why`;
    told.push(`a real kube-apiserver with etcd (${staged.length} files whose tests name no server${others})`);
  }
}
console.log(`\nTests ran on: ${told.join('; ')}.`);
process.exit(failed);

function run(server: 'embedded' | 'real', tests: readonly string[], more: readonly string[]): Promise<number> {
  // As many files at a time as there are cores: Node's own default leaves one idle.
  const concurrency = `--test-concurrency=${availableParallelism()}`;
  const reporters = [
    ['spec', 'stdout'],
    [join(import.meta.dirname, 'failures.mjs'), 'stderr'],
  ].flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]);
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--test',
    concurrency,
    ...reporters,
    ...more,
    ...options,
    ...tests,
  ];
  const env = { ...process.env, CAPSTAN_TEST_SERVER: server, ...(isFull && { CAPSTAN_FULL: 'true' }) };
  const runner = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  return new Promise((resolve) => {
    runner.on('exit', (code) => resolve(code ?? 1));
  });
}

/** Whether a test file, or what it imports from its own folder, plays on the stage that can stand on both servers. */
function playsOnStage(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8');
  if (STAGE.test(text)) return true;
  const beside = [...text.matchAll(/from '(\.\.?\/[^']+\.ts)'/g)].map(([, path = '']) =>
    join(root, dirname(file), path),
  );
  // What looks like an import may be a text in a test.
  return beside.some((path) => existsSync(path) && STAGE.test(readFileSync(path, 'utf8')));
}
