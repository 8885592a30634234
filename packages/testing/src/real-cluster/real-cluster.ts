// A real control plane for tests: etcd and kube-apiserver on loopback ports of their own, with RBAC and certificates of their
// own, optionally the controller manager, the scheduler and simulated nodes. Everything of it is in one temporary folder, and
// ends with the test, also when the test fails or dies.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CertificateAndKey,
  type Client,
  type Clock,
  createClient,
  createHttpTransport,
  fixedCredentials,
  silentLogger,
  sleep,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { TestingErrors } from '../errors.ts';
import { freePorts } from '../free-ports.ts';
import { type Binaries, findBinaries, type Program } from './binaries.ts';
import { createRealPki, kubeconfigFor, type RealPki } from './pki.ts';
import { type RunningProcess, startProcess } from './process.ts';
import { type SimulatedNodes, simulateNodes } from './simulated-nodes.ts';

export interface RealClusterOptions {
  /** Default: the programs of KUBEBUILDER_ASSETS or of the cache. */
  binaries?: Binaries;
  /** The controller manager: all controllers, or those named as its --controllers flag takes them. Default: none. */
  controllers?: boolean | readonly string[];
  /** Default false; without it simulated nodes take pods by themselves. */
  scheduler?: boolean;
  /** How many nodes are simulated; pods that land on them become ready. Default 0. */
  nodes?: number;
  /** Whether an acknowledged write has reached the disk, as in production; default false, which starts and writes faster. */
  durable?: boolean;
  /** Further flags of kube-apiserver. */
  apiServerFlags?: readonly string[];
}

export interface RealCluster {
  /** `v1.36.3`. */
  readonly version: string;
  readonly url: string;
  /** PEM, of the authority that signed the server's certificate. */
  readonly ca: string;
  /** The administrator's, text and file. A secret. */
  readonly kubeconfig: string;
  readonly kubeconfigFile: string;
  /** An administrator's client. */
  readonly client: Client;
  /** A connection as this user, by a client certificate; default the administrator. Closed with the cluster. */
  transport(user?: { name: string; groups?: readonly string[] }): Promise<Transport>;
  /** A kubeconfig file for this user, in the cluster's own folder. */
  kubeconfigOf(user: { name: string; groups?: readonly string[] }): Promise<string>;
  /** Path of a program of this control plane, kubectl for one. */
  program(name: Program): string;
  /** Starts the controllers, those that ran before ended: they begin with every kind that is there by now. */
  startControllers(controllers: true | readonly string[]): Promise<void>;
  /** Ends a part, which others notice as an outage; `resume` starts it again on its data and its port. */
  interrupt(part: 'etcd' | 'kube-apiserver'): Promise<void>;
  /** Starts a part that was interrupted, and resolves when the server answers. */
  resume(part: 'etcd' | 'kube-apiserver'): Promise<void>;
  /** Removes the history of etcd: watches from an older version get 410 Gone. */
  compact(): Promise<void>;
  /** The process ids of the parts, for measurements. */
  readonly pids: Readonly<Partial<Record<Program, number>>>;
  /** The last lines that a part printed. */
  logs(part: Program): string[];
  /** Ends every process and removes the data; resolves when both are done. */
  close(): Promise<void>;
}

