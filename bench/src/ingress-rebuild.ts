// The peer of the incremental graph: plain functions compute the same outputs from the same objects, from the start each time. It does not
// find out which outputs changed; a server would have to compare them in addition.
import { type IngressObjects, type Proxy, SERVICE_NAME, type Slice, split } from './ingress-objects.ts';

export interface IngressOutputs {
  readonly endpoints: Map<string, readonly string[]>;
  readonly cluster: Map<string, unknown>;
  readonly certificate: Map<string, unknown>;
  readonly host: Map<string, unknown>;
  readonly status: Map<string, unknown>;
  readonly listener: readonly { host: string | undefined; secret: string }[];
}

export function rebuildIngress({ proxies, services, slices, secrets }: IngressObjects): IngressOutputs {
  const outputs = {
    endpoints: new Map<string, readonly string[]>(),
    cluster: new Map<string, unknown>(),
    certificate: new Map<string, unknown>(),
    host: new Map<string, unknown>(),
    status: new Map<string, unknown>(),
    listener: [] as { host: string | undefined; secret: string }[],
  };
  const slicesOf = groupBy(slices, (slice) => `${slice.metadata.namespace}/${slice.metadata.labels[SERVICE_NAME]}`);
  const proxiesOf = groupBy(proxies, (proxy) => proxy.spec.virtualhost.fqdn);
  const portsOf = new Map<string, Record<string, number>>();
  for (const [key, service] of services) {
    const ports = Object.fromEntries(service.spec.ports.map(({ name, port }) => [name, port]));
    portsOf.set(key, ports);
    const members = (slicesOf.get(key) ?? []).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const endpoints = members.flatMap(([, slice]) => addressesOf(slice));
    outputs.endpoints.set(key, endpoints);
    outputs.cluster.set(key, { name: key, ports, ip: service.spec.clusterIP, hasEndpoints: endpoints.length > 0 });
  }
  for (const [key, proxy] of [...proxies].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { virtualhost } = proxy.spec;
    const secretKey = `${split(key)[0]}/${virtualhost.tls.secretName}`;
    const secret = secrets.get(secretKey);
    const tls = secret !== undefined;
    if (tls) outputs.certificate.set(secretKey, { crt: secret.data['tls.crt'], key: secret.data['tls.key'] });
    const routes = routesOf(key, proxy, portsOf);
    const owner = (proxiesOf.get(virtualhost.fqdn) ?? []).map(([each]) => each).toSorted()[0];
    outputs.host.set(key, { fqdn: virtualhost.fqdn, routes: owner === key ? routes : [], tls });
    outputs.listener.push({ host: tls ? virtualhost.fqdn : undefined, secret: secretKey });
    const targets = routes.flatMap(({ clusters }) => clusters);
    const missing = targets.flatMap((target) => ('missing' in target ? [target.missing] : []));
    const used = new Set(targets.flatMap((target) => ('cluster' in target ? [target.cluster] : [])));
    const unready = [...used].filter((name) => (outputs.endpoints.get(name) ?? []).length === 0);
    outputs.status.set(key, {
      generation: proxy.metadata.generation,
      missing,
      unready,
      tls,
      valid: missing.length === 0,
    });
  }
  return outputs;
}

type Target = { missing: string } | { cluster: string; weight: number };

function routesOf(
  key: string,
  proxy: Proxy,
  portsOf: ReadonlyMap<string, Record<string, number>>,
): { prefix: string; clusters: Target[] }[] {
  const [namespace] = split(key);
  return proxy.spec.routes.map(({ prefix, services }) => ({
    prefix,
    clusters: services.map(({ name, port, weight }) =>
      portsOf.get(`${namespace}/${name}`)?.[port] === undefined
        ? { missing: `${name}:${port}` }
        : { cluster: `${namespace}/${name}`, weight },
    ),
  }));
}

function addressesOf(slice: Slice): string[] {
  return slice.endpoints.filter(({ ready }) => ready).flatMap(({ addresses }) => addresses);
}

function groupBy<V>(objects: ReadonlyMap<string, V>, keyOf: (object: V) => string): Map<string, [string, V][]> {
  const groups = new Map<string, [string, V][]>();
  for (const entry of objects) {
    const key = keyOf(entry[1]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return groups;
}
