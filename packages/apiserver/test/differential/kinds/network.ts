import { type GeneratedKind, maybe, subset } from './kind.ts';

const PORTS = [
  { port: 80, name: 'http' },
  { port: 443, name: 'https', targetPort: 'tls' },
  { port: 53, name: 'dns', protocol: 'UDP' },
  { port: 80, name: 'again' },
  { port: 0, name: 'zero' },
  { port: 8080 },
];

export const services: GeneratedKind = {
  collection: '/api/v1/namespaces/{ns}/services',
  apiVersion: 'v1',
  kind: 'Service',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.95, () => ({ ports: random.chance(0.7) ? [random.pick(PORTS)] : subset(random, PORTS) })),
      ...maybe(random, 0.8, () => ({ selector: { app: 'x' } })),
      ...maybe(random, 0.4, () => ({
        type: random.pick(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName', 'Other']),
      })),
      ...maybe(random, 0.15, () => ({ clusterIP: random.pick(['None', 'x', '']) })),
      ...maybe(random, 0.1, () => ({ externalName: 'example.com' })),
      ...maybe(random, 0.15, () => ({ sessionAffinity: random.pick(['ClientIP', 'None', 'Some']) })),
      ...maybe(random, 0.15, () => ({ externalTrafficPolicy: random.pick(['Local', 'Cluster', 'Near']) })),
      ...maybe(random, 0.1, () => ({ publishNotReadyAddresses: true })),
      ...maybe(random, 0.1, () => ({ externalIPs: [random.pick(['192.0.2.1', '127.0.0.1', 'x'])] })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { selector: { app: 'y' } } },
      { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
      { spec: { ports: [{ port: 90, name: 'n' }] } },
      { spec: { type: random.pick(['NodePort', 'ClusterIP', 'ExternalName', 'LoadBalancer']) } },
      { spec: { clusterIP: random.pick(['None', null, '10.96.1.1']) } },
      { spec: { sessionAffinity: 'ClientIP' } },
      { spec: { selector: null } },
      { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'add', path: '/spec/ports/-', value: { port: 81, name: 'more' } }],
      [{ op: 'remove', path: '/spec/selector' }],
      [{ op: 'replace', path: '/spec/ports/0/port', value: 8081 }],
      [{ op: 'remove', path: '/spec/ports' }],
    ]),
  applied: (random) => ({
    spec: {
      ...maybe(random, 0.8, () => ({
        ports: random.pick<object[]>([
          [{ port: 80 }],
          [
            { port: 80, name: 'http' },
            { port: 443, name: 'https' },
          ],
          [
            { port: 80, name: 'tcp', protocol: 'TCP' },
            { port: 80, name: 'udp', protocol: 'UDP' },
          ],
          [
            { port: 80, name: 'a' },
            { port: 80, name: 'b' },
          ],
        ]),
      })),
      ...maybe(random, 0.5, () => ({ selector: { [random.pick(['app', 'tier'])]: random.pick(['x', 'y']) } })),
      ...maybe(random, 0.2, () => ({ type: random.pick(['NodePort', 'ClusterIP']) })),
    },
  }),
  status: () => ({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }),
  fieldSelectors: ['spec.type=ClusterIP', 'spec.clusterIP=None', 'metadata.name=a'],
};

const backend = (name: string) => ({ service: { name, port: { number: 80 } } });

export const ingresses: GeneratedKind = {
  collection: '/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses',
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.3, () => ({ ingressClassName: random.pick(['own', 'Not A Name']) })),
      ...maybe(random, 0.3, () => ({
        defaultBackend: random.pick<object>([backend('a'), { service: { name: 'a' } }, {}]),
      })),
      ...maybe(random, 0.8, () => ({
        rules: subset(random, [
          { host: 'a.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: backend('a') }] } },
          { host: '*.example.com', http: { paths: [{ path: 'x', pathType: 'Exact', backend: backend('b') }] } },
          { http: { paths: [{ pathType: 'ImplementationSpecific', backend: backend('a') }] } },
          { host: 'Bad_Host', http: { paths: [{ path: '/', backend: backend('a') }] } },
          { host: '1.2.3.4' },
        ]),
      })),
      ...maybe(random, 0.3, () => ({ tls: [{ hosts: ['a.example.com'], secretName: 'a' }] })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { ingressClassName: 'other' } },
      { spec: { rules: null } },
      { spec: { tls: [{ hosts: ['*.*.com'] }] } },
    ]),
  operations: () => [{ op: 'remove', path: '/spec/rules/0' }],
  applied: (random) => ({
    spec: {
      ...maybe(random, 0.6, () => ({ ingressClassName: random.pick(['own', 'two']) })),
      defaultBackend: backend(random.pick(['a', 'b'])),
    },
  }),
  status: () => ({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }),
  fieldSelectors: ['metadata.name=a'],
};

export const endpointSlices: GeneratedKind = {
  collection: '/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices',
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.95, () => ({ addressType: random.pick(['IPv4', 'IPv6', 'FQDN', 'Odd', 'IPv4']) })),
    ...maybe(random, 0.9, () => ({
      endpoints: subset(random, [
        { addresses: ['192.0.2.1'], conditions: { ready: true } },
        { addresses: ['192.0.2.2', '192.0.2.3'], nodeName: 'n' },
        { addresses: [] },
        { addresses: ['127.0.0.1'] },
        { addresses: ['2001:db8::1'] },
      ]),
    })),
    ...maybe(random, 0.7, () => ({
      ports: subset(random, [{ name: 'a', port: 80 }, { name: '', port: 81 }, { name: 'a', port: 82 }, {}]),
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { endpoints: [{ addresses: ['192.0.2.9'] }] },
      { addressType: 'IPv6' },
      { ports: null },
      { endpoints: null },
    ]),
  operations: () => [{ op: 'add', path: '/endpoints/-', value: { addresses: ['192.0.2.5'] } }],
  applied: (random) => ({
    addressType: 'IPv4',
    endpoints: [{ addresses: [random.pick(['192.0.2.1', '192.0.2.2'])] }],
    ports: [{ name: 'a', port: random.pick([80, 81]) }],
  }),
  fieldSelectors: ['metadata.name=a'],
};

export const budgets: GeneratedKind = {
  collection: '/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets',
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.6, () => ({ minAvailable: random.pick<unknown>([1, '50%', -1, 'x', '150%']) })),
      ...maybe(random, 0.4, () => ({ maxUnavailable: random.pick<unknown>([1, '50%']) })),
      ...maybe(random, 0.9, () => ({
        selector: random.pick<object>([
          { matchLabels: { app: 'x' } },
          {},
          { matchExpressions: [{ key: 'a', operator: 'In' }] },
        ]),
      })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([{ spec: { minAvailable: 2 } }, { spec: { selector: null } }]),
  operations: () => [{ op: 'remove', path: '/spec/minAvailable' }],
  applied: (random) => ({ spec: { minAvailable: random.pick([1, 2]), selector: { matchLabels: { app: 'x' } } } }),
  status: () => ({ disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 0, expectedPods: 1 }),
  fieldSelectors: ['metadata.name=a'],
};
