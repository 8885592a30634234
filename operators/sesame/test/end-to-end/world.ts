// A cluster as users start it, `capstan up`, with the programs beside it as processes of their own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Client,
  connect,
  createClient,
  EndpointSlice,
  Namespace,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { startClusterProcess } from '@capstan/testing/tutorial';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning'];
export const ENVOY = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'envoy/envoy');
const PATIENCE_MS = 60_000;

export interface World {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly folder: string;
  /** A Service whose only endpoint answers with the name. */
  backend(name: string): Promise<void>;
  proxy(name: string, host: string, service: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startWorld(namespaces: readonly string[]): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-up-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const up = ['up', '--operators', 'sesame', '--data', join(folder, 'data'), '--listen', '127.0.0.1:0'];
  const args = [...FLAGS, 'apps/capstan/src/main.ts', ...up, '--kubeconfig-out', kubeconfig];
  const stopCluster = await startClusterProcess(process.execPath, args, { cwd: ROOT });
  const client = createClient({ transport: await connect({ kubeconfig }), clock: systemClock, logger: silentLogger });
  const servers: ReturnType<typeof createServer>[] = [];
  for (const name of namespaces)
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return {
    client,
    kubeconfig,
    folder,
    async backend(name) {
      const server = createServer((_, response) => void response.end(name));
      servers.push(server);
      // An address of the range of pods: the only loopback addresses that the server takes for endpoints.
      const address = '127.64.7.1';
      await new Promise<void>((resolve) => server.listen(0, address, resolve));
      const { port } = server.address() as { port: number };
      const metadata = { name, namespace: 'default' };
      await client.create(Service, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: port }] },
      });
      await client.create(EndpointSlice, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: [{ name: 'http', port, protocol: 'TCP' }],
      });
    },
    async proxy(name, host, service) {
      const object: HTTPProxy = {
        apiVersion: 'projectsesame.io/v1',
        kind: 'HTTPProxy',
        metadata: { name, namespace: 'default' },
        spec: { virtualhost: { fqdn: host }, routes: [{ services: [{ name: service, port: 80 }] }] },
      };
      await client.apply(HTTPProxy, object, { fieldManager: 'test', force: true });
    },
    async stop() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await client.close();
      await stopCluster();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface RunningProgram {
  /** Returns its output. */
  output(): string;
  /** Ends it in order; its exit code. */
  stop(): Promise<number | null>;
}

/** The program `sesame`, until it is stopped. */
export function startSesame(argv: readonly string[], env: Readonly<Record<string, string>> = {}): RunningProgram {
  const args = [...FLAGS, join(ROOT, 'apps/capstan/src/programs/sesame.mjs'), ...argv];
  return running(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } }));
}

/** The program `sesame`, to its end. */
export async function sesame(...argv: string[]): Promise<string> {
  const child = spawn(process.execPath, [...FLAGS, join(ROOT, 'apps/capstan/src/programs/sesame.mjs'), ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { output } = running(child);
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, `sesame ${argv.join(' ')}: ${output()}`);
  return output();
}

export function startEnvoy(bootstrap: string, id: string): RunningProgram {
  const flags = ['--service-node', id, '--service-cluster', 'test', '--disable-hot-restart', '--concurrency', '1'];
  return running(spawn(ENVOY, ['-c', bootstrap, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] }));
}

function running(child: ChildProcess): RunningProgram {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (output += text.toString()));
  const ended = once(child, 'close') as Promise<[number | null]>;
  return {
    output: () => output,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
  };
}

/** The answer through Envoy: its body, its status when it is not 200, or undefined without a connection. */
export function get(address: string, port: number, host: string): Promise<string | number | undefined> {
  return new Promise((resolve) => {
    const sent = request({ host: address, port, path: '/', headers: { host }, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += String(chunk)));
      response.on('end', () => resolve(response.statusCode === 200 ? body : response.statusCode));
      response.on('error', () => resolve(undefined));
    });
    sent.setTimeout(5_000, () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}

/** Repeats the check until it passes; fails with the last value. */
export async function eventually<V>(
  check: () => Promise<V>,
  isSo: (value: V) => boolean,
  what: string,
  more: () => string = () => '',
): Promise<V> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await check();
    if (isSo(value)) return value;
    if (Date.now() > end) assert.fail(`waited in vain for ${what}; last: ${JSON.stringify(value)}\n${more()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
