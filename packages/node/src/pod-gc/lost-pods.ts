// Pods whose node is gone: nothing will ever run or end them, so they are removed, and their owners create others.
import { isNotFound, keyOfObject, Node, Pod } from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { indexBy } from '../controller/index-by.ts';
import type { Toolkit } from '../controller/toolkit.ts';

/** A node that is recreated in this time keeps its pods; the time is Kubernetes'. */
const QUARANTINE_MS = 40_000;

export function lostPods(tools: Toolkit): Controller {
  const { clock, client, write } = tools;
  const pods = tools.cache(Pod);
  const nodes = tools.cache(Node);
  const byNode = indexBy(pods, ({ spec }) => spec?.nodeName || undefined);
  const missingSince = new Map<string, number>();
  return {
    name: 'lost-pods',
    sources: [
      source(tools, Node, ({ metadata: { name = '' } }, _, isDeleted) =>
        isDeleted ? byNode.get(name).map(keyOfObject) : [],
      ),
      source(tools, Pod, (pod, old) => (pod.spec?.nodeName !== old?.spec?.nodeName ? [keyOfObject(pod)] : [])),
    ],
    async reconcile(key) {
      const pod = pods.get(key);
      const node = pod?.spec?.nodeName;
      if (pod === undefined || !node) return undefined;
      if (nodes.get(node) !== undefined) {
        missingSince.delete(node);
        return undefined;
      }
      const since = missingSince.get(node) ?? clock.now();
      missingSince.set(node, since);
      const left = since + QUARANTINE_MS - clock.now();
      if (left > 0) return left;
      // The cache may be behind; the server is asked before anything is removed.
      if ((await client.find(Node, { name: node })) !== undefined) return undefined;
      await write.remove(Pod, pod, { gracePeriodSeconds: 0 }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return undefined;
    },
  };
}
