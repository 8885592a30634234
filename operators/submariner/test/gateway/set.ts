// A set of clusters as users create it: a broker, members that joined it by subctl, the operator in each, and gateways as
// processes. Secrets are given to gateways as files, as a kubelet does.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '@capstan/apiserver';
import {
  type Client,
  connect,
  createClient,
  type Kind,
  RoleBinding,
  Secret,
  ServiceAccount,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createManager } from '@capstan/reconcile';
import { startRealCluster } from '@capstan/testing';
import { parse, stringify } from 'yaml';
import { runSubctl } from '../../src/commands/index.ts';
import { tokenOf } from '../../src/deployment/broker-objects.ts';
import { GATEWAY } from '../../src/deployment/gateway-daemon-set.ts';
import { Gateway, MEMBER_NAMESPACE } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';
import type { TestGateway } from '../cables/underlay.ts';
import { until } from '../until.ts';

export interface ClusterSet {
  readonly folder: string;
  readonly brokerURL: string;
  /** The path of a kubeconfig of a member. */
  kubeconfig(member: string): string;
  client(name: string): Client;
  subctl(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Starts the gateway of a member; in a network namespace it has real cables. */
  gateway(member: string, network?: TestGateway, more?: GatewayOptions): Promise<GatewayProcess>;
  close(): Promise<void>;
}

export interface GatewayOptions {
  /** The name of its Node; by default that of the member. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The program and its arguments; by default the gateway of these sources. */
  readonly program?: readonly string[];
  /** A whole command in place of Node.js with a program: for gateways from an image. */
  readonly command?: readonly string[];
}

export interface ClusterSetOptions {
  /** The driver of the default policy. */
  readonly driver?: string;
  /** The broker and members that are on one real control plane; the others are on the embedded server. By default none. */
  readonly real?: readonly string[];
}

export interface GatewayProcess {
  readonly pid: number;
  readonly log: () => string;
  /** Returns the requests that its own cluster denied. */
  readonly denied: () => readonly string[];
  /** When the process began and ceased to be the active gateway, as it logged it. */
  readonly roles: () => readonly RoleChange[];
  /** When it was frozen or killed. */
  readonly stoppedAt: () => readonly number[];
  /** Freezes the process, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface RoleChange {
  readonly at: number;
  readonly isActive: boolean;
}

const SOURCES = join(import.meta.dirname, 'main.ts');

export async function createClusterSet(
  members: Readonly<Record<string, readonly string[]>>,
  { driver = 'vxlan', real = [] }: ClusterSetOptions = {},
): Promise<ClusterSet> {
  const folder = mkdtempSync(join(tmpdir(), 'submariner-set-'));
  const names = ['broker', ...Object.keys(members)];
  const controlPlane = real.length === 0 ? undefined : await startRealCluster();
  const embedded = names.filter((name) => !real.includes(name));
  const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: embedded });
  const config = joinKubeconfigs(cluster.kubeconfig, controlPlane?.kubeconfig, real);
  const kubeconfig = (context: string) => {
    const path = join(folder, `${context}.kubeconfig`);
    const text = stringify({ ...config, 'current-context': context }, { aliasDuplicateObjects: false });
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const brokerURL = config.clusters.find(({ name }) => name === 'broker')?.cluster.server ?? '';
  const own = new Map(
    cluster.clusters.map(({ name, server }) => [name, createClient({ transport: server.transport() })]),
  );
  const clients = new Map(own);
  if (controlPlane !== undefined) for (const name of real) clients.set(name, controlPlane.client);
  const client = (name: string) => {
    const found = clients.get(name);
    assert.ok(found);
    return found;
  };
  const stopping = new AbortController();
  const running: Promise<unknown>[] = [];
  const gateways = new Set<GatewayProcess>();
  const subctl = async (...argv: string[]) => {
    let [stdout, stderr] = ['', ''];
    const code = await runSubctl(argv, {
      stdout: (text) => {
        stdout += text;
      },
      stderr: (text) => {
        stderr += text;
      },
      env: { KUBECONFIG: kubeconfig('broker') },
      cwd: folder,
      files: {
        read: (path) => Promise.resolve(readFileSync(path, 'utf8')),
        write: (path, text) => writeFile(path, text, { mode: 0o600 }),
        stdin: () => Promise.resolve(''),
      },
      clock: systemClock,
      signal: stopping.signal,
      connect,
    });
    return { code, stdout, stderr };
  };
  /** A kubeconfig with the account that the operator made for gateways, so that they run under exactly its rights. */
  const gatewayKubeconfig = async (member: string) => {
    const account = { namespace: MEMBER_NAMESPACE, name: GATEWAY };
    const isThere = async () => {
      const kinds: readonly Kind[] = [ServiceAccount, RoleBinding];
      const found = await Promise.all(kinds.map((kind) => client(member).find(kind, account)));
      return found.every((object) => object !== undefined);
    };
    await until(`${member} has an account for its gateways`, 20_000, isThere);
    const token = await tokenOf({ client: client(member), signal: stopping.signal }, MEMBER_NAMESPACE, GATEWAY);
    const path = join(folder, `${member}-gateway.kubeconfig`);
    const users = [{ name: member, user: { token } }];
    writeFileSync(path, stringify({ ...config, users, 'current-context': member }, { aliasDuplicateObjects: false }), {
      mode: 0o600,
    });
    return path;
  };
  const set: ClusterSet = {
    folder,
    brokerURL,
    kubeconfig,
    client,
    subctl,
    async gateway(member, network, { node = `gateway-${member}`, env = {}, program = [SOURCES], command } = {}) {
      const secrets = join(folder, `secrets-${member}`);
      for (const name of ['submariner-broker-secret', 'submariner-ipsec-psk']) {
        mkdirSync(join(secrets, name), { recursive: true });
        const { data = {} } = await client(member).get(Secret, { namespace: MEMBER_NAMESPACE, name });
        for (const [key, value] of Object.entries(data))
          writeFileSync(join(secrets, name, key), Buffer.from(value, 'base64'), { mode: 0o600 });
      }
      const [pods = '', service = '', pods6 = ''] = network?.local.subnets ?? [];
      const own = [process.execPath, '--disable-warning=ExperimentalWarning', ...program];
      const [executable = '', ...args] = command ?? own;
      const child = spawn(executable, args, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          ...(process.env['CAPSTAN_REAL']
            ? { CAPSTAN_REAL: process.env['CAPSTAN_REAL'] }
            : { CAPSTAN_REAL: join(process.env['HOME'] ?? '', '.cache', 'capstan', 'real') }),
          KUBECONFIG: await gatewayKubeconfig(member),
          SUBMARINER_CLUSTERID: member,
          SUBMARINER_CABLEDRIVERS: 'vxlan,wireguard,ipsec',
          SUBMARINER_CABLEDRIVER: 'vxlan',
          SUBMARINER_COMBINEDCABLEDRIVERS: 'vxlan,ipsec',
          SUBMARINER_CLUSTERCIDR: [pods, pods6].filter((each) => each !== '').join(),
          SUBMARINER_SERVICECIDR: service,
          SUBMARINER_SECRETS_DIR: secrets,
          CE_IPSEC_PSKSECRET: 'submariner-ipsec-psk',
          BROKER_K8S_APISERVER: brokerURL,
          BROKER_K8S_SECRET: 'submariner-broker-secret',
          NODE_NAME: node,
          SUBMARINER_METRICSPORT: '0',
          ...(network !== undefined && {
            TEST_NAMESPACE: network.namespace,
            TEST_RUN_DIR: network.runDir,
            TEST_WIREGUARD_DEVICE: network.wireguardDevice,
          }),
          ...env,
        },
      });
      const running = processOf(child);
      gateways.add(running);
      return running;
    },
    async close() {
      for (const each of gateways) await each.kill('SIGTERM');
      const denied = [...gateways].flatMap((each) => each.denied());
      stopping.abort();
      await Promise.allSettled(running);
      for (const each of own.values()) await each.close();
      await cluster.close();
      await controlPlane?.close();
      rmSync(folder, { recursive: true, force: true });
      assert.deepEqual(denied, [], 'a gateway lacks a right in its own cluster');
    },
  };
  try {
    const deployed = await subctl('deploy-broker', '--context', 'broker', '--cable-driver', driver);
    assert.equal(deployed.code, 0, deployed.stderr);
    for (const [member, labels] of Object.entries(members)) {
      const flags = labels.flatMap((label) => ['--label', label]);
      const joined = await subctl(
        'join',
        join(folder, 'broker-info.subm'),
        '--context',
        member,
        '--clusterid',
        member,
        '--natt',
        'false',
        ...flags,
      );
      assert.equal(joined.code, 0, joined.stderr);
      const manager = createManager({
        operators: [createSubmariner()],
        kubeconfig: kubeconfig(member),
        installCrds: true,
        logger: silentLogger,
        env: {},
      });
      running.push(manager.run(stopping.signal));
    }
    return set;
  } catch (error) {
    await set.close();
    throw error;
  }
}

