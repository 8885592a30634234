// The heartbeat of a member on its broker. It is sent only where the broker removes members by age (memberTimeout).
import { type Client, type Clock, Lease, parseDuration } from '@capstan/kube';
import { Broker } from '../../kinds/index.ts';
import { heartbeatOf } from '../../membership/names.ts';

export interface MemberHeartbeatOptions {
  /** The client of this cluster, which has the copy of the broker's settings. */
  readonly client: Client;
  readonly namespace: string;
  /** Undefined where no broker is configured. */
  readonly broker: Client | undefined;
  readonly brokerNamespace: string;
  readonly clusterID: string;
  readonly clock: Clock;
}

export function createMemberHeartbeat(options: MemberHeartbeatOptions) {
  const { client, namespace, broker, brokerNamespace, clusterID, clock } = options;
  let sentAt = Number.NEGATIVE_INFINITY;
  return {
    /** Renews the Lease when a quarter of the timeout is over. */
    async beat(): Promise<void> {
      if (broker === undefined) return;
      const { items } = await client.list(Broker, { namespace });
      const [timeout] = items.flatMap(({ spec }) => (spec.memberTimeout ? [spec.memberTimeout] : []));
      if (timeout === undefined || clock.now() - sentAt < parseDuration(timeout) / 4) return;
      const lease = {
        apiVersion: Lease.apiVersion,
        kind: 'Lease',
        metadata: { namespace: brokerNamespace, name: heartbeatOf(clusterID) },
        spec: {
          holderIdentity: clusterID,
          leaseDurationSeconds: Math.ceil(parseDuration(timeout) / 1000),
          renewTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
        },
      };
      await broker.apply(Lease, lease, { fieldManager: 'submariner-gateway', force: true });
      sentAt = clock.now();
    },
  };
}