/** Starts it and resolves when it answers; throws with nothing left behind when it cannot. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const binaries = options.binaries ?? findBinaries();
  if ('missing' in binaries) throw TestingErrors.NoControlPlane(binaries.missing);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options);
    } catch (error) {
      // A user was faster on one of the ports: other ports are taken.
      if (attempt === PORT_ATTEMPTS || !(error instanceof PortTaken)) throw error;
    }
  }
}

const PORT_ATTEMPTS = 4;
const START_TIMEOUT_MS = 90_000;
const POLL_MS = 50;

class PortTaken extends Error {}

async function startOnce(binaries: Binaries, options: RealClusterOptions): Promise<RealCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-real-'));
  const started: { name: Program; process: RunningProcess }[] = [];
  const open: { close(): Promise<unknown> }[] = [];
  const program = (name: Program) => {
    const path = binaries.path(name);
    if (path === undefined) throw TestingErrors.NoProgram(name, binaries.folder);
    return path;
  };
  const flags = new Map<Program, readonly string[]>();
  const run = (name: Program, args: readonly string[]) => {
    const running = startProcess({ program: program(name), args, folder });
    started.push({ name, process: running });
    flags.set(name, args);
    return running;
  };
  const end = async (part: Program, graceMs?: number) => {
    const at = started.findIndex(({ name }) => name === part);
    if (at >= 0) await started.splice(at, 1)[0]?.process.stop(graceMs);
  };
  const close = async () => {
    for (const one of open.toReversed()) await one.close();
    // The last started is the first to end; etcd goes when nothing writes to it any more.
    for (const { process } of started.toReversed()) await process.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const clock = systemClock;
    const [clientPort = 0, peerPort = 0, securePort = 0] = await freePorts(3);
    const pki = await createRealPki(join(folder, 'pki'), clock);
    const etcd = run('etcd', etcdFlags(join(folder, 'etcd'), clientPort, peerPort, options.durable ?? false));
    const url = `https://127.0.0.1:${securePort}`;
    const server = run('kube-apiserver', [
      ...apiServerFlags(pki, clientPort, securePort, join(folder, 'pki')),
      ...(options.apiServerFlags ?? []),
    ]);
    const connectAs = (pair: CertificateAndKey) => {
      const tls = { ca: pki.ca, cert: pair.certificate, key: pair.key };
      const transport = createHttpTransport({ server: url, credentials: fixedCredentials({ tls }) });
      open.push(transport);
      return transport;
    };
    const admin = connectAs(pki.admin);
    await untilReady(admin, clock, [
      { name: 'etcd', process: etcd },
      { name: 'kube-apiserver', process: server },
    ]);
    const client = createClient({ transport: admin, clock, random: Math.random, logger: silentLogger });
    const kubeconfig = kubeconfigFor(url, pki.ca, pki.admin);
    const write = async (name: string, text: string) => {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    };
    const kubeconfigOf = async (name: string, groups: readonly string[] = []) =>
      write(`${name.replaceAll(/[^\w-]+/g, '_')}.kubeconfig`, kubeconfigFor(url, pki.ca, await pki.user(name, groups)));
    const startControllers: RealCluster['startControllers'] = async (controllers) => {
      await end('kube-controller-manager');
      run('kube-controller-manager', [
        `--kubeconfig=${await kubeconfigOf('system:kube-controller-manager')}`,
        `--controllers=${controllers === true ? '*' : controllers.join(',')}`,
        ...controllerFlags(pki),
      ]);
    };
    if (options.controllers !== undefined && options.controllers !== false) await startControllers(options.controllers);
    if (options.scheduler) {
      run('kube-scheduler', [
        `--kubeconfig=${await kubeconfigOf('system:kube-scheduler')}`,
        '--leader-elect=false',
        '--secure-port=0',
      ]);
    }
    if ((options.nodes ?? 0) > 0) {
      const nodes: SimulatedNodes = await simulateNodes({
        client,
        clock,
        random: Math.random,
        count: options.nodes ?? 0,
        binds: !options.scheduler,
      });
      open.push(nodes);
    }
    const { body } = await client.request({ method: 'GET', path: '/version' });
    return {
      version: (body as { gitVersion: string }).gitVersion,
      url,
      ca: pki.ca,
      kubeconfig,
      kubeconfigFile: await write('admin.kubeconfig', kubeconfig),
      client,
      transport: async (user) => (user === undefined ? admin : connectAs(await pki.user(user.name, user.groups))),
      kubeconfigOf: ({ name, groups }) => kubeconfigOf(name, groups),
      program,
      startControllers,
      // As when its machine fails: open watches are not waited for.
      interrupt: (part) => end(part, 0),
      async resume(part) {
        run(part, flags.get(part) ?? []);
        const parts = started.filter(({ name }) => name === 'etcd' || name === 'kube-apiserver');
        if (parts.length === 2) await untilReady(admin, clock, parts);
      },
      compact: () => compact(clientPort),
      get pids() {
        return Object.fromEntries(started.map(({ name, process }) => [name, process.pid]));
      },
      logs: (part) => started.find(({ name }) => name === part)?.process.lastLines(400) ?? [],
      close,
    };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function untilReady(
  transport: Transport,
  clock: Clock,
  parts: readonly { name: Program; process: RunningProcess }[],
): Promise<void> {
  const end = clock.now() + START_TIMEOUT_MS;
  for (;;) {
    for (const { name, process } of parts) {
      if (!process.hasExited) continue;
      const said = process.lastLines();
      if (said.some((line) => line.includes('address already in use'))) throw new PortTaken(name);
      throw TestingErrors.PartEnded(name, said.slice(-5).join(' | '));
    }
    const answer = await transport.request({ method: 'GET', path: '/readyz' }).catch(() => undefined);
    if (answer?.status === 200) return;
    if (clock.now() > end)
      throw TestingErrors.NotReady(START_TIMEOUT_MS, parts.at(-1)?.process.lastLines(5).join(' | ') ?? '');
    await sleep(clock, POLL_MS);
  }
}

/** Through etcd's JSON gateway: everything before the present revision. */
async function compact(clientPort: number): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${clientPort}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw TestingErrors.NotCompacted(answer.status, await answer.text());
    return (await answer.json()) as { header?: { revision?: string } };
  };
  const { header } = await post('/v3/kv/range', { key: 'AA==', limit: 1 });
  await post('/v3/kv/compaction', { revision: header?.revision, physical: true });
}

function etcdFlags(data: string, clientPort: number, peerPort: number, isDurable: boolean): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // One member has no others to wait for: the defaults (100 ms, 1,000 ms) make the first election the slowest part of the
    // start.
    '--heartbeat-interval=10',
    '--election-timeout=100',
    '--log-level=warn',
    ...(isDurable ? [] : ['--unsafe-no-fsync=true']),
  ];
}

function apiServerFlags({ files }: RealPki, etcdPort: number, port: number, certificates: string): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${certificates}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    `--client-ca-file=${files.ca}`,
    '--authorization-mode=RBAC',
    '--anonymous-auth=false',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.signingKey}`,
    `--service-account-signing-key-file=${files.signingKey}`,
    '--service-cluster-ip-range=10.96.0.0/12',
    // An address for documentation (RFC 5737): it must not be a loopback address, and it is not published.
    '--advertise-address=192.0.2.1',
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
  ];
}

function controllerFlags({ files }: RealPki): string[] {
  return [
    '--leader-elect=false',
    '--secure-port=0',
    '--use-service-account-credentials=true',
    `--root-ca-file=${files.ca}`,
    `--service-account-private-key-file=${files.signingKey}`,
  ];
}
