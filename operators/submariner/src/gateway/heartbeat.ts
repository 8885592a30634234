// Which gateways of a cluster are alive. Each renews a Lease of its own; the active one removes the Gateway objects of those that
// have not for a while. A Gateway object itself is written only when something changed.
import { type Client, type Clock, isNotFound, type KubeObject, Lease } from '@capstan/kube';
import { Gateway } from '../kinds/index.ts';
import { GATEWAY_MANAGER } from './gateway-report.ts';

export interface Heartbeat {
  /** Renews this gateway's Lease. The active gateway also removes the objects of dead ones. */
  beat(isActive: boolean): Promise<void>;
  /** Removes this gateway's Lease. */
  end(): Promise<void>;
}

export interface HeartbeatOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly node: string;
  readonly clock: Clock;
}

export const BEAT_MS = 10_000;
const EXPIRY_MS = 30_000;

export function createHeartbeat({ client, namespace, node, clock }: HeartbeatOptions): Heartbeat {
  const own = { namespace, name: leaseOf(node) };
  /** When the Lease of another gateway was last seen to change: clocks of other nodes do not count. */
  const seen = new Map<string, { readonly renewed: string; readonly at: number }>();
  let wasActive = false;

  const removeDead = async () => {
    const { items: gateways } = await client.list(Gateway, { namespace });
    const isTakingOver = !wasActive;
    for (const { metadata, status } of gateways) {
      const { name = '' } = metadata;
      // Only gateways write these objects; one of another client is left alone.
      if (name === node || !isByGateway(metadata)) continue;
      const renewed = await renewalOf(name);
      const before = seen.get(name);
      if (before === undefined || before.renewed !== renewed) seen.set(name, { renewed, at: clock.now() });
      const isExpired = clock.now() - (seen.get(name)?.at ?? 0) >= EXPIRY_MS;
      // There is one active gateway, and this is it: an earlier one that is alive reports itself as passive.
      if (!isExpired && !(isTakingOver && status?.haStatus === 'active')) continue;
      const { uid = '' } = metadata;
      await quietly(client.delete(Gateway, { namespace, name }, { preconditions: { uid } }));
      if (isExpired) await quietly(removeLease(leaseOf(name)));
    }
    for (const name of seen.keys()) if (!gateways.some(({ metadata }) => metadata.name === name)) seen.delete(name);
  };
  const removeLease = async (name: string): Promise<void> => {
    const lease = await client.find(Lease, { namespace, name });
    if (lease === undefined || !isByGateway(lease.metadata)) return;
    await client.delete(Lease, { namespace, name }, { preconditions: { uid: lease.metadata.uid ?? '' } });
  };
  const renewalOf = async (name: string): Promise<string> => {
    try {
      return (await client.get(Lease, { namespace, name: leaseOf(name) })).spec?.renewTime ?? '';
    } catch (error) {
      if (isNotFound(error)) return '';
      throw error;
    }
  };

  return {
    async beat(isActive) {
      const lease = {
        apiVersion: Lease.apiVersion,
        kind: 'Lease',
        metadata: own,
        spec: {
          holderIdentity: node,
          leaseDurationSeconds: EXPIRY_MS / 1000,
          renewTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
        },
      };
      await client.apply(Lease, lease, { fieldManager: GATEWAY_MANAGER, force: true });
      if (isActive) await removeDead();
      wasActive = isActive;
    },
    end: () => quietly(client.delete(Lease, own)),
  };
}

function isByGateway({ managedFields = [] }: KubeObject['metadata']): boolean {
  return managedFields.some(({ manager }) => manager === GATEWAY_MANAGER);
}

function leaseOf(node: string): string {
  return `submariner-gateway-${node}`;
}

async function quietly(work: Promise<unknown>): Promise<void> {
  await work.catch(() => {});
}
