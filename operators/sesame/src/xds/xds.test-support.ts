// Resources of every type in small, and a server with a client on loopback.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { CONFIG_SOURCE, decode, type ResourceMessage, type ResourceType, typed } from '../envoy/index.ts';
import { createResource, type Resource, resourceKey, type Shape } from './resource.ts';
import { createResourceStore, type ResourceStore } from './resource-store.ts';
import { connectXds, type XdsClient } from './xds-client.ts';
import type { NodeReport } from './xds-node.ts';
import { startXdsServer, type XdsServer, type XdsServerOptions } from './xds-server.ts';

const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

export function cluster(name: string, timeout = 2, assignment = `${name}-endpoints`): Resource {
  const eds = { service_name: assignment, eds_config: CONFIG_SOURCE };
  return createResource({
    type: 'cds',
    name,
    value: { name, type: 'EDS', connect_timeout: `${timeout}s`, eds_cluster_config: eds },
    requires: [resourceKey('eds', assignment)],
  });
}

export function endpoints(name: string, port: number): Resource {
  const address = { socket_address: { address: '127.0.0.1', port_value: port } };
  return createResource({
    type: 'eds',
    name,
    value: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  });
}

export function routes(name: string, clusterName: string, path = '/'): Resource {
  const route = { match: { prefix: path }, route: { cluster: clusterName } };
  return createResource({
    type: 'rds',
    name,
    value: { name, virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
    requires: [resourceKey('cds', clusterName)],
    origins: [`HTTPProxy default/${name}`],
  });
}

export function listener(name: string, port: number, routeName: string): Resource {
  const router = { name: 'router', typed_config: typed('envoy.extensions.filters.http.router.v3.Router') };
  const manager = typed(HCM, {
    stat_prefix: name,
    rds: { route_config_name: routeName, config_source: CONFIG_SOURCE },
    http_filters: [router],
  });
  return createResource({
    type: 'lds',
    name,
    value: {
      name,
      address: { socket_address: { address: '127.0.0.1', port_value: port } },
      filter_chains: [{ filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] }],
    },
  });
}

export function put(store: ResourceStore, ...resources: readonly Resource[]): void {
  store.take(resources.map((resource) => [resource.key, resource]));
}

export function remove(store: ResourceStore, type: ResourceType, name: string): void {
  store.take([[resourceKey(type, name), undefined]]);
}

export interface Stage {
  readonly store: ResourceStore;
  readonly server: XdsServer;
  readonly client: XdsClient;
  /** Resolves with the first report that fits, also when it was made before. */
  report(fits: (report: NodeReport) => boolean): Promise<NodeReport>;
}

export async function createXdsStage(context: TestContext, options: Partial<XdsServerOptions> = {}): Promise<Stage> {
  const store = createResourceStore();
  const reports: NodeReport[] = [];
  const waiting: { fits(report: NodeReport): boolean; resolve(report: NodeReport): void }[] = [];
  const server = await startXdsServer({
    store,
    address: '127.0.0.1',
    port: 0,
    onReport(report) {
      reports.push(report);
      for (const waiter of waiting.filter(({ fits }) => fits(report))) waiter.resolve(report);
    },
    ...options,
  });
  const client = connectXds({ host: '127.0.0.1', port: server.port, nodeId: 'envoy-1' });
  context.after(async () => {
    await client.close();
    await server.close();
  });
  return {
    store,
    server,
    client,
    report: (fits) =>
      new Promise((resolve) => {
        const found = reports.findLast(fits);
        if (found) resolve(found);
        else waiting.push({ fits, resolve });
      }),
  };
}

export interface SlowConnection {
  readonly port: number;
  /** The server's messages wait until `resume`. */
  halt(): void;
  resume(): void;
}

/** A way to a server that can be held up, as when a client gets no processor. */
export async function startSlowConnection(context: TestContext, serverPort: number): Promise<SlowConnection> {
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  const relay = createServer((downstream) => {
    const upstream = connect(serverPort, '127.0.0.1');
    upstreams.add(upstream);
    for (const socket of [upstream, downstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
    }
    downstream.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => downstream.write(chunk));
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return {
    port: (relay.address() as AddressInfo).port,
    halt: () => upstreams.forEach((socket) => socket.pause()),
    resume: () => upstreams.forEach((socket) => socket.resume()),
  };
}

/** The message of a resource of this type, as clients get it. */
export function decoded<Type extends ResourceType>(
  _type: Type,
  resource: Resource,
  shape: Shape = 'whole',
): ResourceMessage<Type> {
  return decode('google.protobuf.Any', resource.bytes('ads', shape)) as ResourceMessage<Type>;
}
