// The object that caches hold in these measurements: an ingress resource of about 2 KB of JSON, no two alike.
import { array, conditions, defineKind, integer, type KindOf, object, optional, string } from '@capstan/kube';

export const WebProxy = defineKind({
  group: 'bench.capstan.dev',
  version: 'v1',
  kind: 'WebProxy',
  plural: 'webproxies',
  scope: 'Namespaced',
  spec: object({
    host: string(),
    certificate: string(),
    /** A ConfigMap, a Secret of the same namespace and a Region that the proxy's reconcile reads. */
    settings: optional(string()),
    credentials: optional(string()),
    region: optional(string()),
    routes: array(
      object({
        prefix: string(),
        services: array(object({ name: string(), port: integer(), weight: integer() })),
        response: string(),
        idle: string(),
        retries: integer(),
      }),
    ),
  }),
  status: object({ conditions: conditions(), address: optional(string()), summary: optional(string()) }),
});
export type WebProxy = KindOf<typeof WebProxy>;

export type References = Pick<WebProxy['spec'], 'settings' | 'credentials' | 'region'>;

export const NAMESPACES = 50;

export function namespaceOf(index: number): string {
  return `team-${index % NAMESPACES}`;
}

export function nameOf(index: number): string {
  return `proxy-${index}`;
}

export function webProxy(index: number, references: References = {}): WebProxy {
  const service = (route: number, suffix: string, weight: number) => ({
    name: `service-${index % 1000}-${route}${suffix}`,
    port: 8080,
    weight,
  });
  return {
    apiVersion: WebProxy.apiVersion,
    kind: WebProxy.kind,
    metadata: {
      name: nameOf(index),
      namespace: namespaceOf(index),
      labels: {
        'app.kubernetes.io/name': `application-${index % 200}`,
        'app.kubernetes.io/part-of': `suite-${index % 20}`,
        'app.kubernetes.io/managed-by': 'bench',
        tier: 'frontend',
      },
      annotations: {
        'bench.capstan.dev/contact': `owner-${index % 30}@example.com`,
        'bench.capstan.dev/description': `The front of application ${index % 200}; see the runbook before changing its weights.`,
      },
    },
    spec: {
      host: `host-${index}.example.com`,
      certificate: `certificate-${index}`,
      ...references,
      routes: Array.from({ length: 6 }, (_, route) => ({
        prefix: `/path-${route}/of/proxy-${index}`,
        services: [service(route, '', 90), service(route, '-canary', 10)],
        response: '30s',
        idle: '5m',
        retries: 3,
      })),
    },
  };
}

/** The same as a server lists it: with the server's metadata, and a status. */
export function listedWebProxy(index: number, hasManagedFields: boolean): WebProxy {
  const proxy = webProxy(index);
  return {
    ...proxy,
    metadata: {
      ...proxy.metadata,
      uid: `0d1c7e7e-1111-4222-8333-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000_000 + index),
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(hasManagedFields ? { managedFields: MANAGED_FIELDS } : {}),
    },
    status: {
      address: `10.0.${(index >> 8) & 255}.${index & 255}`,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Programmed',
          message: 'the proxy is programmed',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          observedGeneration: 3,
        },
      ],
    },
  };
}

const MANAGED_FIELDS: WebProxy['metadata']['managedFields'] = [
  {
    manager: 'kubectl',
    operation: 'Apply',
    apiVersion: 'bench.capstan.dev/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': { 'f:labels': { '.': {}, 'f:tier': {}, 'f:app.kubernetes.io/name': {} } },
      'f:spec': { 'f:host': {}, 'f:certificate': {}, 'f:routes': {} },
    },
  },
  {
    manager: 'bench',
    operation: 'Update',
    apiVersion: 'bench.capstan.dev/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:status': { 'f:address': {}, 'f:conditions': { '.': {}, 'k:{"type":"Ready"}': {} } } },
    subresource: 'status',
  },
];
