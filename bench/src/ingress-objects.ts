// The objects of the ingress-like graph: n proxies, n services, 2n endpoint slices, n secrets, spread over namespaces.

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

export interface IngressObjects {
  readonly proxies: Map<string, Proxy>;
  readonly services: Map<string, Service>;
  readonly slices: Map<string, Slice>;
  readonly secrets: Map<string, SecretObject>;
}

export interface ObjectOptions {
  /** Every proxy uses service 0, besides its own; all objects are in one namespace then. */
  readonly hub?: boolean;
}

export function ingressObjects(size: number, options: ObjectOptions = {}): IngressObjects {
  const objects: IngressObjects = { proxies: new Map(), services: new Map(), slices: new Map(), secrets: new Map() };
  for (let i = 0; i < size; i++) {
    objects.proxies.set(keyOf('proxy', i, options), proxy(i, size, options));
    objects.services.set(keyOf('service', i, options), service(i, options));
    objects.secrets.set(keyOf('secret', i, options), secret(i, 0, options));
    for (const half of [0, 1]) objects.slices.set(keyOf(`slice-${half}`, i, options), slice(i, half, options));
  }
  return objects;
}

const NAMESPACES = 20;

function namespaceOf(i: number, { hub }: ObjectOptions): string {
  return hub ? 'ns-0' : `ns-${i % NAMESPACES}`;
}

export function keyOf(name: string, i: number, options: ObjectOptions = {}): string {
  return `${namespaceOf(i, options)}/${name}-${i}`;
}

export function proxy(i: number, size: number, options: ObjectOptions = {}): Proxy {
  // Services of the same namespace, so that each is used by about five proxies.
  const target = (step: number, weight: number) => ({
    name: `service-${(i + step * NAMESPACES * 7) % size}`,
    port: 'http',
    weight,
  });
  const shared = options.hub ? [{ name: 'service-0', port: 'http', weight: 1 }] : [];
  return {
    metadata: {
      namespace: namespaceOf(i, options),
      name: `proxy-${i}`,
      generation: 1,
      labels: { app: `app-${i % 100}`, team: `team-${i % 7}` },
    },
    spec: {
      virtualhost: { fqdn: `host-${i}.example.com`, tls: { secretName: `secret-${i}` } },
      routes: [
        { prefix: '/', services: [target(0, 50), target(1, 50)] },
        { prefix: '/api', services: [target(2, 90), target(3, 10)] },
        { prefix: '/static', services: [target(4, 100), ...shared] },
      ],
    },
    status: { conditions: [condition(0)] },
  };
}

export function condition(version: number) {
  return { type: 'Valid', status: 'True', lastTransitionTime: version };
}

export function service(i: number, options: ObjectOptions = {}): Service {
  return {
    metadata: { namespace: namespaceOf(i, options), name: `service-${i}`, labels: { app: `app-${i % 100}` } },
    spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }], clusterIP: `10.0.${(i >> 8) & 255}.${i & 255}` },
  };
}

function slice(i: number, half: number, options: ObjectOptions): Slice {
  return {
    metadata: {
      namespace: namespaceOf(i, options),
      name: `slice-${half}-${i}`,
      labels: { [SERVICE_NAME]: `service-${i}` },
    },
    endpoints: [0, 1, 2].map((e) => ({
      addresses: [`10.${half}.${i & 255}.${e}`],
      nodeName: `node-${(i + e) % 50}`,
      ready: true,
    })),
  };
}

export const SERVICE_NAME = 'kubernetes.io/service-name';

export function secret(i: number, version: number, options: ObjectOptions = {}): SecretObject {
  const filler = 'c'.repeat(400);
  return {
    metadata: { namespace: namespaceOf(i, options), name: `secret-${i}` },
    data: { 'tls.crt': `${filler}${i}-${version}`, 'tls.key': `${filler}key${i}-${version}` },
  };
}

/** Namespace and name. */
export function split(key: string): [string, string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}
