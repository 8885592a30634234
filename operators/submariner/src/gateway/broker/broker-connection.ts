// The broker as a gateway reaches it. The token is a mounted file that is replaced when it is renewed, and is read again then.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, type Clock, connect, createClient, isForbidden, isUnauthorized } from '@capstan/kube';
import type { Runtime } from '@capstan/reconcile';
import { Cluster } from '../../kinds/index.ts';
import { brokerKubeconfig } from '../../membership/broker-access.ts';
import type { GatewayConfiguration } from '../configuration.ts';

export interface BrokerConnection {
  readonly client: Client;
  readonly server: string;
  readonly folder: string;
  close(): Promise<void>;
}

/** Undefined where no broker is configured. */
export async function connectBroker(
  { broker }: GatewayConfiguration,
  clock: Clock,
): Promise<BrokerConnection | undefined> {
  const { server, folder, ca, insecure } = broker;
  if (server === '' || folder === undefined) return undefined;
  const caFile = join(folder, 'ca.crt');
  const authority = existsSync(caFile) ? { file: caFile } : ca === undefined ? undefined : { data: ca };
  const kubeconfig = brokerKubeconfig({ server, authority, insecure, user: { tokenFile: join(folder, 'token') } });
  // Names of files, and no secret.
  const place = mkdtempSync(join(tmpdir(), 'submariner-broker-'));
  const file = join(place, 'kubeconfig');
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  try {
    const client = createClient({ transport: await connect({ kubeconfig: file, env: {}, clock }) });
    return { client, server, folder, close: () => client.close() };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

export function addBroker(
  runtime: Runtime | undefined,
  connection: BrokerConnection | undefined,
  { broker }: GatewayConfiguration,
): void {
  if (runtime === undefined) return;
  if (connection === undefined) runtime.completeWorlds('broker');
  else
    runtime.addWorld({
      name: 'broker',
      role: 'broker',
      client: connection.client,
      namespace: broker.namespace,
      watchNamespaces: [broker.namespace],
    });
}

/** How long watches may be interrupted before it is a problem: they are opened again from time to time. */
const AWAY_MS = 10_000;

/** Reports a broker that cannot be reached; cables do not need it. */
export function watchBroker(connection: BrokerConnection | undefined, clock: Clock) {
  let lastSeen = clock.now();
  let refusal: string | undefined;
  return {
    /** Finds out whether a broker that is away refuses this cluster: its token was revoked, or its account removed. */
    async probe(runtime: Runtime | undefined, namespace: string): Promise<void> {
      const world = runtime?.worlds.get('broker');
      if (connection === undefined || (world?.isSynced && world.isCurrent)) {
        refusal = undefined;
        return;
      }
      try {
        await connection.client.list(Cluster, { namespace, limit: 1 });
        refusal = undefined;
      } catch (error) {
        if (isUnauthorized(error)) refusal = 'refuses the token of this cluster (401)';
        else if (isForbidden(error)) refusal = 'does not grant this cluster its rights (403)';
        else refusal = undefined;
      }
    },
    problem(runtime: Runtime | undefined): string | undefined {
      if (connection === undefined) return undefined;
      const world = runtime?.worlds.get('broker');
      if (world?.isSynced && world.isCurrent) lastSeen = clock.now();
      if (refusal !== undefined)
        return `broker ${connection.server}: ${refusal}; cables stay as they are: run "subctl join" again for a new token`;
      if (clock.now() - lastSeen < AWAY_MS) return undefined;
      return `broker ${connection.server}: cannot be reached since ${new Date(lastSeen).toISOString()}; cables stay as they are, and changes of other clusters arrive when it is back`;
    },
  };
}
