// A tutorial as a test: every `sh` block of its page, in its order, with the real kubectl on an embedded cluster of its own. The block
// without a language that follows one is its expected output (`…` stands for anything). Only reading commands are repeated until they show
// the expected output, as a reader would repeat them. A page of the package runs from the installed package, and each of its blocks as one
// paste: nothing is repeated.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startClusterProcess } from './cluster-process.ts';

export { startClusterProcess };

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const KUBECTL = process.env['KUBECTL'] ?? 'kubectl';
const PATIENCE_MS = 40_000;

interface Block {
  commands: string[];
  expected: string[];
}

export interface TutorialOptions {
  /** In docs/. */
  page: string;
  /** Runs the page of a package in its place: its first block installs the tarball that is in the folder above. */
  installed?: { readonly text: string; readonly tarball: string };
  /** Additional variables for the environment of the cluster. */
  env?: Readonly<Record<string, string>>;
  /** Called with a function that takes things down again. */
  after(end: () => Promise<void> | void): void;
}

/** Why it cannot run here; false when it can: for the `skip` of a test. */
export function tutorialSkip(): string | false {
  return spawnSync(KUBECTL, ['version', '--client']).status === 0
    ? false
    : 'kubectl is not there: install it (any version from 1.30 on), or set KUBECTL to its path, to run this';
}

/** Runs the page. The first block starts the cluster; the others follow, one after the other. */
export async function runTutorial({ page, installed, env = {}, after }: TutorialOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-tutorial-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const blocks = blocksOf(installed?.text ?? readFileSync(join(ROOT, 'docs', page), 'utf8'));
  assert.ok(blocks.length > 6);
  const place = `/tmp/capstan-${page.replace(/\.md$/, '')}`;
  const here = (command: string) => adapted(command, place, join(folder, 'tutorial'));
  const exports: string[] = [];
  let cwd = ROOT;
  if (installed !== undefined) {
    copyFileSync(installed.tarball, join(folder, basename(installed.tarball)));
    const [install] = blocks.splice(0, 1);
    const [enter = '', ...rest] = install?.commands ?? [];
    const own = /^mkdir (\S+) && cd \1$/.exec(enter)?.[1];
    assert.ok(own !== undefined, `the first block begins with ${enter}`);
    cwd = join(folder, own);
    mkdirSync(cwd);
    exports.push(...rest.filter((command) => command.startsWith('export ')));
    await runBlock(rest, [], { exports, cwd, env, isPasted: true });
  }
  const [start, ...others] = blocks;
  const script = [...exports, `exec ${here(start?.commands[0] ?? '')}`].join('\n');
  const stop = await startClusterProcess('bash', ['-c', script], {
    cwd,
    // Pods are simulated, on every machine.
    env: { CAPSTAN_REAL: join(folder, 'no-real-peers'), ...env },
  });
  after(stop);
  for (const { commands, expected } of others) {
    for (const command of commands) if (command.startsWith('export ')) exports.push(here(command));
    await runBlock(commands.map(here), expected, { exports, cwd, env, isPasted: installed !== undefined });
  }
}

/** The blocks to run, each with the lines that must be printed. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  for (const [, language, content = ''] of text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (language === 'sh') blocks.push({ commands: commandsOf(content), expected: [] });
    else blocks.at(-1)?.expected.push(...content.split('\n').filter((line) => line.trim() !== ''));
  }
  return blocks;
}

/** One command a line, with its here-document if it has one. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/^.*<<'(\w+)'\n[\s\S]*?^\1$|^.+$/gm)].map(([command]) => command);
}

/** The same command in a folder of the test's own, without npm between it and the program. */
function adapted(command: string, place: string, folder: string): string {
  return command
    .replaceAll(place, folder)
    .replaceAll(
      /(?<=^|\$\(|^until )npm run (?:-s )?(\w+) -- /gm,
      (_, script: string) => `"${process.execPath}" ${programOf(script)} `,
    )
    .replaceAll(/(?<=^|\$\(|^until )kubectl /gm, `"${KUBECTL}" `);
}

/** Returns the program that a script of the workspace runs. */
function programOf(script: string): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const program = scripts[script]?.split(' ').at(-1);
  assert.ok(program !== undefined, `npm run ${script} is not there`);
  return program;
}

interface BlockOptions {
  readonly exports: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The whole block is one script, and nothing is repeated. */
  readonly isPasted: boolean;
}

async function runBlock(commands: readonly string[], expected: readonly string[], options: BlockOptions) {
  const { exports, isPasted } = options;
  const outputs: string[] = [];
  const run = async (i: number) => {
    const { code, output } = await shell([...exports, commands[i] ?? ''].join('\n'), options);
    outputs[i] = output;
    return code;
  };
  // One stream, as a terminal shows it.
  if (isPasted) outputs.push((await shell(['exec 2>&1', ...exports, ...commands].join('\n'), options)).output);
  else
    for (const [i, command] of commands.entries())
      assert.equal((await run(i)) === 0 || isLooking(command), true, `${command}\n${outputs[i]}`);
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const missing = firstMissing(expected, outputs.join('\n'));
    if (missing === undefined) return;
    assert.ok(
      !isPasted && Date.now() < deadline && commands.some(isLooking),
      `after\n\n${commands.join('\n')}\n\nno line is\n\n${missing}\n\nin\n\n${outputs.join('\n')}`,
    );
    await pause(300);
    for (const [i, command] of commands.entries()) if (isLooking(command)) await run(i);
  }
}

function isLooking(command: string): boolean {
  return /^curl |^"[^"]+" (?:get|rollout (?:history|status)|apps\/capstan\/src\/(?:main|programs\/\w+)\.m?[jt]s (?:why|plan|status|backends|show|explain|diagnose|cable-policy (?:list|explain)))(?: |$)/.test(
    command,
  );
}

function shell(script: string, { cwd, env }: BlockOptions): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: PATIENCE_MS * 3, env: { ...process.env, ...env, NO_COLOR: '1' } };
    const child = execFile('bash', ['-c', script], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: stdout + stderr });
    });
    child.stdin?.end();
  });
}

/** The first expected line that does not follow those before it; widths of columns do not count. */
function firstMissing(expected: readonly string[], output: string): string | undefined {
  const lines = output.split('\n').map(plain);
  let at = 0;
  for (const line of expected) {
    const pattern = new RegExp(`^${plain(line).split('…').map(escaped).join('.*')}$`);
    const found = lines.findIndex((candidate, i) => i >= at && pattern.test(candidate));
    if (found < 0) return line;
    at = found + 1;
  }
  return undefined;
}

function plain(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
