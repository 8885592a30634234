// Sessions of users with kubectl, recorded: each *.txt is a session of its own on a fresh cluster, commands behind `$ kubectl` and below
// each the output of kubectl. `stable` replaces the values that differ from run to run (times, ages, uids, versions, widths of columns).
// After an intended change: CAPSTAN_RECORD=1 node --test packages/apiserver/test/kubectl/*.ts, and read the difference. They were recorded
// with kubectl 1.32; other versions may word a line differently.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Client, ServiceAccount, systemClock } from '@capstan/kube';
import { findBinaries, startRealCluster } from '@capstan/testing';
import { startCluster } from '../../src/index.ts';

const KUBECTL = process.env['KUBECTL'] ?? 'kubectl';
const isRecording = process.env['CAPSTAN_RECORD'] === '1';
const here = import.meta.dirname;
const version = await run(KUBECTL, ['version', '--client'], {});
const binaries = findBinaries();
const noReal = 'missing' in binaries ? binaries.missing : false;
const skip =
  version.code === 0
    ? false
    : 'kubectl is not there: install it (any version from 1.30 on), or set KUBECTL to its path, to run these';

interface Outcome {
  code: number;
  output: string;
}

function run(program: string, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'] ?? '', ...env }, cwd: here, timeout: 30_000 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === 'number' ? error.code : 127) : 0;
      resolve({ code, output: stdout + stderr });
    });
    child.stdin?.end();
  });
}

/** Returns the output without the values that differ each time. */
function stable(text: string): string {
  return (
    text
      // Go's maps have no order: which undeclared fields are reported is chance.
      .replaceAll(
        /(typed patch object \([^)]*\): )(?:errors:\n {2})?(?:.*: field not declared in schema(?:\n {2})?)+/g,
        '$1<undeclared fields>',
      )
      // Kubernetes answers 500 to it without a reason; no client request causes a 500 here.
      .replaceAll('Error from server (BadRequest): failed to create typed', 'Error from server: failed to create typed')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
      .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>')
      .replaceAll(/resourceVersion: "\d+"/g, 'resourceVersion: "<version>"')
      .replaceAll(/Resource Version: +\d+/g, 'Resource Version: <version>')
      .replaceAll(/(Client|Kustomize) Version: v\S+/g, '$1 Version: <version>')
      .replaceAll(/(?<=\s)\d+s(?=\s|$)/gm, '<age>')
      .replaceAll(/(?:127|10)\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+/g, '<service-ip>')
      .replaceAll(/:3[0-2]\d{3}\/TCP/g, ':<node-port>/TCP')
      .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
      .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
      .replaceAll(/X509SHA256=[0-9a-f]{64}/g, 'X509SHA256=<certificate>')
      .replaceAll(/^(?:---|\+\+\+) \/.*$/gm, '<file>')
      .replaceAll(/^diff -u .*$/gm, '<diff>')
      .replaceAll(/^WARNING: version difference .*\n?/gm, '')
      .replaceAll(/(?<=\S) {2,}/g, '  ')
      .replaceAll(/[ \t]+$/gm, '')
      .trimEnd()
  );
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

interface Session {
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** The home folder of the session; kubectl caches its discovery there. */
  readonly home: string;
}

/** Returns the output of kubectl for a line of a session, without the values that differ each time, and its exit code unless 0. */
async function played(line: string, { kubectl, kubeconfig, home }: Session): Promise<string> {
  // Editors are given by the environment.
  const [, editor, rest = line] = /^KUBE_EDITOR='([^']*)' (.*)$/.exec(line) ?? [];
  const env = { KUBECONFIG: kubeconfig, HOME: home, ...(editor !== undefined && { KUBE_EDITOR: editor }) };
  const { code, output } = await run(kubectl, words(rest), env);
  return `${stable(output)}${code === 0 ? '' : `\n# exit ${code}`}`.trim();
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-kubectl-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function embedded(t: TestContext, kubectl: string): Promise<Session> {
  const home = temporaryFolder(t);
  const cluster = await startCluster({ clock: systemClock, random: () => 0.5, port: 0 });
  t.after(() => cluster.close());
  const kubeconfig = join(home, 'config');
  writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  return { kubectl, kubeconfig, home };
}

