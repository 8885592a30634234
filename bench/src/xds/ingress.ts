// N HTTPProxies of three routes and two Services, half of them with TLS, on the embedded API server, served over xDS.
import { type Client, createCa, EndpointSlice, issueCertificate, Secret, Service } from '@capstan/kube';
import { derivation, operator } from '@capstan/reconcile';
import {
  connectXds,
  ExtensionService,
  HTTPProxy,
  httpProxyStatus,
  type RoutingSettings,
  routeGraph,
  TLSCertificateDelegation,
  testSettings,
  type XdsClient,
  type XdsServer,
  xdsSink,
} from '@capstan/sesame/serving';
import { type RunningOperator, runOperator } from '../running-operator.ts';
import { type Cluster, createCluster } from '../runtime/cluster.ts';

export const NAMESPACE = 'default';
const KINDS = [HTTPProxy, TLSCertificateDelegation, ExtensionService];

export interface Ingress {
  readonly cluster: Cluster;
  readonly running: RunningOperator;
  readonly server: XdsServer;
  readonly xds: XdsClient;
  /** From the start of the program to the first complete set, served. */
  readonly startMs: number;
  readonly startCpuMs: number;
  close(): Promise<void>;
}

export const hostOf = (index: number) => `host-${index}.example.com`;
/** Every second host has TLS. */
export const isSecure = (index: number) => index % 2 === 0;

export async function createObjects(size: number): Promise<Cluster> {
  const cluster = await createCluster(KINDS);
  const data = await certificate();
  for (let index = 0; index < size; index++) await createOne(cluster.client, index, data);
  return cluster;
}

export async function createOne(client: Client, index: number, data: Readonly<Record<string, string>>): Promise<void> {
  for (const part of ['a', 'b']) {
    const name = `service-${index}-${part}`;
    await create(client, Service, name, { spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } });
    await create(client, EndpointSlice, name, slice(name, `10.${index >> 8}.${index & 255}.1`));
  }
  if (isSecure(index)) await create(client, Secret, `tls-${index}`, { type: 'kubernetes.io/tls', data });
  await create(client, HTTPProxy, `proxy-${index}`, proxy(index));
}

export function slice(service: string, address: string) {
  return {
    metadata: { labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

function proxy(index: number) {
  const services = (weight: number) => [
    { name: `service-${index}-a`, port: 80, weight },
    { name: `service-${index}-b`, port: 80, weight: 100 - weight },
  ];
  return {
    spec: {
      virtualhost: { fqdn: hostOf(index), ...(isSecure(index) && { tls: { secretName: `tls-${index}` } }) },
      routes: [
        { conditions: [{ prefix: '/' }], services: services(90) },
        { conditions: [{ prefix: '/api' }], services: services(50), timeoutPolicy: { response: '10s' } },
        { conditions: [{ prefix: '/static' }, { header: { name: 'x-beta', exact: 'yes' } }], services: services(10) },
      ],
    },
  };
}

export async function certificate(): Promise<Readonly<Record<string, string>>> {
  const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 86_400_000 };
  const ca = await createCa({ commonName: 'bench', ...validity });
  const issued = await issueCertificate({
    ca,
    commonName: 'bench',
    dnsNames: ['*.example.com'],
    usages: ['server'],
    ...validity,
  });
  const text = (value: string) => Buffer.from(value).toString('base64');
  return { 'tls.crt': text(issued.certificate), 'tls.key': text(issued.key) };
}

async function create(
  client: Client,
  kind: Parameters<Client['create']>[0],
  name: string,
  rest: object,
): Promise<void> {
  const { metadata = {} } = rest as { metadata?: object };
  const object = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    ...rest,
    metadata: { name, namespace: NAMESPACE, ...metadata },
  };
  await client.create(kind, object);
}

function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

export async function startIngress(cluster: Cluster): Promise<Ingress> {
  const value = testSettings();
  const graph = routeGraph(derivation<RoutingSettings>({ name: 'settings', compute: () => value }));
  let listening: (server: XdsServer) => void = () => undefined;
  const opened = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const sink = xdsSink({ graph, listen: { address: '127.0.0.1', port: 0 }, onListening: (each) => listening(each) });
  const sesame = operator({ name: 'sesame', kinds: KINDS, reconcilers: [httpProxyStatus({ graph })], sinks: [sink] });
  const began = performance.now();
  const cpu = process.cpuUsage();
  const running = runOperator(sesame, cluster.server.transport());
  const server = await opened;
  const startMs = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  const startCpuMs = (user + system) / 1000;
  const xds = connectXds({ host: '127.0.0.1', port: server.port, nodeId: 'bench' });
  return {
    cluster,
    running,
    server,
    xds,
    startMs,
    startCpuMs,
    async close() {
      await xds.close();
      await running.stop();
      await cluster.close();
    },
  };
}
