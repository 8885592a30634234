// The demonstration: the first cluster is the broker, and east (in the cloud) and west (on premise) join it, as with subctl.
import { type Client, refOf, systemClock } from '@capstan/kube';
import { brokerInfoOf, ensureBroker, joinCluster, labelGateway } from '../src/commands/index.ts';
import { BROKER_NAMESPACE, MEMBER_NAMESPACE, Submariner } from '../src/kinds/index.ts';

interface Context {
  /** The first cluster is the broker. */
  readonly clusters: ReadonlyMap<string, { readonly client: Client; readonly url: string; readonly ca: string }>;
  readonly signal: AbortSignal;
}

const MEMBERS = [
  { clusterID: 'east', location: 'cloud', clusterCIDR: '10.11.0.0/16', serviceCIDR: '10.111.0.0/16' },
  { clusterID: 'west', location: 'on-premise', clusterCIDR: '10.12.0.0/16', serviceCIDR: '10.112.0.0/16' },
];

export default async function prepare({ clusters, signal }: Context): Promise<Record<string, string>> {
  const [broker] = clusters.values();
  if (broker === undefined) throw new Error('the demonstration needs a cluster');
  const steps = { client: broker.client, clock: systemClock, signal };
  const namespace = BROKER_NAMESPACE;
  const policies = [{ metadata: { name: 'default' }, spec: [{ cableDriver: { name: 'vxlan' } }] }];
  await ensureBroker(steps, { namespace, spec: { defaultCableDriver: 'vxlan' }, policies });
  const info = await brokerInfoOf(steps, { namespace, address: broker.url, ca: broker.ca, cableDriver: 'vxlan' });
  for (const { clusterID, location, ...networks } of MEMBERS) {
    const member = clusters.get(clusterID);
    if (member === undefined) throw new Error(`the demonstration needs the logical cluster ${clusterID}`);
    const here = { ...steps, client: member.client };
    // Leave a cluster unchanged that has joined at the same address: another token would restart its gateway.
    const known = await member.client
      .find(Submariner, { namespace: MEMBER_NAMESPACE, name: 'submariner' })
      .catch(() => undefined);
    if (known?.spec.brokerK8sApiServer === broker.url) continue;
    // The broker is the same one, but its port changed since the last start.
    if (known?.spec.clusterID === clusterID) {
      const moved = { spec: { brokerK8sApiServer: broker.url } };
      await member.client.patch(Submariner, refOf(known), 'merge', moved, { fieldManager: 'subctl', signal });
      continue;
    }
    await joinCluster(here, info, MEMBER_NAMESPACE, {
      clusterID,
      clusterLabels: { location },
      cableDrivers: ['vxlan', 'ipsec'],
      cableDriverCustomConfig: { configMapName: 'cable-driver-config' },
      natEnabled: false,
      ...networks,
    });
    await labelGateway(here);
  }
  return {};
}
