// The real registry and skopeo of the tests: the programs of setup:real, started so that nothing of them is left behind.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createCa, issueCertificate } from '@capstan/kube';
import { freePort } from '@capstan/testing';

const folder = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'registry');
const program = join(folder, 'usr', 'bin', 'docker-registry');
const skopeoPath = join(folder, 'usr', 'bin', 'skopeo');

/** Why a test is left out, or false. */
export const skip =
  existsSync(join(folder, '.complete')) && existsSync(program)
    ? false
    : 'the real registry is not there: npm run setup:real -- registry';
export const skipSkopeo =
  skip !== false ? skip : skopeo('--version').status === 0 ? false : 'skopeo is not there, or does not run here';

export interface RealRegistry {
  /** Host and port. */
  readonly address: string;
  /** PEM of the authority of its certificate; empty when it speaks plain HTTP. */
  readonly ca: string;
  readonly caPath: string;
  stop(): Promise<void>;
}

/** Who may use a registry with passwords. The hash below is of this password. */
export const USER = { username: 'me', password: 'pw' };
const HTPASSWD = 'me:$2y$05$abcdefghijklmnopqrstuuHIrMEWpUCQe2YqFR3sXwQ75u4od..9q\n';

export async function startRealRegistry({ tls, password }: { tls: boolean; password: boolean }): Promise<RealRegistry> {
  const home = mkdtempSync(join(tmpdir(), 'capstan-real-registry-'));
  const port = await freePort();
  const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCa({ commonName: 'test authority', ...validity });
  const own = await issueCertificate({
    ca,
    commonName: 'registry',
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    ...validity,
  });
  const paths = {
    ca: join(home, 'ca.crt'),
    cert: join(home, 'tls.crt'),
    key: join(home, 'tls.key'),
    users: join(home, 'htpasswd'),
  };
  for (const [path, text] of [
    [paths.ca, ca.certificate],
    [paths.cert, own.certificate],
    [paths.key, own.key],
    [paths.users, HTPASSWD],
  ] as const)
    writeFileSync(path, text, { mode: 0o600 });
  const configuration = {
    version: 0.1,
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(home, 'data') } },
    http: { addr: `127.0.0.1:${port}`, ...(tls && { tls: { certificate: paths.cert, key: paths.key } }) },
    ...(password && { auth: { htpasswd: { realm: 'test', path: paths.users } } }),
  };
  const configPath = join(home, 'config.yml');
  writeFileSync(configPath, JSON.stringify(configuration));
  const child = spawn(program, ['serve', configPath], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { OTEL_TRACES_EXPORTER: 'none' },
  });
  let detail = '';
  child.stderr.on('data', (chunk: Buffer) => {
    detail += chunk.toString();
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close');
  const address = `127.0.0.1:${port}`;
  const url = `${tls ? 'https' : 'http'}://${address}/v2/`;
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: { ca: ca.certificate } });
  for (let tries = 0; ; tries++) {
    const isUp = await request(url, { dispatcher }).then(
      async ({ body }) => {
        await body.dump();
        return true;
      },
      () => false,
    );
    if (isUp) break;
    if (tries > 200 || child.exitCode !== null) throw new Error(`the registry did not start: ${detail.slice(-2000)}`);
    await pause(50);
  }
  await dispatcher.close();
  return {
    address,
    ca: tls ? ca.certificate : '',
    caPath: paths.ca,
    async stop() {
      kill();
      await ended;
      process.off('exit', kill);
      rmSync(home, { recursive: true });
    },
  };
}

/** Runs skopeo with its own libraries. As root it remembers layers under /var/lib/containers. */
export function skopeo(...args: string[]) {
  return spawnSync(skopeoPath, ['--insecure-policy', ...args], {
    encoding: 'utf8',
    env: environment(),
    timeout: 60_000,
  });
}

/** The same, without stopping this process: for registries that run in it. Rejects with skopeo's message. */
export async function skopeoMeanwhile(...args: string[]): Promise<string> {
  const options = { env: environment(), timeout: 60_000 };
  const { stdout } = await promisify(execFile)(skopeoPath, ['--insecure-policy', ...args], options);
  return stdout;
}

function environment(): NodeJS.ProcessEnv {
  const libraries = join(folder, 'usr', 'lib');
  const own = existsSync(libraries) ? readdirSync(libraries).map((name) => join(libraries, name)) : [];
  return { ...process.env, LD_LIBRARY_PATH: own.join(':') };
}
