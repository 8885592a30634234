// The Gateway API on an embedded API server: its kinds without their schemas, and objects to put there.
import { randomBytes } from 'node:crypto';
import {
  type Client,
  CustomResourceDefinition,
  externalKind,
  type Kind,
  type KubeObject,
  Namespace,
} from '@capstan/kube';
import { GATEWAY_GROUP } from '../../src/gateway/api/references.ts';
import { type Gateway, type GatewayClass, gatewayKinds, type HTTPRoute } from '../../src/gateway/index.ts';
import { CONTROLLER } from './controller.ts';

export const kinds = gatewayKinds();
/** A name that no default knows: the same manifests behave alike in every namespace. */
export const NAMESPACE = `edge-${randomBytes(4).toString('hex')}`;
export const at = (name: string, namespace = NAMESPACE) => ({ namespace, name });
const apiVersion = `${GATEWAY_GROUP}/v1`;
const other = (kind: string) =>
  externalKind({
    group: GATEWAY_GROUP,
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: 'Namespaced',
    hasStatus: true,
  });
export const UDPRoute = other('UDPRoute');
export const ListenerSet = other('ListenerSet');
export const unsupported = (kind: string) => ({ apiVersion, kind, metadata: at('dns') });

/** With the namespace of the objects. The schemas allow everything: these tests are not about the refusals of the real schemas. */
export async function installKinds(client: Client): Promise<void> {
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const own: readonly Kind[] = Object.values(kinds);
  for (const { kind, plural, scope, hasStatus = false } of [...own, UDPRoute, ListenerSet])
    await client.create(CustomResourceDefinition, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: `${plural}.${GATEWAY_GROUP}`,
        annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
      },
      spec: {
        group: GATEWAY_GROUP,
        scope,
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            ...(hasStatus && { subresources: { status: {} } }),
          },
        ],
      },
    });
}

export const gatewayClass = (spec: Partial<GatewayClass['spec']> = {}): GatewayClass => ({
  apiVersion,
  kind: 'GatewayClass',
  metadata: { name: 'sesame' },
  spec: { controllerName: CONTROLLER, ...spec },
});

export const gateway = (name: string, spec: Partial<Gateway['spec']> = {}): Gateway => ({
  apiVersion,
  kind: 'Gateway',
  metadata: at(name),
  spec: { gatewayClassName: 'sesame', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }], ...spec },
});

export const httpRoute = (name: string, parent: string, spec: Partial<HTTPRoute['spec']> = {}): HTTPRoute => ({
  apiVersion,
  kind: 'HTTPRoute',
  metadata: at(name),
  spec: {
    parentRefs: [{ name: parent }],
    rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }],
    ...spec,
  },
});

export const service = (name: string) => ({
  apiVersion: 'v1' as const,
  kind: 'Service' as const,
  metadata: at(name),
  spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' as const, targetPort: 8080 }] },
});

/** `Type=Status/Reason`. */
export function brief(conditions: readonly { type: string; status: string; reason: string }[] | undefined): string[] {
  return (conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`).toSorted();
}

export async function versionOf<T extends KubeObject>(client: Client, kind: Kind<T>, name: string): Promise<string> {
  return (await client.get(kind, at(name))).metadata.resourceVersion ?? '';
}
