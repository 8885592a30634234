// Runs Kubernetes' own end-to-end tests (npm run setup:real -- e2e) with their stock client on embedded clusters. It prints the tests that
// passed, those that failed with the reason, and those of features that are not served.
//
//   npm run conformance                     everything in selection.ts
//   npm run conformance -- namespace.go     files whose path contains one of the texts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, writeKubeconfig } from '@capstan/apiserver';
import { connect, createClient, type Pod, silentLogger, systemClock } from '@capstan/kube';
import { createAddressPool, createControllers, createForwarder, createNode } from '../../src/index.ts';
import { ABSENT_IMAGES, NOT_SERVED, PARTS } from './selection.ts';

const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const program = join(real, 'e2e', 'e2e');
const kubectl = join(real, 'kubernetes', 'kubectl');
const NODES = ['one', 'two'];
const LIMIT = '40m';

interface SpecReport {
  State: string;
  LeafNodeType: string;
  LeafNodeText: string;
  ContainerHierarchyTexts: string[] | null;
  RunTime: number;
  Failure?: { Message: string; Location: { FileName: string; LineNumber: number } };
}

if (!existsSync(program)) {
  console.error('e2e: the tests are not there; npm run setup:real -- e2e builds them');
  process.exit(1);
}
const wanted = process.argv.slice(2);
const isWanted = (file: string) => wanted.length === 0 || wanted.some((text) => file.includes(text));
const parts = PARTS.map((part) => part.filter(isWanted)).filter((part) => part.length > 0);
const folder = await mkdtemp(join(tmpdir(), 'capstan-conformance-'));
const logs = process.env['CAPSTAN_CONFORMANCE_LOGS'] ?? folder;
const stopping = new AbortController();
const names = parts.map((_, index) => `part-${index}`);
const cluster = await startCluster({ clock: systemClock, random: Math.random, clusters: names, port: 0 });
const kubeconfig = join(folder, 'kubeconfig');
await writeKubeconfig(kubeconfig, cluster.kubeconfig);
const addresses = createAddressPool(Math.random);
const simulate = {
  isUnready: (pod: Pod) => pod.spec?.containers.some(({ image = '' }) => ABSENT_IMAGES.test(image)) === true,
};
const running: Promise<void>[] = [];
for (const { name, endpoint } of cluster.clusters) {
  const client = createClient({ transport: await connect({ env: {}, kubeconfig, homeDir: '/', context: name }) });
  const common = { client, clock: systemClock, random: Math.random, logger: silentLogger };
  running.push(createControllers(common).run(stopping.signal), createForwarder(common).run(stopping.signal));
  for (const node of NODES) {
    running.push(createNode({ ...common, name: node, addresses, apiServer: endpoint, simulate }).run(stopping.signal));
  }
}

const reports = (await Promise.all(parts.map((part, index) => runPart(part, names[index] ?? '')))).flat();
stopping.abort();
await Promise.allSettled(running);
await cluster.close();
if (process.env['CAPSTAN_CONFORMANCE_REPORT']) {
  await writeFile(process.env['CAPSTAN_CONFORMANCE_REPORT'], JSON.stringify(reports, null, 1));
}
await rm(folder, { recursive: true, force: true });
process.exit(print(reports));

async function runPart(part: readonly string[], name: string): Promise<SpecReport[]> {
  const found: SpecReport[] = [];
  for (const file of part) found.push(...(await runFile(file, name)));
  return found;
}

/** A process for each file: some tests end it where a kind is not served. */
async function runFile(file: string, context: string): Promise<SpecReport[]> {
  const name = file.replaceAll('/', '-');
  const report = join(folder, `${name}.json`);
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--context=${context}`,
    '--provider=skeleton',
    `--kubectl-path=${existsSync(kubectl) ? kubectl : 'kubectl'}`,
    '--ginkgo.label-filter=Conformance',
    `--ginkgo.timeout=${LIMIT}`,
    `--ginkgo.json-report=${report}`,
    '--ginkgo.silence-skips',
    '--ginkgo.no-color',
    `--ginkgo.skip=${NOT_SERVED.map(({ name: skipped }) => skipped.source).join('|')}`,
    `--ginkgo.focus-file=/${file}$`,
  ];
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(join(logs, `${name}.log`));
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  await once(child, 'exit');
  log.end();
  if (!existsSync(report)) {
    return [
      {
        State: 'panicked',
        LeafNodeType: 'It',
        LeafNodeText: `${file}: the process ended before its report`,
        ContainerHierarchyTexts: [],
        RunTime: 0,
      },
    ];
  }
  const [suite] = JSON.parse(await readFile(report, 'utf8')) as { SpecReports: SpecReport[] }[];
  return (suite?.SpecReports ?? []).filter(
    ({ State, LeafNodeType }) => LeafNodeType === 'It' && State !== 'skipped' && State !== 'pending',
  );
}

/** A table: passed, failed with the reason, not served. */
function print(all: readonly SpecReport[]): number {
  const failed = all.filter(({ State }) => State !== 'passed');
  for (const report of all) console.log(`${report.State.padEnd(10)} ${nameOf(report)}`);
  for (const { name, needs } of NOT_SERVED) console.log(`not served ${name.source}: needs ${needs}`);
  for (const report of failed) {
    console.log(`\n${nameOf(report)}\n  ${(report.Failure?.Message ?? '').split('\n').slice(0, 12).join('\n  ')}`);
  }
  console.log(
    `\n${all.length - failed.length} passed, ${failed.length} failed, ${NOT_SERVED.length} patterns not served`,
  );
  return failed.length === 0 ? 0 : 1;
}

function nameOf({ ContainerHierarchyTexts, LeafNodeText, RunTime }: SpecReport): string {
  const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText]
    .join(' ')
    .replaceAll(/ ?\[(Conformance|Serial|Slow)\]/g, '');
  return `${name} (${Math.round(RunTime / 1e9)} s)`;
}
