// A graph in the shape of an ingress controller, for measuring: n proxies, n services, 2n endpoint slices, n secrets.
// Per proxy 8 nodes (routes, host, chain, status; per service ports, endpoints, cluster; per secret one) and 29 edges,
// and one listener over all chains, in chunks.
import { type Engine, fields, type Table, type Tracker } from '@capstan/reconcile';
import { createChunked } from './chunked-join.ts';
import {
  condition,
  ingressObjects,
  keyOf,
  type ObjectOptions,
  type Proxy,
  SERVICE_NAME,
  type SecretObject,
  type Service,
  type Slice,
  secret,
  split,
} from './ingress-objects.ts';

export interface IngressGraph {
  readonly proxies: Table<Proxy>;
  readonly services: Table<Service>;
  readonly slices: Table<Slice>;
  readonly secrets: Table<SecretObject>;
  readonly size: number;
  /** The served values, by the name of their derivation. */
  readonly outputs: ReturnType<typeof declare>;
  /** Puts changed objects; a flush then settles the graph. As in a cache, the unchanged parts of an object keep their reference. */
  readonly edit: Record<IngressEdit, (i: number, version: number) => void>;
}

export type IngressEdit =
  | 'status'
  | 'route'
  | 'endpoint'
  | 'nodeName'
  | 'secret'
  | 'listener'
  | 'servicePort'
  | 'serviceDelete'
  | 'servicePut';

export interface GraphOptions extends ObjectOptions {
  /** The listener reads every chain itself, for comparison. */
  readonly wide?: boolean;
}

/** Declares the graph and puts its objects; the first flush builds it. */
export function buildIngressGraph(engine: Engine, size: number, options: GraphOptions = {}): IngressGraph {
  const labels = (object: { metadata: { labels: Record<string, string> } }) => object.metadata.labels;
  const proxies = engine.table<Proxy>({ name: 'HTTPProxy', labels });
  const services = engine.table<Service>({ name: 'Service', labels });
  const slices = engine.table<Slice>({ name: 'EndpointSlice', labels });
  const secrets = engine.table<SecretObject>({ name: 'Secret', sensitive: true });
  const tables = { proxies, services, slices, secrets };
  const outputs = declare(engine, tables, options.wide ?? false);
  const objects = ingressObjects(size, options);
  for (const [key, object] of objects.proxies) proxies.put(key, object);
  for (const [key, object] of objects.services) services.put(key, object);
  for (const [key, object] of objects.slices) slices.put(key, object);
  for (const [key, object] of objects.secrets) secrets.put(key, object);
  for (const table of [proxies, services, slices, secrets]) table.synced();

  const change = <V>(table: Table<V>, name: string, i: number, changed: (before: V) => V) => {
    const key = keyOf(name, i, options);
    const before = table.peek(key);
    if (before !== undefined) table.put(key, changed(before));
  };
  return {
    ...tables,
    size,
    outputs,
    edit: {
      status: (i, version) =>
        change(proxies, 'proxy', i, (before) => ({ ...before, status: { conditions: [condition(version)] } })),
      route: (i, version) => change(proxies, 'proxy', i, (before) => withWeight(before, version)),
      endpoint: (i, version) => change(slices, 'slice-0', i, (before) => withAddress(before, `10.9.9.${version}`)),
      nodeName: (i, version) => change(slices, 'slice-0', i, (before) => withNode(before, `node-${version}`)),
      secret: (i, version) => change(secrets, 'secret', i, () => secret(i, version, options)),
      listener: (i, version) =>
        change(proxies, 'proxy', i, (before) => withHost(before, `host-${i}-${version}.example.com`)),
      servicePort: (i, version) => change(services, 'service', i, (before) => withPort(before, `http-${version}`)),
      serviceDelete: (i) => services.delete(keyOf('service', i, options)),
      servicePut: (i) =>
        services.put(keyOf('service', i, options), objects.services.get(keyOf('service', i, options)) as Service),
    },
  };
}

export function withWeight(before: Proxy, weight: number): Proxy {
  const [first, ...others] = before.spec.routes as [Proxy['spec']['routes'][number], ...Proxy['spec']['routes']];
  const [target, ...targets] = first.services;
  const services = target === undefined ? [] : [{ ...target, weight }, ...targets];
  return { ...before, spec: { ...before.spec, routes: [{ ...first, services }, ...others] } };
}

function withHost(before: Proxy, fqdn: string): Proxy {
  const virtualhost = { ...before.spec.virtualhost, fqdn };
  return { ...before, spec: { ...before.spec, virtualhost } };
}

function withPort(before: Service, name: string): Service {
  const ports = before.spec.ports.map((port) => ({ ...port, name }));
  return { ...before, spec: { ...before.spec, ports } };
}

function withAddress(before: Slice, address: string): Slice {
  const [first, ...others] = before.endpoints as [Slice['endpoints'][number], ...Slice['endpoints']];
  return { ...before, endpoints: [{ ...first, addresses: [address] }, ...others] };
}

function withNode(before: Slice, nodeName: string): Slice {
  const [first, ...others] = before.endpoints as [Slice['endpoints'][number], ...Slice['endpoints']];
  return { ...before, endpoints: [{ ...first, nodeName }, ...others] };
}

const routesOf = fields('spec.routes');
const hostOf = (proxy: Proxy) => proxy.spec.virtualhost;
const generationOf = (proxy: Proxy) => proxy.metadata.generation;
const portsOf = (service: Service) => service.spec.ports;
const existing = () => true;
const addressesOf = (slice: Slice) =>
  slice.endpoints.filter(({ ready }) => ready).flatMap(({ addresses }) => addresses);
