// Runs every test of the workspace with Node's own runner. Arguments: folders or file globs (default all), --full (all seeds of long
// simulations, kills and generated sequences), --peer=NAME (only the tests that a peer of `npm run setup:real` lets run; with `kubernetes`
// also those on a stage, on the real server), --repeat-failures (a file that fails beside the others is run once more, alone, and is
// reported as unsteady when it passes then; also in the file that CAPSTAN_UNSTEADY names), --share=N (on the real server, every Nth of the
// files on a stage runs, and others at the next commit: after N commits all have run), or node --test options. Tests that play on a stage
// (createStage) name no server: they run on the embedded one, and a second time on a real kube-apiserver where there is one.
// CAPSTAN_TEST_SERVER=embedded or =real chooses one of the two. Files with the comment `On the embedded server only: WHY.` are left out of
// the second run, which reports them. Stages record the rights that programs use. When all tests of an operator on stages ran and none
// failed, a right of its generated role that none of them used fails the run (scripts/rights.ts).
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { Operator } from '@capstan/reconcile';
import { findBinaries } from '@capstan/testing/binaries';
import { filesWith } from './test-peers.ts';

const root = dirname(import.meta.dirname);
const isFull = process.argv.includes('--full');
const PEER = '--peer=';
const peer = process.argv.find((argument) => argument.startsWith(PEER))?.slice(PEER.length);
const REPEAT = '--repeat-failures';
const repeats = process.argv.includes(REPEAT);
const SHARE = '--share=';
const share = Number(process.argv.find((argument) => argument.startsWith(SHARE))?.slice(SHARE.length) ?? 1);
const isOwn = (argument: string) =>
  argument === '--full' || argument === REPEAT || argument.startsWith(PEER) || argument.startsWith(SHARE);
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-') && !isOwn(argument));
const testsIn = (folder: string) => join(folder, '**/*.test.ts');
const wanted = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith('-'))
  .map((argument) =>
    statSync(join(root, argument), { throwIfNoEntry: false })?.isDirectory() ? testsIn(argument) : argument,
  );
