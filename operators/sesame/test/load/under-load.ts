// A whole Sesame with a real Envoy under load, while everything that it serves is changed again and again.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, EndpointSlice, Secret, Service, silentLogger, systemClock } from '@capstan/kube';
import { alwaysLeader, operator } from '@capstan/reconcile';
import { createTestCluster, freePort } from '@capstan/testing';
import { effectiveConfiguration, problemText } from '../../src/configuration/index.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { createDataPath } from '../../src/program/data-path.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { type EnvoyMode, startEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { type Changed, type ChangeKind, change, HOST, kindOf, proxySpec } from './changes.ts';
import { type LoadCount, startLoad } from './load-client.ts';

export { missingEnvoy } from '../real/envoy.ts';

export interface UnderLoadOptions {
  readonly changes: number;
  readonly requestsPerSecond: number;
  readonly mode: EnvoyMode;
  /** At every route change Envoy gets no processor for this long, as on a machine with too much to do. */
  readonly haltMs?: number;
  /** Configurations that are put in force one after the other, in place of the changes. */
  readonly configurations?: readonly NamedConfiguration[];
  readonly patienceMs?: number;
  /** Further objects. */
  given?(client: Changed['client']): Promise<void>;
}

export interface NamedConfiguration {
  readonly name: string;
  readonly spec: object;
}

export interface UnderLoadResult extends LoadCount {
  readonly changes: Readonly<Record<ChangeKind, number>>;
  readonly seconds: number;
  /** The refusals of Envoy. */
  readonly refusals: readonly string[];
}

const ADDRESSES = ['127.64.9.1', '127.64.9.2', '127.64.9.3'];
const SERVICES = ['one', 'two', 'three'];
const KINDS = [HTTPProxy, TLSCertificateDelegation, ExtensionService];

export async function runUnderLoad({
  changes,
  requestsPerSecond,
  mode,
  haltMs = 0,
  configurations = [],
  given,
  patienceMs,
}: UnderLoadOptions): Promise<UnderLoadResult> {
  const ends: (() => Promise<unknown> | void)[] = [];
  try {
    const cluster = await createTestCluster({
      clock: systemClock,
      random: Math.random,
      operators: [operator({ name: 'routes', kinds: KINDS, reconcilers: [] })],
    });
    ends.push(() => cluster.close());
    const { client } = cluster;
    const authority = await createAuthority();
    const certificates = await Promise.all(Array.from({ length: 5 }, () => authority.issue(HOST)));
    await client.create(Secret, secret(tlsData(certificates[0] ?? { certificate: '', key: '' })));
    for (const name of SERVICES) await createService(client, name, await startBackends(ends));
    await client.create(HTTPProxy, {
      apiVersion: 'projectsesame.io/v1',
      kind: 'HTTPProxy',
      metadata: { name: 'load', namespace: 'default' },
      spec: proxySpec(0, { services: SERVICES }),
    });

    await given?.(client);
    const [httpPort, httpsPort, ownPort] = [await freePort(), await freePort(), await freePort()];
    const base = { xdsServer: { insecure: true }, envoy: envoyBase(httpPort, httpsPort, ownPort) };
    const configurationOf = (spec: object) => {
      const { value, errors } = effectiveConfiguration({
        given: deepMerge(base, spec),
        source: { from: 'resource', name: 'sesame' },
      });
      if (errors.length > 0) throw new Error(errors.map((problem) => problemText(problem)).join('\n'));
      return value;
    };
    const listening = Promise.withResolvers<number>();
    const dataPath = createDataPath({
      client: createClient({ transport: cluster.transport(), clock: systemClock, logger: silentLogger }),
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      leadership: alwaysLeader,
      namespace: 'default',
      watchNamespaces: undefined,
      listen: { address: '127.0.0.1', port: 0 },
      onListening: (port) => listening.resolve(port),
    }).start(configurationOf({}), ({ problem }) => {
      if (problem !== undefined) listening.reject(new Error(problem));
    });
    ends.push(() => dataPath.stop());
    const envoy = await startEnvoy({ xdsPort: await listening.promise, mode, drainSeconds: 10 });
    ends.push(() => envoy.stop());
    const ca = authority.ca.certificate;
    await waitFor(
      async () => (await send({ port: httpsPort, host: HOST, tls: { ca } })).status === 200,
      `the first answer; ${envoy.warnings().join('\n')}`,
    );
    await waitFor(async () => (await send({ port: httpPort, host: HOST })).status === 200, 'the first answer');

    let during = 'the start';
    const load = startLoad({
      requestsPerSecond,
      host: HOST,
      httpPort,
      httpsPort,
      ca,
      ...(patienceMs !== undefined && { patienceMs }),
      during: () => during,
    });
    ends.push(() => load.stop());
    const stage: Changed = {
      client,
      addresses: ADDRESSES,
      services: SERVICES,
      certificates,
      configure: (envoy) => dataPath.configure(configurationOf({ envoy })),
    };
    const moreRequests = async () => {
      const before = load.sent();
      await waitFor(() => load.sent() >= before + REQUESTS_BETWEEN, 'requests');
    };
    const counts: Record<ChangeKind, number> = { route: 0, endpoints: 0, certificate: 0, listener: 0, host: 0 };
    const began = performance.now();
    for (let turn = 1; turn <= changes; turn += 1) {
      during = `change ${turn} (${kindOf(turn)})`;
      const isHalted = haltMs > 0 && kindOf(turn) === 'route';
      if (isHalted) envoy.halt();
      counts[await change(turn, stage)] += 1;
      if (isHalted) await sleep(haltMs);
      if (isHalted) envoy.resume();
      // So that every change meets requests, whatever the machine: a few are sent before the next.
      await moreRequests();
    }
    for (const { name, spec } of configurations) {
      during = `the configuration of ${name}`;
      await dataPath.configure(configurationOf(spec));
      await moreRequests();
    }
    // The effects of the last changes on requests show while old listeners drain.
    const settled = load.sent() + requestsPerSecond * 3;
    await waitFor(() => load.sent() >= settled, 'the last requests');
    const count = await load.stop();
    const seconds = (performance.now() - began) / 1000;
    const refusals = envoy.warnings().filter((line) => /rejected|NACK/i.test(line));
    return { ...count, changes: counts, seconds, refusals };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

const REQUESTS_BETWEEN = 10;

function envoyBase(httpPort: number, httpsPort: number, ownPort: number) {
  const endpoint = (port: number) => ({ address: '127.0.0.1', port, accessLog: '/dev/null' });
  const own = { address: '127.0.0.1', port: ownPort };
  return { http: endpoint(httpPort), https: endpoint(httpsPort), metrics: own, health: own, network: { adminPort: 0 } };
}

function deepMerge(left: object, right: object): object {
  const merged: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const known = merged[key];
    merged[key] = isObject(known) && isObject(value) ? deepMerge(known, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One server at each address, at one port. */
async function startBackends(ends: (() => Promise<unknown> | void)[]): Promise<number> {
  let port = 0;
  for (const address of ADDRESSES) {
    const server = createServer((_, response) => response.end('answer'));
    // Longer than Envoy keeps a connection to it: the backend is never the one that closes.
    server.keepAliveTimeout = 600_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, address, resolve);
    });
    ({ port } = server.address() as AddressInfo);
    ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  return port;
}

async function createService(client: Changed['client'], name: string, port: number): Promise<void> {
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
    endpoints: ADDRESSES.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  });
}

function secret(data: Readonly<Record<string, string>>): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'load', namespace: 'default' },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}
