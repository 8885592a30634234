// Pods of all clusters: those that were killed must run again.
import { type Client, Pod } from '@capstan/kube';
import type { Area } from './area.ts';

export function podsArea(clients: Readonly<Record<string, Client>>): Area {
  return {
    name: 'pods',
    async unsettled() {
      const problems: string[] = [];
      for (const [cluster, client] of Object.entries(clients))
        for await (const { items } of client.pages(Pod))
          for (const { metadata, status } of items) {
            const isReady = status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
            if (isReady !== true || metadata.deletionTimestamp !== undefined)
              problems.push(`pod ${metadata.namespace}/${metadata.name} of ${cluster} is not ready`);
          }
      return problems;
    },
  };
}