const files = readdirSync(here).filter((name) => name.endsWith('.txt'));

for (const file of files) {
  const { title, steps } = stepsOf(readFileSync(join(here, file), 'utf8'));
  test(`kubectl: ${title}`, { skip, timeout: 120_000 }, async (t) => {
    const session = await embedded(t, KUBECTL);
    const told: string[] = [];
    for (const { line, expected } of steps) {
      await t.test(line, async () => {
        const text = await played(line, session);
        told.push(`$ kubectl ${line}\n${text}`);
        if (!isRecording) assert.equal(text, expected.trim());
      });
    }
    if (isRecording) writeFileSync(join(here, file), `${title}\n\n${told.join('\n\n')}\n`);
  });
}

// The same sessions on a real server, with the kubectl that was built beside it: its output is compared with that on the embedded server.
for (const file of isRecording ? [] : files) {
  const { title, steps } = stepsOf(readFileSync(join(here, file), 'utf8'));
  test(`kubectl, on both servers: ${title}`, { skip: noReal, timeout: 240_000 }, async (t) => {
    const real = await startRealCluster({ controllers: CONTROLLERS });
    t.after(() => real.close());
    const kubectl = real.program('kubectl');
    const there: Session = { kubectl, kubeconfig: real.kubeconfigFile, home: temporaryFolder(t) };
    const here = await embedded(t, kubectl);
    await untilAccount(real.client);
    for (const { line } of steps) {
      const known = KNOWN.find((one) => one.line.test(line));
      await t.test(known ? `${line} (${known.why})` : line, async () => {
        const [ours, theirs] = [await played(line, here), withoutOwn(await played(line, there))];
        if (known) assert.notEqual(ours, theirs, 'it does not differ any more: take it out of the list');
        else assert.equal(ours, theirs);
      });
    }
  });
}

/** The controllers that the embedded server runs itself, and no workload controllers: a session shows the API server's behaviour. */
const CONTROLLERS = [
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'garbage-collector-controller',
  'namespace-controller',
];

async function untilAccount(client: Client): Promise<void> {
  const ref = { namespace: 'default', name: 'default' };
  while ((await client.find(ServiceAccount, ref)) === undefined)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Commands whose output differs for a reason that docs/embedded-differences.md gives. */
const KNOWN: readonly { line: RegExp; why: string }[] = [
  { line: /^version$/, why: 'the version says that it is embedded' },
  { line: /^api-(?:versions|resources)/, why: 'not every kind is served' },
  { line: /^explain (?:deployment|configmap)/, why: 'descriptions are our own' },
  { line: /--clusterip=/, why: 'Services have another range of addresses' },
];

/**
 * Removes the objects that a real server creates for itself at its start, and the embedded one does not need: its Service, and the Events
 * about that Service (its repair loop records one when it runs before the Service's address is allocated).
 */
function withoutOwn(text: string): string {
  const lines = text.split('\n');
  const left = lines.filter(
    (line) => !/^(?:default {2}|service\/)?kubernetes {2}|^<age> {2}\w+ {2}\w+ {2}service\/kubernetes {2}/.test(line),
  );
  // A table of which only the head is left.
  const isEmpty = left.length < lines.length && left.length === 1 && /^(?:NAME|LAST SEEN) {2}/.test(left[0] ?? '');
  return isEmpty ? 'No resources found in default namespace.' : left.join('\n');
}

test('objects that a real server makes for itself are left out of the comparison', () => {
  const event =
    '<age>  Warning  ClusterIPNotAllocated  service/kubernetes  Cluster IP [IPv4]: <service-ip> is not allocated';
  const head = 'LAST SEEN  TYPE  REASON  OBJECT  MESSAGE';
  assert.equal(withoutOwn(`${head}\n${event}`), 'No resources found in default namespace.');
  const other = '<age>  Warning  Odd  service/web  kubernetes is not web';
  assert.equal(withoutOwn(`${head}\n${event}\n${other}`), `${head}\n${other}`);
});
