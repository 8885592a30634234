// The ingress of the measurement: from proxies, services, slices and secrets to routes and endpoints that a sink delivers.
import { EndpointSlice, externalKind, type Kind, type KubeObject, Secret, Service } from '@capstan/kube';
import { derivation, index, type Operator, operator, reading, type SinkBatch, sink } from '@capstan/reconcile';
import { ingressObjects, type Proxy, SERVICE_NAME } from '../../ingress-objects.ts';

export const ProxyKind: Kind<KubeObject & Proxy> = externalKind<KubeObject & Proxy>({
  group: 'bench.capstan.dev',
  version: 'v1',
  kind: 'Proxy',
  plural: 'proxies',
  scope: 'Namespaced',
});

const slicesOf = index(EndpointSlice, 'by service', ({ metadata }) => [
  `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME] ?? ''}`,
]);
const portsOf = ({ spec }: Service) => spec?.ports;
const certificateOf = ({ data }: Secret) => data?.['tls.crt'];
const addressesOf = ({ endpoints }: EndpointSlice) =>
  (endpoints ?? []).map(({ addresses, conditions }) => ({ addresses, ready: conditions?.ready }));
const specOf = ({ spec }: KubeObject & Proxy) => spec;

const refOf = (key: string) => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};

const cluster = derivation({
  name: 'cluster',
  compute({ key, read }) {
    const ports = read.get(Service, refOf(key), portsOf) ?? [];
    return { name: key, ports: ports.map(({ name, port }) => `${name ?? ''}:${port}`) };
  },
});

const routes = derivation({
  name: 'routes',
  compute({ key, read }) {
    const { namespace } = refOf(key);
    const spec = read.get(ProxyKind, refOf(key), specOf);
    if (spec === undefined) return undefined;
    const { fqdn, tls } = spec.virtualhost;
    return {
      fqdn,
      certificate: read.get(Secret, { namespace, name: tls.secretName }, certificateOf)?.length ?? 0,
      routes: spec.routes.map(({ prefix, services }) => ({
        prefix,
        clusters: services.map(({ name, weight }) => ({ ...read.derived(cluster, `${namespace}/${name}`), weight })),
      })),
    };
  },
});

const endpoints = derivation({
  name: 'endpoints',
  compute: ({ key, read }) => read.by(slicesOf, key, addressesOf).flat(),
});

const READS = [
  reading(ProxyKind, 'everywhere'),
  reading(Service, 'everywhere'),
  reading(EndpointSlice, 'everywhere'),
  reading(Secret, 'everywhere'),
];

/** `taken` hears of every batch, as soon as a sink gets it. */
export function ingressOperator(taken: (sink: string, batch: SinkBatch<unknown>) => void): Operator {
  const open = (name: string) => () => ({ take: (batch: SinkBatch<unknown>) => taken(name, batch) });
  return operator({
    name: 'ingress',
    kinds: [],
    reconcilers: [],
    sinks: [
      sink({ name: 'routes', of: routes, keys: ProxyKind, reads: READS, lease: 'none', open: open('routes') }),
      sink({ name: 'endpoints', of: endpoints, keys: Service, reads: READS, lease: 'none', open: open('endpoints') }),
    ],
  });
}

/** The objects by kind, as a server has them. */
export function objectsByKind(size: number) {
  const { proxies, services, slices, secrets } = ingressObjects(size);
  const as = <T>(kind: Kind, all: Iterable<T>) => ({
    kind,
    objects: [...all].map((one) => ({ apiVersion: kind.apiVersion, kind: kind.kind, ...one }) as unknown as KubeObject),
  });
  return {
    proxies: as(ProxyKind, proxies.values()),
    services: as(Service, services.values()),
    slices: as(EndpointSlice, slices.values()),
    secrets: as(Secret, secrets.values()),
  };
}
