// A graph in the shape of an ingress controller, for measuring: n proxies, n services, 2n endpoint slices, n secrets.
// Per proxy 8 nodes (routes, host, chain, status; per service ports, endpoints, cluster; per secret one) and 29 edges,
// and one listener over all chains, in chunks.
import { type Engine, fields, type Table, type Tracker } from '@capstan/reconcile';

export interface Proxy {
  metadata: { namespace: string; name: string; generation: number; labels: Record<string, string> };
  spec: {
    virtualhost: { fqdn: string; tls: { secretName: string } };
    routes: { prefix: string; services: { name: string; port: string; weight: number }[] }[];
  };
  status: { conditions: { type: string; status: string; lastTransitionTime: number }[] };
}

export interface Service {
  metadata: { namespace: string; name: string; labels: Record<string, string> };
  spec: { ports: { name: string; port: number; targetPort: number }[]; clusterIP: string };
}

export interface Slice {
  metadata: { namespace: string; name: string; labels: Record<string, string> };
  endpoints: { addresses: string[]; nodeName: string; ready: boolean }[];
}

export interface SecretObject {
  metadata: { namespace: string; name: string };
  data: Record<string, string>;
}

export interface IngressGraph {
  proxies: Table<Proxy>;
  services: Table<Service>;
  slices: Table<Slice>;
  secrets: Table<SecretObject>;
  size: number;
  /** Puts changed objects; a flush then settles the graph. */
  edit: Record<IngressEdit, (i: number, version: number) => void>;
}

export type IngressEdit =
  | 'status'
  | 'route'
  | 'endpoint'
  | 'nodeName'
  | 'secret'
  | 'listener'
  | 'serviceDelete'
  | 'servicePut';

/** Declares the graph and puts its objects; the first flush builds it. `wide` makes the listener read every chain itself. */
export function buildIngressGraph(engine: Engine, size: number, options: { wide?: boolean } = {}): IngressGraph {
  const labels = (object: { metadata: { labels: Record<string, string> } }) => object.metadata.labels;
  const proxies = engine.table<Proxy>({ name: 'HTTPProxy', labels });
  const services = engine.table<Service>({ name: 'Service', labels });
  const slices = engine.table<Slice>({ name: 'EndpointSlice', labels });
  const secrets = engine.table<SecretObject>({ name: 'Secret', sensitive: true });
  declare(engine, { proxies, services, slices, secrets }, options.wide ?? false);
  for (let i = 0; i < size; i++) {
    proxies.put(keyOf('proxy', i), proxy(i, size, 0));
    services.put(keyOf('service', i), service(i));
    secrets.put(keyOf('secret', i), secret(i, 0));
    for (const half of [0, 1]) slices.put(keyOf(`slice-${half}`, i), slice(i, half, 0, 0));
  }
  for (const table of [proxies, services, slices, secrets]) table.synced();
  return {
    proxies,
    services,
    slices,
    secrets,
    size,
    edit: {
      status(i, version) {
        const before = proxy(i, size, 0);
        proxies.put(keyOf('proxy', i), { ...before, status: { conditions: [condition(version)] } });
      },
      route: (i, version) => proxies.put(keyOf('proxy', i), proxy(i, size, version)),
      endpoint: (i, version) => slices.put(keyOf('slice-0', i), slice(i, 0, version, 0)),
      nodeName: (i, version) => slices.put(keyOf('slice-0', i), slice(i, 0, 0, version)),
      secret: (i, version) => secrets.put(keyOf('secret', i), secret(i, version)),
      listener(i, version) {
        const before = proxy(i, size, 0);
        const virtualhost = { ...before.spec.virtualhost, fqdn: `host-${i}-${version}.example.com` };
        proxies.put(keyOf('proxy', i), { ...before, spec: { ...before.spec, virtualhost } });
      },
      serviceDelete: (i) => services.delete(keyOf('service', i)),
      servicePut: (i) => services.put(keyOf('service', i), service(i)),
    },
  };
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

function declare(engine: Engine, { proxies, services, slices, secrets }: Tables, wide: boolean): void {
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
    : engine.chunked({
        name: 'listener',
        sink: true,
        table: proxies,
        part: chain,
        chunk: (parts) => parts.map(({ part }) => part),
        join: (chunks) => chunks,
      });
  engine.each(proxies, {}, status);
  engine.each(services, {}, cluster);
  engine.hold(listener, '');
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
  const key = 'kubernetes.io/service-name';
  return {
    terms: [{ key, operator: 'In' as const, values: [name] }],
    canonical: `${key}=${name}`,
    matches: (labels: Readonly<Record<string, string>> | undefined) => labels?.[key] === name,
  };
}

const NAMESPACES = 20;

function keyOf(name: string, i: number): string {
  return `ns-${i % NAMESPACES}/${name}-${i}`;
}

function split(key: string): [string, string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}

function proxy(i: number, size: number, version: number): Proxy {
  const namespace = `ns-${i % NAMESPACES}`;
  // Services of the same namespace, so that each is used by about five proxies.
  const target = (step: number, weight: number) => ({
    name: `service-${(i + step * NAMESPACES * 7) % size}`,
    port: 'http',
    weight,
  });
  return {
    metadata: {
      namespace,
      name: `proxy-${i}`,
      generation: 1,
      labels: { app: `app-${i % 100}`, team: `team-${i % 7}` },
    },
    spec: {
      virtualhost: { fqdn: `host-${i}.example.com`, tls: { secretName: `secret-${i}` } },
      routes: [
        { prefix: '/', services: [target(0, 50 + version), target(1, 50)] },
        { prefix: '/api', services: [target(2, 90), target(3, 10)] },
        { prefix: '/static', services: [target(4, 100)] },
      ],
    },
    status: { conditions: [condition(0)] },
  };
}

function condition(version: number) {
  return { type: 'Valid', status: 'True', lastTransitionTime: version };
}

function service(i: number): Service {
  return {
    metadata: { namespace: `ns-${i % NAMESPACES}`, name: `service-${i}`, labels: { app: `app-${i % 100}` } },
    spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }], clusterIP: `10.0.${(i >> 8) & 255}.${i & 255}` },
  };
}

function slice(i: number, half: number, version: number, node: number): Slice {
  return {
    metadata: {
      namespace: `ns-${i % NAMESPACES}`,
      name: `slice-${half}-${i}`,
      labels: { 'kubernetes.io/service-name': `service-${i}` },
    },
    endpoints: [0, 1, 2].map((e) => ({
      addresses: [`10.${half}.${i & 255}.${(e + version) & 255}`],
      nodeName: `node-${(i + e + node) % 50}`,
      ready: true,
    })),
  };
}

function secret(i: number, version: number): SecretObject {
  const filler = 'c'.repeat(400);
  return {
    metadata: { namespace: `ns-${i % NAMESPACES}`, name: `secret-${i}` },
    data: { 'tls.crt': `${filler}${i}-${version}`, 'tls.key': `${filler}key${i}-${version}` },
  };
}