const everywhere = ['packages', 'operators', 'apps', 'bench', 'scripts', 'docs'].map(testsIn);
const files = globSync(wanted.length > 0 ? wanted : everywhere, {
  cwd: root,
  exclude: (name) => name.includes('node_modules'),
}).toSorted();
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(' ')}`);
  process.exit(1);
}

// The one that imports it by name imports the one of @capstan/testing.
const STAGE = /import \{[^}]*\b(?:createStage|createLives)\b[^}]*\} from '(?:@capstan\/testing|\.\/stage\.ts)'/;
const EMBEDDED_ONLY = /^\/\/ .*On the embedded server only: /m;
const WAITING_FILES = 2;
/**
 * A test that has not ended after five minutes fails, and the others continue: the longest file takes little more than one. Resources that
 * a test left open (a stage, a server under it) do not keep its file from ending.
 */
const LIMITS = ['--test-force-exit', '--test-timeout=300000'];
/** More failing files than this are no matter of load. */
const MOST_REPEATED = 6;
const chosen = process.env['CAPSTAN_TEST_SERVER'];
const onStage = files.filter(playsOnStage);
const onBoth = onStage.filter((file) => !EMBEDDED_ONLY.test(readFileSync(join(root, file), 'utf8')));
const turn = commitNumber() % share;
const staged = onBoth.filter((_, index) => index % share === turn);
const binaries = findBinaries();
const servers: string[] = [];
const unsteady: string[] = [];
let failed = 0;

const first = peer === undefined ? files : filesWith(peer, files, root);
if (first.length === 0) {
  console.error(`no test needs ${peer}; npm run -s setup:real -- --list names the peers`);
  process.exit(1);
}
const rightsFolder = mkdtempSync(join(tmpdir(), 'capstan-rights-'));
if (chosen !== 'real') {
  failed = await run('embedded', first, isFull ? [] : LIMITS);
  servers.push(`the embedded server (${first.length} files)`);
  if (failed === 0 && options.length === 0) failed = await compareRights(first);
}
rmSync(rightsFolder, { recursive: true });
if (chosen !== 'embedded' && staged.length > 0 && (peer ?? 'kubernetes') === 'kubernetes') {
  if ('missing' in binaries) servers.push(`not on a real server (${binaries.missing})`);
  else {
    const code = await run('real', staged, LIMITS);
    failed ||= code;
    const left = onStage.length - onBoth.length;
    const others = left === 0 ? '' : `, all but ${left}, which ${left === 1 ? 'says' : 'say'} why`;
    const part = share === 1 ? '' : ` of ${onBoth.length}`;
    servers.push(`a real kube-apiserver with etcd (${staged.length}${part} files whose tests name no server${others})`);
  }
}
console.log(`\nTests ran on: ${servers.join('; ')}.`);
for (const line of unsteady) console.log(`Unsteady, failed beside other tests and passed alone: ${line}`);
const unsteadyFile = process.env['CAPSTAN_UNSTEADY'];
if (unsteadyFile !== undefined) appendFileSync(unsteadyFile, unsteady.map((line) => `${line}\n`).join(''));
process.exit(failed);

/** How many commits there are: the next one takes another share. 0 outside of a checkout. */
function commitNumber(): number {
  const { status, stdout } = spawnSync('git', ['rev-list', '--count', 'HEAD'], { cwd: root, encoding: 'utf8' });
  return status === 0 ? Number(stdout) : 0;
}

type Server = 'embedded' | 'real';

/** Compares the rights of operators whose tests on stages all ran with those that were used; 1 when a right was not. */
async function compareRights(ran: readonly string[]): Promise<number> {
  const ofOperators = globSync('operators/**/*.test.ts', {
    cwd: root,
    exclude: (name) => name.includes('node_modules'),
  });
  const onStages = ofOperators.filter(playsOnStage);
  const names = new Set(ofOperators.map((file) => file.split('/')[1] ?? ''));
  const complete = [...names].filter((name) =>
    onStages.filter((file) => file.startsWith(`operators/${name}/`)).every((file) => ran.includes(file)),
  );
  if (complete.length === 0) return 0;
  const { rightsProblems, usedRights } = await import('./rights.ts');
  const load = async (name: string) => ((await import(`@capstan/${name}`)) as { readonly default: Operator }).default;
  const operators = await Promise.all(complete.map(load));
  const problems = rightsProblems(operators, usedRights(rightsFolder));
  for (const problem of problems) console.error(`Rights: ${problem}`);
  if (problems.length === 0) console.log(`\nEvery right of the roles of ${complete.join(', ')} was used.`);
  return problems.length === 0 ? 0 : 1;
}

async function run(server: Server, tests: readonly string[], more: readonly string[]): Promise<number> {
  // More files at a time than there are cores: some wait most of their time for programs that they started.
  const { code, failing } = await runOnce(server, tests, more, availableParallelism() + WAITING_FILES);
  if (code === 0 || !repeats || failing.length === 0 || failing.length > MOST_REPEATED) return code;
  console.log(`\nRunning again, alone: ${failing.join(', ')}`);
  const again = await runOnce(server, failing, more, 1);
  if (again.code !== 0) return again.code;
  const today = new Date().toISOString().slice(0, 10);
  unsteady.push(...failing.map((file) => `| ${today} | ${file} | ${server} | REASON |`));
  return 0;
}

async function runOnce(
  server: Server,
  tests: readonly string[],
  more: readonly string[],
  concurrent: number,
): Promise<{ code: number; failing: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-test-'));
  const list = join(folder, 'failed-files');
  const concurrency = `--test-concurrency=${concurrent}`;
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
  const env = {
    // Every file has a process of its own: without this each would strip and compile the same modules again.
    NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    ...process.env,
    CAPSTAN_TEST_SERVER: server,
    CAPSTAN_FAILED_FILES: list,
    ...(server === 'embedded' && { CAPSTAN_RIGHTS: rightsFolder }),
    ...(isFull && { CAPSTAN_FULL: 'true' }),
  };
  const runner = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  const code = await new Promise<number>((resolve) => {
    runner.on('exit', (exitCode) => resolve(exitCode ?? 1));
  });
  const failing = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : [];
  rmSync(folder, { recursive: true });
  return { code, failing: failing.map((file) => relative(root, resolve(root, file))) };
}

/** Returns whether a test file, or an import from its own folder, plays on the stage that can stand on both servers. */
function playsOnStage(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8');
  if (STAGE.test(text)) return true;
  const beside = [...text.matchAll(/from '(\.\.?\/[^']+\.ts)'/g)].map(([, path = '']) =>
    join(root, dirname(file), path),
  );
  // A text in a test may look like an import.
  return beside.some((path) => existsSync(path) && STAGE.test(readFileSync(path, 'utf8')));
}
