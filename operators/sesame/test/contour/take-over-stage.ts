// A cluster with the real Contour and its Envoy, and beside it the program `sesame` with an Envoy of its own. Both read the same objects.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, writeKubeconfig } from '@capstan/apiserver';
import {
  type Client,
  CustomResourceDefinition,
  createClient,
  EndpointSlice,
  type KubeObject,
  Namespace,
  Secret,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { parse, parseAllDocuments } from 'yaml';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { type RunningProgram, sesame, startEnvoy, startSesame } from '../end-to-end/world.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';

import { contourBinary, contoursDefinitions, KINDS, kindOf } from './contour.ts';

const SESAME = 'projectsesame';
const CONFIGURATION = 'edge';
const BACKEND = '127.64.11.1';

/** Where an Envoy listens. */
export interface EnvoyPorts {
  readonly http: number;
  readonly https: number;
}

export interface TakeOverStage {
  readonly client: Client;
  /** The authority of all certificates. */
  readonly ca: string;
  /** The objects of `take-over.yaml`, as they were created. */
  readonly objects: readonly KubeObject[];
  startContour(): Promise<EnvoyPorts>;
  /** Migrates the configuration of Contour, and starts Sesame with `--contour-compat`. */
  startSesame(): Promise<EnvoyPorts>;
  /** Ends Contour in order, or as a crash does, and then its Envoy. */
  endContour(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  log(): string;
  end(): Promise<void>;
}

/** The file of Contour: settings that requests show, and ports that leave room for a second Envoy. */
const CONTOURS_FILE = `ingress-status-address: 192.0.2.10
disablePermitInsecure: false
policy:
  request-headers:
    set: {X-Edge: capstan}
  response-headers:
    set: {X-Served: capstan}
  applyToIngress: true
timeouts: {request-timeout: 30s, connection-idle-timeout: 45s}
network: {admin-port: 0, num-trusted-hops: 1}
`;

export async function takeOverStage(): Promise<TakeOverStage> {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-take-over-'));
  const ends: (() => Promise<unknown> | void)[] = [() => rmSync(folder, { recursive: true })];
  const programs: RunningProgram[] = [];
  const end = async () => {
    for (const each of ends.splice(0).toReversed()) await each();
  };
  try {
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0 });
    ends.push(() => cluster.close());
    const server = cluster.clusters[0]?.server;
    if (!server) throw new Error('the cluster has no server');
    const client = createClient({ transport: server.transport(), clock: systemClock, logger: silentLogger });
    ends.push(() => client.close());
    const kubeconfig = join(folder, 'kubeconfig');
    await writeKubeconfig(kubeconfig, cluster.kubeconfig);
    for (const definition of contoursDefinitions()) await client.create(CustomResourceDefinition, definition);
    for (const kind of [SesameConfiguration, HTTPProxy, TLSCertificateDelegation, ExtensionService])
      await client.create(CustomResourceDefinition, kind.crd());
    for (const name of ['projectcontour', SESAME, 'team'])
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const ca = await createSecrets(client);
    for (const [name, namespace] of [
      ['one', 'default'],
      ['two', 'default'],
      ['three', 'team'],
    ] as const)
      await createBackend(client, { name, namespace }, ends);
    const manifest = readFileSync(join(import.meta.dirname, 'take-over.yaml'), 'utf8');
    const objects: KubeObject[] = [];
    for (const document of parseAllDocuments(manifest)) {
      const object = document.toJS() as KubeObject;
      objects.push(await client.create(kindOf(object), object));
    }
    let contour: ContourBesideEnvoy | undefined;
    return {
      client,
      ca,
      objects,
      async startContour() {
        contour = await startContour(folder, kubeconfig, programs);
        const { stop } = contour;
        ends.push(() => stop('SIGKILL'));
        return contour.ports;
      },
      async startSesame() {
        const started = await startSesameBesideEnvoy(client, folder, kubeconfig);
        programs.push(...started.programs);
        for (const program of started.programs) ends.push(() => program.stop());
        return started.ports;
      },
      endContour: async (signal) => contour?.stop(signal),
      log: () => programs.map((each) => each.output().slice(-4_000)).join('\n---\n'),
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

interface ContourBesideEnvoy {
  readonly ports: EnvoyPorts;
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

async function startContour(
  folder: string,
  kubeconfig: string,
  programs: RunningProgram[],
): Promise<ContourBesideEnvoy> {
  const [xds = 0, health = 0, debug = 0, metrics = 0, http = 0, https = 0, stats = 0] = await freePorts(7);
  const file = join(folder, 'contour.yaml');
  writeFileSync(file, CONTOURS_FILE);
  const at = (name: string, port: number) => [`--${name}-address=127.0.0.1`, `--${name}-port=${port}`];
  const flags = [
    'serve',
    `--kubeconfig=${kubeconfig}`,
    `--config-path=${file}`,
    '--insecure',
    ...at('xds', xds),
    ...at('health', health),
    ...at('debug-http', debug),
    ...at('http', metrics),
    ...at('envoy-service-http', http),
    ...at('envoy-service-https', https),
    ...at('stats', stats),
    '--envoy-http-access-log=/dev/null',
    '--envoy-https-access-log=/dev/null',
  ];
  const child: ChildProcess = spawn(contourBinary(), flags, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (output += text.toString()));
  programs.push({ output: () => output, stop: () => Promise.resolve(null) });
  const bootstrap = join(folder, 'contours-envoy.json');
  execFileSync(
    contourBinary(),
    ['bootstrap', bootstrap, '--xds-address=127.0.0.1', `--xds-port=${xds}`, `--admin-address=${folder}/contours.sock`],
    { stdio: 'ignore' },
  );
  const envoy = startEnvoy(bootstrap, 'contours');
  programs.push(envoy);
  let isOver = false;
  return {
    ports: { http, https },
    async stop(signal) {
      if (isOver) return;
      isOver = true;
      if (child.exitCode === null && child.signalCode === null) {
        const over = once(child, 'close');
        child.kill(signal);
        await over;
      }
      await envoy.stop();
    },
  };
}

async function startSesameBesideEnvoy(client: Client, folder: string, kubeconfig: string) {
  const [xds = 0, health = 0, debug = 0, http = 0, https = 0, stats = 0] = await freePorts(6);
  const migrated = join(folder, 'configuration.yaml');
  await sesame(
    'migrate',
    'config',
    join(folder, 'contour.yaml'),
    '-o',
    migrated,
    `--name=${CONFIGURATION}`,
    `--namespace=${SESAME}`,
  );
  await client.create(SesameConfiguration, parse(readFileSync(migrated, 'utf8')) as SesameConfiguration);
  const at = (name: string, port: number) => [`--${name}-address=127.0.0.1`, `--${name}-port=${port}`];
  const serve = startSesame(
    [
      'serve',
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${SESAME}`,
      `--sesame-config=${CONFIGURATION}`,
      '--contour-compat',
      '--insecure',
      '--envoy-http-access-log=/dev/null',
      '--envoy-https-access-log=/dev/null',
      ...at('xds', xds),
      ...at('health', health),
      ...at('http', health),
      ...at('debug-http', debug),
      ...at('envoy-service-http', http),
      ...at('envoy-service-https', https),
      ...at('stats', stats),
    ],
    { POD_NAME: 'taking-over' },
  );
  const bootstrap = join(folder, 'sesames-envoy.json');
  await sesame('bootstrap', bootstrap, `--xds-port=${xds}`, `--admin-address=${join(folder, 'sesames.sock')}`);
  return { ports: { http, https }, programs: [serve, startEnvoy(bootstrap, 'sesames')] };
}

async function createSecrets(client: Client): Promise<string> {
  const authority = await createAuthority();
  for (const [name, host] of [
    ['shop', 'shop.test'],
    ['wild', '*.wild.test'],
    ['forced', 'forced.test'],
  ] as const) {
    const data = Object.entries(tlsData(await authority.issue(host)));
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default' },
      type: 'kubernetes.io/tls',
      data: Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    });
  }
  return authority.ca.certificate;
}

/** Headers that differ between two requests through one Envoy. */
const VOLATILE = new Set(['x-request-id', 'x-request-start', 'date', 'x-envoy-upstream-service-time']);

function steady(headers: object): object {
  const kept = Object.entries(headers).filter(([name]) => !VOLATILE.has(name));
  return Object.fromEntries(kept.toSorted(([left], [right]) => left.localeCompare(right)));
}

/** A Service whose only endpoint answers with its name and with the request. */
async function createBackend(
  client: Client,
  metadata: { readonly name: string; readonly namespace: string },
  ends: (() => Promise<unknown> | void)[],
): Promise<void> {
  const server = createServer(({ method, url, headers }, response) => {
    const got = steady(headers);
    response.end(JSON.stringify({ service: metadata.name, method, url, headers: got }));
  });
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, BACKEND, resolve);
  });
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: port }] },
  });
  await client.create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [BACKEND], conditions: { ready: true } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  });
}

/** Returns the parts of an answer that a client sees: status, body and headers. */
export function shownAnswer({ status, body, headers }: { status: number; body: string; headers: object }): object {
  return { status, body, headers: steady(headers) };
}

export interface StatusChange {
  /** `KIND NAMESPACE/NAME`. */
  readonly object: string;
  readonly status: unknown;
}

/** Records every status that any object of Contour has, until the signal. */
export async function recordStatuses(client: Client, signal: AbortSignal): Promise<StatusChange[]> {
  const changes: StatusChange[] = [];
  for (const kind of KINDS.filter(({ kind: name }) => STATUSES.has(name))) {
    const stream = await client.watch(kind, { signal });
    void (async () => {
      try {
        for await (const batch of stream)
          for (const { object } of batch) {
            const { metadata, status } = object as KubeObject & { readonly status?: unknown };
            changes.push({ object: `${kind.kind} ${metadata.namespace}/${metadata.name}`, status });
          }
      } catch {
        // The signal ends the watch.
      }
    })();
  }
  return changes;
}

const STATUSES = new Set(['HTTPProxy', 'ExtensionService', 'TLSCertificateDelegation', 'Ingress']);
