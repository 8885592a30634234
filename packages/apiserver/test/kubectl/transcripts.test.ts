// What people do with kubectl, recorded: each *.txt is a session of its own on a fresh cluster, commands behind `$ kubectl`
// and below each what kubectl prints. What differs from run to run (times, ages, uids, versions, widths of columns) is
// written as in `stable`. After a change that is meant: CAPSTAN_RECORD=1 node --test packages/apiserver/test/kubectl/*.ts,
// and read the difference. They were recorded with kubectl 1.32; other versions may word a line differently.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { startCluster } from '../../src/index.ts';

const KUBECTL = process.env['KUBECTL'] ?? 'kubectl';
const isRecording = process.env['CAPSTAN_RECORD'] === '1';
const here = import.meta.dirname;
const version = await run(['version', '--client'], {});
const skip =
  version.code === 0
    ? false
    : 'kubectl is not there: install it (any version from 1.30 on), or set KUBECTL to its path, to run these';

interface Outcome {
  code: number;
  output: string;
}

function run(args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'] ?? '', ...env }, cwd: here, timeout: 30_000 };
    const child = execFile(KUBECTL, args, options, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === 'number' ? error.code : 127) : 0;
      resolve({ code, output: stdout + stderr });
    });
    child.stdin?.end();
  });
}

/** The output without what is different each time. */
function stable(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
    .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>')
    .replaceAll(/resourceVersion: "\d+"/g, 'resourceVersion: "<version>"')
    .replaceAll(/Resource Version: +\d+/g, 'Resource Version: <version>')
    .replaceAll(/(Client|Kustomize) Version: v\S+/g, '$1 Version: <version>')
    .replaceAll(/(?<=\s)\d+s(?=\s|$)/gm, '<age>')
    .replaceAll(/127\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+/g, '<service-ip>')
    .replaceAll(/:3[0-2]\d{3}\/TCP/g, ':<node-port>/TCP')
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
    .replaceAll(/^(?:---|\+\+\+) \/.*$/gm, '<file>')
    .replaceAll(/^diff -u .*$/gm, '<diff>')
    .replaceAll(/^WARNING: version difference .*\n?/gm, '')
    .replaceAll(/(?<=\S) {2,}/g, '  ')
    .replaceAll(/[ \t]+$/gm, '')
    .trimEnd();
}

/** Words of a command line; quotes of one kind hold words together. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+='[^']*')|(\S+)/g)].map(
    ([, quoted, pair, word]) => quoted ?? pair?.replaceAll("'", '') ?? word ?? '',
  );
}

interface Step {
  line: string;
  expected: string;
}

function stepsOf(text: string): { title: string; steps: Step[] } {
  const [title = '', ...parts] = text.split(/^\$ kubectl /m);
  const steps = parts.map((part) => {
    const end = part.indexOf('\n');
    return { line: part.slice(0, end), expected: part.slice(end + 1).trimEnd() };
  });
  return { title: title.trim(), steps };
}

for (const file of readdirSync(here).filter((name) => name.endsWith('.txt'))) {
  const { title, steps } = stepsOf(readFileSync(join(here, file), 'utf8'));
  test(`kubectl: ${title}`, { skip, timeout: 120_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-kubectl-'));
    const cluster = await startCluster({ clock: systemClock, random: () => 0.5, port: 0 });
    t.after(async () => {
      await cluster.close();
      rmSync(folder, { recursive: true });
    });
    const kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    const told: string[] = [];
    for (const { line, expected } of steps) {
      await t.test(line, async () => {
        // Editors are given by the environment.
        const [, editor, rest = line] = /^KUBE_EDITOR='([^']*)' (.*)$/.exec(line) ?? [];
        const env = { KUBECONFIG: kubeconfig, HOME: folder, ...(editor !== undefined && { KUBE_EDITOR: editor }) };
        const { code, output } = await run(words(rest), env);
        const text = `${stable(output)}${code === 0 ? '' : `\n# exit ${code}`}`.trim();
        told.push(`$ kubectl ${line}\n${text}`);
        if (!isRecording) assert.equal(text, expected.trim());
      });
    }
    if (isRecording) writeFileSync(join(here, file), `${title}\n\n${told.join('\n\n')}\n`);
  });
}
