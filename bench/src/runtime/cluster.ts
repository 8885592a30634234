// The cluster of these measurements: the embedded API server in this process, with the bench's own kinds.
import { type ApiServer, createApiServer } from '@capstan/apiserver';
import {
  type Client,
  CustomResourceDefinition,
  createClient,
  Namespace,
  silentLogger,
  systemClock,
  type Transport,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import { NAMESPACES, namespaceOf } from './web-proxy.ts';

export interface Cluster {
  readonly server: ApiServer;
  /** The hands of the measurement: not the program's client. */
  readonly client: Client;
  close(): Promise<void>;
}

export async function createCluster(kinds: Operator['kinds']): Promise<Cluster> {
  const server = createApiServer({ clock: systemClock, random: createRandom(1) });
  const client = clientOf(server.transport());
  for (const kind of kinds) await client.create(CustomResourceDefinition, kind.crd() as CustomResourceDefinition);
  await server.idle();
  for (let index = 0; index < NAMESPACES; index++) {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceOf(index) } });
  }
  return { server, client, close: () => server.close() };
}

export function clientOf(transport: Transport): Client {
  return createClient({ transport, clock: systemClock, random: createRandom(2), logger: silentLogger });
}