/** The connections of a member's gateway, as its Gateway object has them. */
export async function connectionsOf(set: ClusterSet, member: string) {
  const { items } = await set.client(member).list(Gateway, { namespace: MEMBER_NAMESPACE });
  return items.flatMap(({ status }) => status?.connections ?? []);
}

interface Kubeconfig {
  readonly apiVersion: string;
  readonly kind: string;
  readonly 'current-context': string;
  readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly name: string; readonly user: object }[];
  readonly contexts: readonly { readonly name: string; readonly context: { cluster: string; user: string } }[];
}

/** One kubeconfig with a context, a cluster and a user for each name; `names` are those of the second one. */
function joinKubeconfigs(one: string, other: string | undefined, names: readonly string[]): Kubeconfig {
  const first = parse(one) as Kubeconfig;
  const places = first.contexts.map(({ name, context }) => ({ name, context, config: first }));
  if (other !== undefined) {
    const second = parse(other) as Kubeconfig;
    const context = second.contexts.find(({ name }) => name === second['current-context'])?.context;
    assert.ok(context);
    places.push(...names.map((name) => ({ name, context, config: second })));
  }
  const found = <T extends { readonly name: string }>(all: readonly T[], name: string): T => {
    const each = all.find((candidate) => candidate.name === name);
    assert.ok(each);
    return each;
  };
  return {
    ...first,
    clusters: places.map(({ name, context, config }) => ({ ...found(config.clusters, context.cluster), name })),
    users: places.map(({ name, context, config }) => ({ ...found(config.users, context.user), name })),
    contexts: places.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  };
}

const DENIED = new RegExp(`system:serviceaccount:${MEMBER_NAMESPACE}:${GATEWAY}\\\\?" cannot .*`);

function processOf(child: ChildProcess): GatewayProcess {
  let log = '';
  let rest = '';
  const roles: RoleChange[] = [];
  const stops: number[] = [];
  const denied = new Set<string>();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-20_000);
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [denial] = DENIED.exec(line) ?? [];
      if (denial !== undefined) denied.add(denial);
      const [, time, message] = /^(\S+) INFO +(leading|no longer leading) /.exec(line) ?? [];
      if (time !== undefined) roles.push({ at: Date.parse(time), isActive: message === 'leading' });
    }
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  return {
    pid: child.pid ?? 0,
    log: () => log,
    denied: () => [...denied],
    roles: () => [...roles],
    stoppedAt: () => [...stops],
    signal(signal) {
      if (signal === 'SIGSTOP') stops.push(Date.now());
      child.kill(signal);
    },
    async kill(signal) {
      process.off('exit', end);
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (signal === 'SIGKILL') stops.push(Date.now());
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(late);
    },
  };
}