const certificateOf = (secret: SecretObject) => ({ crt: secret.data['tls.crt'], key: secret.data['tls.key'] });

type Tables = Pick<IngressGraph, 'proxies' | 'services' | 'slices' | 'secrets'>;

function declare(engine: Engine, { proxies, services, slices, secrets }: Tables, wide: boolean) {
  const byFqdn = engine.index(proxies, 'fqdn', (proxy) => [proxy.spec.virtualhost.fqdn]);
  const ports = engine.derive({
    name: 'ports',
    compute(key, read) {
      const found = read.get(services, key, portsOf);
      return found === undefined ? undefined : Object.fromEntries(found.map(({ name, port }) => [name, port]));
    },
  });
  const endpoints = engine.derive({
    name: 'endpoints',
    sink: true,
    compute(key, read) {
      const [namespace, name] = split(key);
      const exists = read.get(services, key, existing) ?? false;
      return exists ? read.list(slices, { namespace, selector: serviceName(name) }, addressesOf).flat() : [];
    },
  });
  const cluster = engine.derive({
    name: 'cluster',
    sink: true,
    compute: (key, read) => ({
      name: key,
      ports: read.derived(ports, key),
      ip: read.get(services, key, clusterIpOf),
      hasEndpoints: read.derived(endpoints, key, isNotEmpty),
    }),
  });
  const certificate = engine.derive({
    name: 'certificate',
    sink: true,
    compute: (key, read) => read.get(secrets, key, certificateOf),
  });
  const routes = engine.derive({
    name: 'routes',
    compute(key, read) {
      const found = read.get(proxies, key, routesOf)?.['spec.routes'] as Proxy['spec']['routes'] | undefined;
      const [namespace] = split(key);
      return (found ?? []).map(({ prefix, services: targets }) => ({
        prefix,
        clusters: targets.map(({ name, port, weight }) => {
          const known = read.derived(ports, `${namespace}/${name}`);
          return known?.[port] === undefined
            ? { missing: `${name}:${port}` }
            : { cluster: `${namespace}/${name}`, weight };
        }),
      }));
    },
  });
  const host = engine.derive({
    name: 'host',
    sink: true,
    compute(key, read) {
      const virtualhost = read.get(proxies, key, hostOf);
      if (virtualhost === undefined) return undefined;
      const [namespace] = split(key);
      const owner = read.keys(proxies, { index: [byFqdn, virtualhost.fqdn] })[0];
      const secretKey = `${namespace}/${virtualhost.tls.secretName}`;
      const tls = read.state(secrets, secretKey) === 'known' && read.derived(certificate, secretKey, isPresent);
      return { fqdn: virtualhost.fqdn, routes: owner === key ? read.derived(routes, key) : [], tls };
    },
  });
  const chain = engine.derive({
    name: 'chain',
    compute(key, read) {
      const virtualhost = read.get(proxies, key, hostOf);
      const [namespace] = split(key);
      return { host: read.derived(host, key, serverNameOf), secret: `${namespace}/${virtualhost?.tls.secretName}` };
    },
  });
  const status = engine.derive({
    name: 'status',
    sink: true,
    compute(key, read) {
      const generation = read.get(proxies, key, generationOf);
      const missing = read.derived(routes, key, missingOf);
      const unready = clustersOf(read, key).filter((name) => !read.derived(cluster, name, isReady));
      const tls = read.derived(host, key, hasTls);
      return { generation, missing, unready, tls, valid: missing.length === 0 };
    },
  });
  const clustersOf = (read: Tracker, key: string) => read.derived(routes, key, clusterNamesOf);
  const listener = wide
    ? engine.derive({
        name: 'listener',
        sink: true,
        compute: (_key, read) => read.keys(proxies).map((key) => read.derived(chain, key)),
      })
    : createChunked(engine, { name: 'listener', table: proxies, part: chain });
  engine.each(proxies, {}, status);
  engine.each(services, {}, cluster);
  engine.hold(listener, '');
  return { endpoints, cluster, certificate, host, status, listener };
}

const clusterIpOf = (service: Service) => service.spec.clusterIP;
const isNotEmpty = (addresses: readonly string[]) => addresses.length > 0;
const isPresent = (value: unknown) => value !== undefined;
const serverNameOf = (host: { fqdn: string; tls: boolean } | undefined) => (host?.tls ? host.fqdn : undefined);
const hasTls = (host: { tls: boolean } | undefined) => host?.tls ?? false;
const isReady = (cluster: { hasEndpoints: boolean }) => cluster.hasEndpoints;

type Routes = { prefix: string; clusters: ({ missing: string } | { cluster: string; weight: number })[] }[];
const missingOf = (routes: Routes) =>
  routes.flatMap(({ clusters }) => clusters.flatMap((target) => ('missing' in target ? [target.missing] : [])));
const clusterNamesOf = (routes: Routes) => [
  ...new Set(
    routes.flatMap(({ clusters }) => clusters.flatMap((target) => ('cluster' in target ? [target.cluster] : []))),
  ),
];

/** `kubernetes.io/service-name=NAME`, compiled. */
function serviceName(name: string) {
  const key = SERVICE_NAME;
  return {
    terms: [{ key, operator: 'In' as const, values: [name] }],
    canonical: `${key}=${name}`,
    matches: (labels: Readonly<Record<string, string>> | undefined) => labels?.[key] === name,
  };
}
