// A whole Sesame on an embedded API server, with a real Envoy in front of backends on loopback. A test fails at its end when Envoy
// has refused anything on the way.
import assert from 'node:assert/strict';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { TestContext } from 'node:test';
import { type Client, EndpointSlice, type Kind, type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import { type Derived, derivation, operator } from '@capstan/reconcile';
import { createStage, freePort, type Stage } from '@capstan/testing';
import {
  type GatewayComponents,
  gatewayComponents,
  type Placement,
  type Publication,
} from '../../src/gateway/index.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { ingressComponents } from '../../src/routes/ingress-components.ts';
import { type Mutable, testSettings } from '../../src/routing/default-settings.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import type { XdsServer } from '../../src/xds/index.ts';
import { CONTROLLER } from '../gateway/controller.ts';
import { installKinds, NAMESPACE } from '../gateway/fixtures.ts';
import { type EnvoyMode, type RunningEnvoy, startEnvoy } from './envoy.ts';

/** The address range of the embedded cluster's pods, the only loopback addresses that its server takes for endpoints. */
export const BACKENDS = '127.64.7.1';

export interface IngressStage {
  /** `KIND REASON: NOTE`, in the order in which they were created. */
  readonly events: readonly string[];
  readonly client: Client;
  readonly stage: Stage;
  readonly envoy: RunningEnvoy;
  readonly xds: XdsServer;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** A Service with one endpoint on loopback that the handler answers. */
  backend(name: string, handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<void>;
  /** A Service whose endpoint is at this port. */
  service(name: string, port: number, options?: ServiceOptions): Promise<void>;
  /** A Service with one endpoint for each address, all at one port. */
  pool(name: string, addresses: readonly string[], handle: PoolHandler, options?: ServiceOptions): Promise<void>;
  /** From now on the Service has these endpoints. */
  endpoints(name: string, addresses: readonly string[]): Promise<void>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<void>;
  secret(name: string, data: Readonly<Record<string, string>>, type?: string, namespace?: string): Promise<void>;
  proxy(name: string, spec: HTTPProxy['spec']): Promise<void>;
  /** The refusals of Envoy so far. */
  refusals(): string[];
}

export interface ServiceOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly addresses?: readonly string[];
}

export type PoolHandler = (address: string, request: IncomingMessage, response: ServerResponse) => void;

export async function createIngressStage(
  context: TestContext,
  mode: EnvoyMode,
  change: (settings: Mutable<RoutingSettings>) => void = () => undefined,
  /** Serves Gateways too, with their ports here, and objects in the namespace of their fixtures. */
  gateways?: Placement,
): Promise<IngressStage> {
  const [httpPort, httpsPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const value = testSettings((settings) => {
    settings.envoy.http.port = httpPort;
    settings.envoy.https.port = httpsPort;
    settings.envoy.metrics.port = metricsPort;
    settings.envoy.health.port = metricsPort;
    change(settings);
  });
  const home = gateways ? NAMESPACE : 'default';
  let listening: (server: XdsServer) => void = () => undefined;
  const server = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => value });
  const { kinds, reconcilers, sinks } = ingressComponents({
    settings,
    ...(gateways && { gateways: gatewaysAt(gateways, settings) }),
    clock: systemClock,
    listen: { address: '127.0.0.1', port: 0 },
    onListening: (each) => listening(each),
  });
  const events: string[] = [];
  const stage = await createStage({
    ...(gateways && { given: installKinds }),
    operators: [operator({ name: 'sesame', kinds, reconcilers, sinks })],
    runtime: {
      notify: (_world, _operator, { kind }, { reason, note }) => void events.push(`${kind} ${reason}: ${note}`),
    },
  });
  context.after(() => stage.end());
  const xds = await server;
  const envoy = await startEnvoy({ xdsPort: xds.port, mode });
  context.after(async () => {
    const refused = [...refusalsOf(envoy), ...(await rejectedUpdates(envoy))];
    await envoy.stop();
    // The runner reports no failure of a hook after a failure of its test.
    for (const line of refused) context.diagnostic(`refused by Envoy: ${line}`);
    assert.deepEqual(refused, [], 'Envoy refused what it was sent');
  });

  const create = async <T extends KubeObject>(kind: Kind<T>, object: T): Promise<void> => {
    await stage.client.create(kind, object);
    await stage.settle();
  };
  const service = async (
    name: string,
    port: number,
    { annotations = {}, addresses = [BACKENDS] }: ServiceOptions = {},
  ): Promise<void> => {
    const metadata = { name, namespace: home };
    await stage.client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, annotations },
      spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: port }] },
    });
    await create(EndpointSlice, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: [{ name: 'http', port, protocol: 'TCP' }],
    });
  };
  return {
    events,
    client: stage.client,
    stage,
    envoy,
    xds,
    httpPort,
    httpsPort,
    service,
    create,
    async pool(name, addresses, handle, options) {
      let port = 0;
      for (const address of addresses) {
        const http = createHttp((request, response) => handle(address, request, response));
        port = await listen(context, http, () => http.closeAllConnections(), { address, port });
      }
      await service(name, port, { addresses, ...options });
    },
    async endpoints(name, addresses) {
      const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
      await stage.client.patch(EndpointSlice, { namespace: home, name }, 'merge', { endpoints });
      await stage.settle();
    },
    async backend(name, handle) {
      const http = createHttp(handle);
      await service(name, await listen(context, http, () => http.closeAllConnections()));
    },
    secret: (name, data, type = 'kubernetes.io/tls', namespace = home) =>
      create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        type,
        data: Object.fromEntries(
          Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
        ),
      }),
    async proxy(name, spec) {
      const object = {
        apiVersion: 'projectsesame.io/v1',
        kind: 'HTTPProxy',
        metadata: { name, namespace: home },
        spec,
      };
      await create(HTTPProxy, object);
    },
    refusals: () => refusalsOf(envoy),
  };
}

/** Every Gateway of the controller. */
function gatewaysAt(placement: Placement, settings: Derived<RoutingSettings>): GatewayComponents {
  return gatewayComponents({
    settings,
    selects: (read, _key, className, { lookup }) => lookup(read).gatewayClass(className)?.controllerName === CONTROLLER,
    placements: derivation<Placement | undefined>({ name: 'test-placement', compute: () => placement }),
    publications: derivation<Publication>({
      name: 'test-publication',
      compute: () => ({ addresses: [{ type: 'IPAddress', value: placement.address }], unusable: [] }),
    }),
  });
}

/** Envoy's log keeps every refusal, the ones that a later version made good too. */
function refusalsOf(envoy: RunningEnvoy): string[] {
  return envoy.warnings().filter((line) => /rejected|NACK/i.test(line));
}

async function rejectedUpdates(envoy: RunningEnvoy): Promise<string[]> {
  const counters = await envoy.admin('/stats?filter=update_rejected$');
  return counters.split('\n').filter((line) => line !== '' && !line.endsWith(': 0'));
}

export async function listen(
  context: TestContext,
  server: Server,
  close: () => void = () => undefined,
  { address = BACKENDS, port = 0 }: { readonly address?: string; readonly port?: number } = {},
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  context.after(() => {
    close();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
