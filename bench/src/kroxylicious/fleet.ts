// Many virtual clusters on the embedded API server, each with a certificate of its own, and the operator that serves them.

import {
  createKroxylicious,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '@capstan/kroxylicious';
import { type Client, createCa, issueCertificate, type KubeObject, Secret, type Transport } from '@capstan/kube';
import { type RecordingTransport, recordingTransport } from '@capstan/testing';
import { type RunningOperator, runOperator } from '../running-operator.ts';
import { type Cluster, createCluster } from '../runtime/cluster.ts';

const NAMESPACE = 'default';
const operator = createKroxylicious({ quietMs: 0 });

export interface FleetSize {
  readonly proxies: number;
  readonly clusters: number;
}

/** Two certificates that take turns: each renewal of a Secret brings the one that it does not have. */
export interface Turns {
  next(index: number): Readonly<Record<string, string>> | undefined;
}

export interface Fleet {
  readonly cluster: Cluster;
  readonly turns: Turns;
}

export const secretOf = (index: number) => ({ namespace: NAMESPACE, name: `server-${index}` });
export const proxyOf = (index: number, { proxies }: FleetSize) => `proxy-${index % proxies}`;

/** All resources, and nothing that the operator makes. */
export async function createFleet(size: FleetSize): Promise<Fleet> {
  const cluster = await createCluster(operator.kinds);
  const { client } = cluster;
  const certificates = [await certificate(), await certificate()];
  for (let index = 0; index < size.proxies; index++) {
    await create(client, KafkaProxy, `proxy-${index}`, { spec: { replicas: 1 } });
    await create(client, KafkaProxyIngress, `ingress-${index}`, {
      spec: { proxyRef: { name: `proxy-${index}` }, clusterIP: { protocol: 'TLS' } },
    });
  }
  await create(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'kafka.example:9092' } });
  for (let index = 0; index < size.clusters; index++) {
    const { name } = secretOf(index);
    await create(client, Secret, name, { type: 'kubernetes.io/tls', data: certificates[0] });
    // Secrets that nothing refers to, to see that they are not held.
    await create(client, Secret, `unused-${index}`, {
      type: 'Opaque',
      data: { blob: Buffer.alloc(1024, index).toString('base64') },
    });
    const ingresses = [{ ingressRef: { name: `ingress-${index % size.proxies}` }, tls: { certificateRef: { name } } }];
    await create(client, VirtualKafkaCluster, `cluster-${index}`, {
      spec: { proxyRef: { name: proxyOf(index, size) }, targetKafkaServiceRef: { name: 'upstream' }, ingresses },
    });
  }
  const renewed = new Map<number, number>();
  const next = (index: number) => {
    const turn = (renewed.get(index) ?? 0) + 1;
    renewed.set(index, turn);
    return certificates[turn % certificates.length];
  };
  return { cluster, turns: { next } };
}

export interface Program extends RunningOperator {
  readonly transport: RecordingTransport;
  /** Names of Deployments whose writes have been answered. */
  readonly patched: string[];
}

export function startProgram({ cluster }: Fleet): Program {
  const patched: string[] = [];
  const transport = recordingTransport(noting(cluster.server.transport(), patched));
  return { ...runOperator(operator, transport), transport, patched };
}

function noting(inner: Transport, patched: string[]): Transport {
  return {
    address: inner.address,
    async request(request) {
      const response = await inner.request(request);
      const [, name] = /\/deployments\/([^/]+)$/.exec(request.path) ?? [];
      if (name !== undefined && request.method === 'PATCH') patched.push(name);
      return response;
    },
    watch: (request) => inner.watch(request),
    close: () => inner.close(),
  };
}

async function create(
  client: Client,
  kind: { apiVersion: string; kind: string } & Parameters<Client['create']>[0],
  name: string,
  parts: object,
): Promise<void> {
  const object: KubeObject = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { namespace: NAMESPACE, name },
    ...parts,
  };
  await client.create(kind, object);
}

async function certificate(): Promise<Record<string, string>> {
  const validity = { notBefore: Date.parse('2026-01-01T00:00:00Z'), notAfter: Date.parse('2036-01-01T00:00:00Z') };
  const ca = await createCa({ commonName: 'bench', ...validity });
  const issued = await issueCertificate({ ca, commonName: 'proxy', usages: ['server'], ...validity });
  return {
    'tls.crt': Buffer.from(issued.certificate).toString('base64'),
    'tls.key': Buffer.from(issued.key).toString('base64'),
  };
}
