// The real Keystone and the real Octavia API on loopback, from Debian's packages that `npm run setup:real -- openstack` unpacked.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@capstan/testing';

const REAL = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'openstack');
const ROOT = join(REAL, 'root');
const PYTHON = '/usr/bin/python3';

/** Why it cannot run here; undefined when it can. */
export const missing =
  existsSync(join(ROOT, 'usr/bin/octavia-api')) && existsSync(PYTHON)
    ? undefined
    : 'Keystone and Octavia are not there: npm run setup:real -- openstack';

export interface RealCloud {
  /** The address of Keystone, with /v3. */
  readonly authUrl: string;
  readonly password: string;
  /** As the administrator. Octavia's paths begin after /v2/lbaas; retried while a load balancer is being changed. */
  identity(method: string, path: string, body?: unknown): Promise<Answer>;
  balancer(method: string, path: string, body?: unknown): Promise<Answer>;
  close(): Promise<void>;
}

export type Answer = Record<string, Record<string, string>>;

const PASSWORD = 'an administrator’s';

export async function startRealCloud(): Promise<RealCloud> {
  const folder = mkdtempSync(join(tmpdir(), 'openstack-'));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children) {
      if (child.exitCode !== null) continue;
      const over = once(child, 'close');
      child.kill('SIGKILL');
      await over;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [keystonePort, octaviaPort] = [await freePort(), await freePort()];
    // Creating the databases takes half a minute. All tests share the cache, and only its set-up writes there: a test copies the databases
    // that it finds, or creates its own.
    const seed = join(REAL, 'databases');
    if (existsSync(seed)) {
      cpSync(seed, folder, { recursive: true });
      configure(folder, keystonePort);
    } else createDatabases(folder, keystonePort);
    const start = (script: string, ...args: string[]) => {
      const child = spawn(PYTHON, [join(import.meta.dirname, script), ...args], {
        env: environment(),
        stdio: 'ignore',
      });
      children.push(child);
    };
    start('serve_keystone.py', join(folder, 'keystone.conf'), String(keystonePort));
    start('serve_octavia.py', join(folder, 'octavia.conf'), String(octaviaPort));
    start('stand_in_worker.py', join(folder, 'octavia.db'));
    const authUrl = `http://127.0.0.1:${keystonePort}/v3`;
    const octavia = `http://127.0.0.1:${octaviaPort}`;
    await Promise.all([answers(`${authUrl}/`), answers(`${octavia}/`)]);
    const token = await login(authUrl);
    // Octavia finds Keystone by the catalog, which was created before the port was known.
    const { endpoints } = (await ask(token, 'GET', `${authUrl}/endpoints`)) as unknown as {
      endpoints: { id: string }[];
    };
    for (const { id } of endpoints) {
      await ask(token, 'PATCH', `${authUrl}/endpoints/${id}`, { endpoint: { url: authUrl } });
    }
    const service = await ask(token, 'POST', `${authUrl}/services`, {
      service: { type: 'load-balancer', name: 'octavia' },
    });
    await ask(token, 'POST', `${authUrl}/endpoints`, {
      endpoint: { service_id: service['service']?.['id'], interface: 'public', region_id: 'RegionOne', url: octavia },
    });
    return {
      authUrl,
      password: PASSWORD,
      identity: (method, path, body) => ask(token, method, `${authUrl}${path}`, body),
      balancer: (method, path, body) => ask(token, method, `${octavia}/v2/lbaas${path}`, body),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function environment(): Record<string, string | undefined> {
  const packages = join(ROOT, 'usr/lib/python3/dist-packages');
  return { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' };
}

function createDatabases(folder: string, port: number): void {
  configure(folder, port);
  const { username } = userInfo();
  const group = execFileSync('id', ['-gn'], { encoding: 'utf8' }).trim();
  const run = (...args: string[]) =>
    execFileSync(PYTHON, args, { env: environment(), stdio: ['ignore', 'ignore', 'ignore'] });
  const manage = (...args: string[]) =>
    run(join(ROOT, 'usr/bin/keystone-manage'), '--config-file', join(folder, 'keystone.conf'), ...args);
  const owner = ['--keystone-user', username, '--keystone-group', group];
  const url = 'http://127.0.0.1/v3/';
  manage('db_sync');
  manage('fernet_setup', ...owner);
  manage('credential_setup', ...owner);
  const urls = ['admin', 'internal', 'public'].flatMap((name) => [`--bootstrap-${name}-url`, url]);
  manage('bootstrap', '--bootstrap-password', PASSWORD, '--bootstrap-region-id', 'RegionOne', ...urls);
  run(join(import.meta.dirname, 'serve_octavia.py'), join(folder, 'octavia.conf'), 'init');
  for (const name of ['keystone', 'octavia']) {
    run('-c', `import sqlite3; sqlite3.connect('${join(folder, name)}.db').execute('pragma journal_mode=wal')`);
  }
}

function configure(folder: string, keystonePort: number): void {
  for (const name of ['log', 'fernet', 'credential']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const login = `auth_url = http://127.0.0.1:${keystonePort}
auth_type = password
username = admin
password = ${PASSWORD}
project_name = admin
user_domain_name = Default
project_domain_name = Default`;
  writeFileSync(
    join(folder, 'keystone.conf'),
    `[DEFAULT]
log_dir = ${folder}/log
[database]
connection = sqlite:///${folder}/keystone.db?timeout=60
[token]
provider = fernet
[fernet_tokens]
key_repository = ${folder}/fernet
[credential]
key_repository = ${folder}/credential
`,
  );
  writeFileSync(join(folder, 'policy.yaml'), '{}');
  writeFileSync(
    join(folder, 'octavia.conf'),
    `[DEFAULT]
log_dir = ${folder}/log
transport_url = fake://
[api_settings]
auth_strategy = keystone
enabled_provider_drivers = noop_driver:noop
default_provider_driver = noop_driver
[database]
connection = sqlite:///${folder}/octavia.db?timeout=60
[controller_worker]
network_driver = network_noop_driver
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:${keystonePort}
${login}
[service_auth]
${login}
[oslo_policy]
policy_file = ${folder}/policy.yaml
`,
  );
}

/** Until it answers; the real thing starts in real time. */
async function answers(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const isThere = await fetch(url, { signal: AbortSignal.timeout(2000) }).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${url} does not answer`);
}

async function login(authUrl: string): Promise<string> {
  const domain = { name: 'Default' };
  const auth = {
    identity: { methods: ['password'], password: { user: { name: 'admin', domain, password: PASSWORD } } },
    scope: { project: { name: 'admin', domain } },
  };
  const answer = await fetch(`${authUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth }),
  });
  const token = answer.headers.get('x-subject-token');
  if (token === null) throw new Error(`the administrator cannot log in: ${answer.status} ${await answer.text()}`);
  return token;
}

async function ask(token: string, method: string, url: string, body?: unknown): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', 'x-auth-token': token },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.ok) return text === '' ? {} : (JSON.parse(text) as Answer);
    // A load balancer that is being changed cannot be changed. SQLite, unlike the databases of clouds, has one writer at a time.
    const isBusy = answer.status === 409 || (answer.status === 500 && text.includes('database is locked'));
    if (!isBusy || tries >= 50) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
