// The real proxy and a Kafka broker, from Maven's repositories. The proxy's own distribution is taken where it can be had;
// some mirrors have only older libraries, and then the runtime is put together from those, with a command line of ours.
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findJdk } from './find-jdk.ts';
import { copyWithDependencies, hasMaven, unpack } from './maven.ts';
import type { Peer, Report } from './peer.ts';
import { runProgram } from './run-program.ts';

const JAVA = 21;
const DISTRIBUTION = '0.23.0';
const RUNTIME = '0.12.0';
const KAFKA = '4.1.0';

const runtime = [
  'kroxylicious-runtime',
  'kroxylicious-multitenant',
  'kroxylicious-record-encryption',
  'kroxylicious-record-validation',
  'kroxylicious-simple-transform',
  'kroxylicious-kms-provider-hashicorp-vault',
].map((artifact) => `io.kroxylicious:${artifact}:${RUNTIME}`);

/** By the names that javac expects; the files of a package have others. */
const SOURCES: Readonly<Record<string, URL>> = {
  'Launcher.java': new URL('./java/Launcher.java', import.meta.url),
  'PodAddress.java': new URL('./java/PodAddress.java', import.meta.url),
};
const digestOfSources = Object.values(SOURCES)
  .reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256'))
  .digest('hex');

export const realKroxylicious: Peer = {
  what: 'the real Kafka proxy, and a Kafka broker behind it',
  size: 75,
  version: `kroxylicious ${DISTRIBUTION} or ${RUNTIME}, kafka ${KAFKA}, ${digestOfSources.slice(0, 12)}`,
  lacks() {
    if (findJdk(JAVA) === undefined)
      return `left out, because no Java development kit of ${JAVA} or newer is installed: install one, or let JAVA_HOME name it, and run this again`;
    if (!hasMaven())
      return 'left out, because Maven is not installed: install it (mvn on the PATH), and run this again';
    return undefined;
  },
  async fetch(folder, report) {
    const jdk = findJdk(JAVA);
    if (jdk === undefined) return false;
    symlinkSync(jdk, join(folder, 'java'));
    const proxy = (await fetchDistribution(folder, report)) ?? (await fetchRuntime(folder, report));
    if (proxy === undefined) return false;
    report(`kroxylicious: Kafka ${KAFKA} ...`);
    const kafka = [`org.apache.kafka:kafka_2.13:${KAFKA}`, 'org.slf4j:slf4j-simple:1.7.36'];
    if (!(await copyWithDependencies(kafka, join(folder, 'kafka'), report))) return false;
    const own = proxy.main === LAUNCHER ? ['PodAddress.java', 'Launcher.java'] : ['PodAddress.java'];
    if (!(await compile(folder, own, report))) return false;
    writeFileSync(join(folder, 'proxy.json'), JSON.stringify(proxy));
    writeFileSync(join(folder, FILES), JSON.stringify(sizesIn(folder)));
    return true;
  },
  isWhole(folder) {
    // The Java that it was set up with may be gone since.
    if (!existsSync(join(folder, FILES)) || !existsSync(join(folder, 'java', 'bin', 'java'))) return false;
    return readFileSync(join(folder, FILES), 'utf8') === JSON.stringify(sizesIn(folder));
  },
};

const FILES = 'files.json';

function sizesIn(folder: string): [file: string, bytes: number][] {
  const files = globSync(['proxy.json', '{classes,kafka,proxy}/**/*'], { cwd: folder }).toSorted();
  return files.map((file) => [file, statSync(join(folder, file)).size]);
}

/** The record of the download, in proxy.json: the program that starts the proxy reads it. */
interface FetchedProxy {
  readonly version: string;
  readonly main: string;
}

const LAUNCHER = 'Launcher';

async function fetchDistribution(folder: string, report: Report): Promise<FetchedProxy | undefined> {
  report(`kroxylicious: the proxy's distribution ${DISTRIBUTION} ...`);
  const unpacked = join(folder, 'distribution');
  const isThere = await unpack(`io.kroxylicious:kroxylicious-app:${DISTRIBUTION}:tar.gz:bin`, unpacked);
  const [libs] = globSync('{libs,*/libs}', { cwd: unpacked });
  if (isThere && libs !== undefined) renameSync(join(unpacked, libs), join(folder, 'proxy'));
  rmSync(unpacked, { recursive: true, force: true });
  if (!isThere || libs === undefined) return undefined;
  return { version: DISTRIBUTION, main: 'io.kroxylicious.app.Kroxylicious' };
}

async function fetchRuntime(folder: string, report: Report): Promise<FetchedProxy | undefined> {
  report(`kroxylicious: that cannot be had here; the proxy's libraries ${RUNTIME} instead ...`);
  const libraries = [...runtime, 'org.slf4j:slf4j-simple:2.0.17'];
  const isThere = await copyWithDependencies(libraries, join(folder, 'proxy'), report);
  return isThere ? { version: RUNTIME, main: LAUNCHER } : undefined;
}

async function compile(folder: string, files: readonly string[], report: Report): Promise<boolean> {
  report('kroxylicious: what gives the proxy the address of its pod ...');
  const classes = join(folder, 'classes');
  const services = join(classes, 'META-INF', 'services');
  mkdirSync(services, { recursive: true });
  writeFileSync(join(services, 'io.netty.bootstrap.ChannelInitializerExtension'), 'PodAddress\n');
  const sources = join(folder, 'sources');
  mkdirSync(sources);
  for (const [name, file] of Object.entries(SOURCES)) writeFileSync(join(sources, name), readFileSync(file));
  const args = ['-proc:none', '-d', classes, '-cp', join(folder, 'proxy', '*'), ...files];
  const { code, stderr } = await runProgram(join(folder, 'java', 'bin', 'javac'), args, { cwd: sources });
  rmSync(sources, { recursive: true });
  if (code !== 0) report(stderr.trim());
  return code === 0;
}
