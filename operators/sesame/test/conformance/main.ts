// Runs the Gateway API's own conformance suite (npm run setup:real -- gateway-conformance) against Sesame through a real Envoy, on
// an embedded cluster whose node runs the suite's backends, Sesame and Envoy as processes.
//
//   npm run conformance -- gateway                          all profiles: one Sesame and one Envoy for each Gateway
//   npm run conformance -- gateway --shared                 the same with one Sesame and one Envoy for all, which is quicker
//   npm run conformance -- gateway HTTPRouteWeight …        single tests
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { SUPPORTED_FEATURES } from '../../src/gateway/index.ts';
import { missingEnvoy } from '../real/envoy.ts';
import { provisionedStage } from './provisioned-stage.ts';
import { sharedStage } from './shared-stage.ts';
import { CLASS } from './stage.ts';
import { summary } from './summary.ts';

const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const peer = join(real, 'gateway-conformance');
const suite = join(peer, 'gateway-conformance');
const PROFILES = ['GATEWAY-HTTP', 'GATEWAY-TLS', 'GATEWAY-GRPC', 'GATEWAY-TCP'];
const LIMIT = '60m';
/** On loopback, and one of a network for documentation that this machine does not have. */
const USABLE = '127.113.200.1';
const UNUSABLE = '192.0.2.1';
/** Need an instance of their own. */
const PROVISIONED_ONLY = new Set(['GatewayInfrastructure', 'GatewayStaticAddresses']);

const missing = existsSync(suite)
  ? missingEnvoy()
  : 'the suite is not there; npm run setup:real -- gateway-conformance builds it';
if (missing !== false) {
  console.error(`gateway: ${missing}`);
  process.exit(1);
}

const isShared = process.argv.includes('--shared');
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
// Short, because paths of sockets below it must not have more than 107 bytes.
const folder = await mkdtemp(join(tmpdir(), 'g'));
const keptLogs = process.env['CAPSTAN_CONFORMANCE_LOGS'];
const suiteLog = join(keptLogs ?? folder, 'gateway-suite.log');
const reportFile = process.env['CAPSTAN_CONFORMANCE_REPORT'] ?? join(keptLogs ?? folder, 'gateway-report.yaml');

const stage = await (isShared ? sharedStage : provisionedStage)({ folder, logs: keptLogs, peer });
let code = 1;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.end().finally(() => process.exit(130)));
try {
  console.log(`gateway: running ${wanted.length === 0 ? PROFILES.join(', ') : wanted.join(', ')}`);
  code = 0;
  // One process for all, or one after the other for single tests.
  for (const name of wanted.length === 0 ? [undefined] : wanted) code = Math.max(code, await runSuite(name));
  for (const line of stage.refused()) console.log(`refused by Envoy: ${line}`);
} finally {
  await stage.end();
}
console.log(summary(await readFile(suiteLog, 'utf8')));
if (existsSync(reportFile)) console.log(`\n${await readFile(reportFile, 'utf8')}`);
await rm(folder, { recursive: true, force: true });
process.exit(code);

async function runSuite(test: string | undefined): Promise<number> {
  const features = SUPPORTED_FEATURES.filter((feature) => !isShared || !PROVISIONED_ONLY.has(feature));
  const args = [
    '-test.v',
    '-test.run=TestConformance',
    `-test.timeout=${LIMIT}`,
    `--gateway-class=${CLASS}`,
    `--supported-features=${features.join(',')}`,
    `--conformance-profiles=${PROFILES.join(',')}`,
    '--organization=capstan',
    '--project=capstan',
    '--url=https://capstan.dev',
    '--version=v0.1.0',
    '--contact=@capstan/maintainers',
    `--usable-address=${USABLE}`,
    `--unusable-address=${UNUSABLE}`,
    `--report-output=${reportFile}`,
    '--cleanup-base-resources=false',
    // Each Gateway starts processes: many at once would wait for one another.
    ...(isShared ? [] : ['--disable-parallel-tests']),
    ...(test === undefined ? [] : [`--run-test=${test}`]),
  ];
  const child = spawn(suite, args, {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: stage.kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(suiteLog, { flags: 'a' });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  await once(child, 'exit');
  await new Promise<void>((resolve) => log.end(() => resolve()));
  return child.exitCode ?? 1;
}
