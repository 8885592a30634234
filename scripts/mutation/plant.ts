import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A mistake in one file: the text that it replaces must occur there exactly once. */
export interface PlantedFault {
  /** The mistake, in a few words. */
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The tests that are nearest; at least one must fail. */
  readonly tests: readonly string[];
}

export interface Outcome {
  readonly fault: PlantedFault;
  /** `unusable`: the text is not there once, or the tests fail without the fault. */
  readonly result: 'noticed' | 'missed' | 'unusable';
  readonly seconds: number;
}

const ROOT = new URL('../../', import.meta.url).pathname;
/** A fault may keep a test from ending: that counts as noticed. */
const LIMIT_MS = 120_000;

/** Plants one fault after the other in a copy of the workspace, and removes the copy. */
export async function plantAll(faults: readonly PlantedFault[], report: (outcome: Outcome) => void): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), 'capstan-mutate-'));
  try {
    await copyWorkspace(copy);
    const sound = new Map<string, boolean>();
    for (const fault of faults) {
      const begun = performance.now();
      const result = await plant(fault, copy, sound);
      report({ fault, result, seconds: (performance.now() - begun) / 1000 });
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function plant(fault: PlantedFault, copy: string, sound: Map<string, boolean>): Promise<Outcome['result']> {
  const path = join(copy, fault.file);
  const text = await readFile(path, 'utf8');
  if (text.split(fault.from).length !== 2) return 'unusable';
  for (const test of fault.tests) {
    if (!sound.has(test)) sound.set(test, await passes([test], copy));
    if (sound.get(test) === false) return 'unusable';
  }
  await writeFile(
    path,
    text.replace(fault.from, () => fault.to),
  );
  try {
    return (await passes(fault.tests, copy)) ? 'missed' : 'noticed';
  } finally {
    await writeFile(path, text);
  }
}

function passes(tests: readonly string[], copy: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const child = spawn(process.execPath, ['--test', '--test-reporter=dot', ...tests], {
      cwd: copy,
      stdio: 'ignore',
      env: { ...env, CAPSTAN_TEST_SERVER: 'embedded' },
      detached: true,
    });
    const timer = setTimeout(() => endGroup(child.pid), LIMIT_MS);
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

/** The runner starts a process for each file: all of them belong to its group. */
function endGroup(pid: number | undefined): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

/** The packages are copied; their dependencies are linked. */
async function copyWorkspace(copy: string): Promise<void> {
  const skipped = /(^|\/)(node_modules|dist|\.git)(\/|$)/;
  const filter = (source: string) => !skipped.test(source.slice(ROOT.length));
  for (const name of ['packages', 'package.json', 'tsconfig.json'])
    await cp(join(ROOT, name), join(copy, name), { recursive: true, filter });
  const modules = join(copy, 'node_modules');
  await mkdir(join(modules, '@capstan'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '@capstan') await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  for (const name of await readdir(join(copy, 'packages')))
    await symlink(join(copy, 'packages', name), join(modules, '@capstan', name));
}
