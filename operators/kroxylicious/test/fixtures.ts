// Objects and actions that the scenarios share.
import {
  type Client,
  ConfigMap,
  createCa,
  Deployment,
  issueCertificate,
  type Kind,
  type KubeObject,
  ReplicaSet,
  Secret,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../src/index.ts';

export const NAMESPACE = 'default';
const ref = (name: string) => ({ namespace: NAMESPACE, name });

/** Returns an object of any kind of the scenarios with the given parts. */
export function object(kind: Kind, name: string, parts: object = {}): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: ref(name), ...parts };
}

export const proxy = (spec: object = {}, name = 'my-proxy') => object(KafkaProxy, name, { spec });
export const service = (spec: object = { bootstrapServers: 'kafka.example:9092' }, name = 'upstream') =>
  object(KafkaService, name, { spec });
export const tcpIngress = (name = 'tcp', of = 'my-proxy') =>
  object(KafkaProxyIngress, name, { spec: { proxyRef: { name: of }, clusterIP: { protocol: 'TCP' } } });
export const tlsIngress = (name = 'tls', of = 'my-proxy') =>
  object(KafkaProxyIngress, name, { spec: { proxyRef: { name: of }, clusterIP: { protocol: 'TLS' } } });
export const balancerIngress = (name = 'outside') =>
  object(KafkaProxyIngress, name, {
    spec: {
      proxyRef: { name: 'my-proxy' },
      loadBalancer: {
        bootstrapAddress: '$(virtualClusterName).kafka.example',
        advertisedBrokerAddressPattern: 'broker-$(nodeId).$(virtualClusterName).kafka.example',
      },
    },
  });
export const filter = (configTemplate: object, name = 'encryption', type = 'RecordEncryption') =>
  object(KafkaProtocolFilter, name, { spec: { type, configTemplate } });

export function cluster(name: string, spec: object = {}): KubeObject {
  return object(VirtualKafkaCluster, name, {
    spec: {
      proxyRef: { name: 'my-proxy' },
      targetKafkaServiceRef: { name: 'upstream' },
      ingresses: [{ ingressRef: { name: 'tcp' } }],
      ...spec,
    },
  });
}

export function opaque(name: string, data: Record<string, string>): Secret {
  return { ...object(Secret, name), type: 'Opaque', data: encoded(data) };
}

export function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { ...object(ConfigMap, name), data };
}

export function tlsSecret(name: string, { certificate, key }: { certificate: string; key: string }): Secret {
  return {
    ...object(Secret, name),
    type: 'kubernetes.io/tls',
    data: encoded({ 'tls.crt': certificate, 'tls.key': key }),
  };
}

export function encoded(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}

/** Creates a certificate and its key, different ones in each call. */
export async function certificate(
  until = '2036-01-01T00:00:00Z',
): Promise<{ certificate: string; key: string; ca: string }> {
  const validity = { notBefore: Date.parse('2026-01-01T00:00:00Z'), notAfter: Date.parse(until) };
  const ca = await createCa({ commonName: 'test', ...validity });
  const issued = await issueCertificate({
    ca,
    commonName: 'proxy',
    dnsNames: ['proxy.example'],
    usages: ['server', 'client'],
    ...validity,
  });
  return { certificate: issued.certificate, key: issued.key, ca: ca.certificate };
}

/** Returns the smallest proxy that serves a cluster, by ports. */
export const minimal = (): KubeObject[] => [proxy(), service(), tcpIngress(), cluster('one')];

const KINDS: Record<string, Kind> = Object.fromEntries(
  [
    KafkaProxy,
    VirtualKafkaCluster,
    KafkaProtocolFilter,
    KafkaService,
    KafkaProxyIngress,
    Secret,
    ConfigMap,
    Deployment,
    ReplicaSet,
  ].map((kind) => [kind.kind, kind]),
);

export function kindOf({ kind }: KubeObject): Kind {
  const found = KINDS[kind];
  if (found === undefined) throw new Error(`the scenarios do not know the kind ${kind}`);
  return found;
}

export async function create(client: Client, ...objects: KubeObject[]): Promise<void> {
  for (const one of objects) await client.create(kindOf(one), one);
}

export interface StagedOptions {
  objects: KubeObject[];
  operator?: Operator;
}

/** Runs a check on a settled cluster with these objects. */
export async function staged(
  { objects, operator = createKroxylicious() }: StagedOptions,
  check: (stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await createStage({ operators: [operator], given: (client) => create(client, ...objects) });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

export const get = {
  deployment: (client: Client, name = 'my-proxy') => client.get(Deployment, ref(name)),
  proxy: (client: Client, name = 'my-proxy') => client.get(KafkaProxy, ref(name)),
  cluster: (client: Client, name: string) => client.get(VirtualKafkaCluster, ref(name)),
  service: (client: Client, name = 'upstream') => client.get(KafkaService, ref(name)),
  filter: (client: Client, name = 'encryption') => client.get(KafkaProtocolFilter, ref(name)),
  ingress: (client: Client, name = 'tcp') => client.get(KafkaProxyIngress, ref(name)),
};

export function checksum(deployment: Deployment): string | undefined {
  return deployment.spec?.template.metadata?.annotations?.['kroxylicious.io/referent-checksum'];
}

export function configMapNameOf(deployment: Deployment): string {
  const volume = deployment.spec?.template.spec?.volumes?.find(({ name }) => name === 'config-volume');
  return volume?.configMap?.name ?? '';
}

/** Returns the text of the configuration that a Deployment mounts. */
export async function configurationOf(client: Client, name = 'my-proxy'): Promise<string> {
  const map = await client.get(ConfigMap, ref(configMapNameOf(await get.deployment(client, name))));
  return map.data?.['proxy-config.yaml'] ?? '';
}

export async function patch(client: Client, kind: Kind, name: string, body: object): Promise<void> {
  await client.patch(kind, ref(name), 'merge', body);
}

export function condition(
  object: { status?: { conditions?: { type: string; status: string; reason: string; message: string }[] } },
  type: string,
) {
  const found = object.status?.conditions?.find((one) => one.type === type);
  return found === undefined ? undefined : { status: found.status, reason: found.reason, message: found.message };
}

/** Returns the writes to objects of a kind since the last clear, as `PATCH name`. */
export function writesTo(stage: Stage, plural: string): string[] {
  return stage.transport.writes
    .filter((line) => line.includes(`/${plural}`))
    .map((line) => line.replace(/ .*\/([^/]+\/)/, ' $1'));
}

/** Acts as the Deployment controller: all pods of a Deployment become ready. */
export async function allReady(client: Client, name = 'my-proxy'): Promise<void> {
  const { metadata, spec } = await get.deployment(client, name);
  const replicas = spec?.replicas ?? 1;
  const status = {
    observedGeneration: metadata.generation,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  await client.patch(Deployment, ref(name), 'merge', { status }, { subresource: 'status' });
}
