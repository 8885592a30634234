// A console over an embedded cluster with many HTTPProxies, in this process: the same parts as `capstan console`.

import { openSource } from '@capstan/cli/console';
import { startConsole } from '@capstan/console';
import { type Client, EndpointSlice, Service, silentLogger, systemClock } from '@capstan/kube';
import { createSesame, HTTPProxy, SesameConfiguration } from '@capstan/sesame';
import { createRandom } from '@capstan/testing';
import { createCluster } from '../runtime/cluster.ts';

export interface ConsoleScene {
  readonly client: Client;
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string;
  readonly proxies: number;
  get(path: string): Promise<string>;
  post(path: string, body: unknown): Promise<unknown>;
  /** Changes the weight of a route. */
  edit(index: number, weight: number): Promise<void>;
  /** Changes the message of a proxy's status. */
  report(index: number, message: string): Promise<void>;
  close(): Promise<void>;
}

const NAMESPACE = 'default';
const BROKEN_SHARE = 50;
const WRITERS = 32;
/** With a Service for each, as many objects as are drawn with all of their reads. */
const INCLUDED = 48;
export const HUB = 'hub';

/** A proxy, its Service and two EndpointSlices: four objects for each. */
export async function openScene(proxies: number): Promise<ConsoleScene> {
  const operator = createSesame();
  const cluster = await createCluster(operator.kinds);
  const { client } = cluster;
  await client.create(SesameConfiguration, {
    apiVersion: SesameConfiguration.apiVersion,
    kind: SesameConfiguration.kind,
    metadata: { namespace: NAMESPACE, name: 'edge' },
    spec: {},
  });
  let next = 0;
  const write = async () => {
    for (let index = next++; index < proxies; index = next++) await createProxy(client, index);
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  await createHub(client, proxies);
  const stopping = new AbortController();
  const opened = await openSource({
    operators: [operator],
    client,
    context: 'bench',
    namespace: NAMESPACE,
    clock: systemClock,
    random: createRandom(4),
    logger: silentLogger,
    signal: stopping.signal,
    timeoutMs: 120_000,
    writes: true,
  });
  const source = () => opened.source;
  const server = await startConsole({ source, clock: systemClock, logger: silentLogger, host: '127.0.0.1', port: 0 });
  const url = server.url.replace(/\/$/, '');
  const send = async (path: string, token: string, body?: unknown) => {
    const headers = { 'capstan-token': token, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  const { token } = JSON.parse(await send('/api/login', '', { code: server.createCode() })) as { token: string };
  return {
    client,
    url,
    token,
    proxies,
    get: (path) => send(path, token),
    post: async (path, body) => JSON.parse(await send(path, token, body)) as unknown,
    async edit(index, weight) {
      const routes = proxyOf(index, weight).spec.routes;
      await client.patch(HTTPProxy, { namespace: NAMESPACE, name: nameOf(index) }, 'merge', { spec: { routes } });
    },
    report: (index, message) => reportStatus(client, index, message),
    async close() {
      stopping.abort();
      await server.close();
      await opened.stop();
      await cluster.close();
    },
  };
}

export function nameOf(index: number): string {
  return `proxy-${index}`;
}

export function manifestOf(index: number, weight: number): string {
  return JSON.stringify(proxyOf(index, weight));
}

function proxyOf(index: number, weight: number) {
  return {
    apiVersion: HTTPProxy.apiVersion,
    kind: HTTPProxy.kind,
    metadata: { namespace: NAMESPACE, name: nameOf(index) },
    spec: {
      virtualhost: { fqdn: `host-${index}.example.com` },
      routes: [
        { conditions: [{ prefix: '/' }], services: [{ name: `service-${index}`, port: 80, weight }] },
        { conditions: [{ prefix: '/api' }], services: [{ name: `service-${index}`, port: 80 }] },
      ],
    },
  };
}

async function createProxy(client: Client, index: number): Promise<void> {
  const name = `service-${index}`;
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: NAMESPACE, name },
    spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
  });
  for (const half of [0, 1])
    await client.create(EndpointSlice, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        namespace: NAMESPACE,
        name: `${name}-${half}`,
        labels: { 'kubernetes.io/service-name': name },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: [`10.${half}.${index >> 8}.${index & 255}`], conditions: { ready: true } }],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    });
  await client.create(HTTPProxy, proxyOf(index, 1));
  await reportStatus(
    client,
    index,
    index % BROKEN_SHARE === 0 ? 'At least one error present, see Errors for details' : undefined,
  );
}

/** A proxy that includes many others: its neighbourhood has a hundred objects. */
async function createHub(client: Client, proxies: number): Promise<void> {
  const children = Array.from({ length: INCLUDED }, (_, index) => `child-${index}`);
  for (const [index, name] of children.entries()) {
    const services = [{ name: `service-${index % proxies}`, port: 80 }];
    const { apiVersion, kind } = HTTPProxy;
    const metadata = { namespace: NAMESPACE, name };
    await client.create(HTTPProxy, { apiVersion, kind, metadata, spec: { routes: [{ services }] } });
  }
  await client.create(HTTPProxy, {
    apiVersion: HTTPProxy.apiVersion,
    kind: HTTPProxy.kind,
    metadata: { namespace: NAMESPACE, name: HUB },
    spec: {
      virtualhost: { fqdn: 'hub.example.com' },
      includes: children.map((name) => ({ name, conditions: [{ prefix: `/${name}` }] })),
    },
  });
}

/** Without a message it is valid. */
async function reportStatus(client: Client, index: number, message: string | undefined): Promise<void> {
  const condition = {
    type: 'Valid',
    status: message === undefined ? 'True' : 'False',
    reason: message === undefined ? 'Valid' : 'ErrorPresent',
    message: message ?? 'Valid HTTPProxy',
    lastTransitionTime: new Date(0).toISOString(),
  };
  const status = { currentStatus: message === undefined ? 'valid' : 'invalid', conditions: [condition] };
  await client.patch(
    HTTPProxy,
    { namespace: NAMESPACE, name: nameOf(index) },
    'merge',
    { status },
    { subresource: 'status' },
  );
}
