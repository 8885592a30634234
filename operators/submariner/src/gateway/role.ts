// Decides about the cables of a gateway that is not, or no longer, the active one. They stay for the next process of the same node, and
// while no other gateway holds the Lease, because the API server may be away. They go as soon as a gateway of another node holds it.
import { type Client, Lease, Node, type ObjectRef } from '@capstan/kube';
import { GATEWAY_NODE_LABEL } from '../deployment/gateway-daemon-set.ts';

/** The identity of a gateway process in the Lease: the node can be read from it. */
export function gatewayIdentity(node: string): string {
  return `${node}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
}

/** The node of the gateway that holds the Lease; undefined while none does. */
export async function activeNode(client: Client, lease: Required<ObjectRef>): Promise<string | undefined> {
  const found = await client.find(Lease, lease);
  return nodeOf(found?.spec?.holderIdentity);
}

export function nodeOf(identity: string | undefined): string | undefined {
  return /^(.+)_\d+_[0-9a-f]{8}$/.exec(identity ?? '')?.[1];
}

/** Whether the node of this gateway is no longer one for gateways. A gateway outside of a cluster has no Node. */
export async function hasLostNode(client: Client, name: string): Promise<boolean> {
  const node = await client.find(Node, { name });
  return node !== undefined && node.metadata.labels?.[GATEWAY_NODE_LABEL] !== 'true';
}
