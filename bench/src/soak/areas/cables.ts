// Cables: the policy of a pair of clusters changes its driver.
import type { Client, KubeObject } from '@capstan/kube';
import { CablePolicies, Gateway } from '@capstan/submariner';
import { type Area, put } from './area.ts';

const POLICY = { namespace: 'submariner-k8s-broker', name: 'on-prem-to-cloud' };
const DRIVERS = ['ipsec', 'vxlan'];

export function cablesArea(hub: Client, members: Readonly<Record<string, Client>>): Area {
  let driver = 'ipsec';
  const choose = (name: string) =>
    put(hub, CablePolicies, POLICY, {
      spec: [
        {
          leftClusterSelector: { location: 'on-premise' },
          rightClusterSelector: { location: 'cloud' },
          cableDriver: { name },
        },
      ],
    });
  return {
    name: 'cables',
    prepare: () => choose(driver),
    async edit(random) {
      driver = random.pick(DRIVERS);
      await choose(driver);
    },
    async unsettled() {
      const problems: string[] = [];
      for (const [member, client] of Object.entries(members)) {
        const { items } = await client.list(Gateway, { namespace: 'submariner-operator' });
        const connections = items.flatMap(
          (gateway) =>
            (gateway as KubeObject & { status?: { connections?: { status: string; usingCableDriver?: string }[] } })
              .status?.connections ?? [],
        );
        const isRight =
          connections.length === 1 &&
          connections.every((one) => one.status === 'connected' && one.usingCableDriver === driver);
        if (!isRight)
          problems.push(
            `the gateway of ${member} has the connections ${JSON.stringify(connections.map(({ status, usingCableDriver }) => [status, usingCableDriver]))} (${driver} expected)`,
          );
      }
      return problems;
    },
  };
}
