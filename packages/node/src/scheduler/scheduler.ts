// The scheduler: binds pods that have no node to one that takes them, and reports on the others why no node does. Pods that
// wait are re-checked when a node changes or a pod leaves one.
import { equal, formatTime, isNotFound, keyOfObject, Node, Pod, refOf } from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { indexBy } from '../controller/index-by.ts';
import { isEnded, isTerminating, podCondition } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { place } from './place.ts';

const NAME = 'default-scheduler';

export function scheduler(tools: Toolkit): Controller {
  const { clock, client, write } = tools;
  const pods = tools.cache(Pod);
  const nodes = tools.cache(Node);
  const byNode = indexBy(pods, (pod) => (pod.spec?.nodeName ? pod.spec.nodeName : ''));
  const podsOn = (node: Node) => byNode.get(node.metadata.name ?? '').filter((pod) => !isEnded(pod));

  function waiting(): string[] {
    return byNode.get('').filter(isWaiting).map(keyOfObject);
  }

  async function bind(pod: Pod, node: Node): Promise<void> {
    const { name = '', namespace = '', uid } = pod.metadata;
    const target = { apiVersion: 'v1', kind: 'Node', name: node.metadata.name };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target };
    try {
      await client.request({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/pods/${name}/binding`,
        query: { fieldManager: tools.manager },
        body,
      });
      const bound = await client.find(Pod, refOf(pod));
      if (bound !== undefined) pods.observeWrite(bound);
    } catch (error) {
      // A server without the subresource: no name in its answer, where a missing pod would have one.
      if (!isNotFound(error) || error.details.name !== undefined) throw error;
      const spec = { nodeName: node.metadata.name };
      await write.patch(Pod, refOf(pod), 'merge', { metadata: { uid }, spec });
      await setScheduled(pods.get(keyOfObject(pod)) ?? pod, { status: 'True' });
    }
  }

  async function setScheduled(
    pod: Pod,
    reported: { status: string; reason?: string; message?: string },
  ): Promise<void> {
    const current = podCondition(pod, 'PodScheduled');
    const lastTransitionTime =
      current?.status === reported.status ? current.lastTransitionTime : formatTime(clock.now());
    const condition = { type: 'PodScheduled', ...reported, ...(lastTransitionTime ? { lastTransitionTime } : {}) };
    if (equal({ ...current }, condition)) return;
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
    await write.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions: [...others, condition] } });
  }

  return {
    name: 'scheduler',
    sources: [
      source(tools, Node, (node, old, isDeleted) => (isDeleted || hasRoomFor(node, old) ? waiting() : [])),
      source(tools, Pod, (pod, _, isDeleted) => {
        if (isWaiting(pod) && !isDeleted) return [keyOfObject(pod)];
        return isDeleted || isEnded(pod) ? waiting() : [];
      }),
    ],
    async reconcile(key) {
      const pod = pods.get(key);
      if (pod === undefined || !isWaiting(pod)) return undefined;
      if (pod.spec?.schedulingGates?.length) {
        const message = 'Scheduling is blocked due to non-empty scheduling gates';
        await setScheduled(pod, { status: 'False', reason: 'SchedulingGated', message });
        return undefined;
      }
      const placement = place(pod, nodes.list(), podsOn);
      if ('refusal' in placement) {
        tools.event(pod, {
          type: 'Warning',
          reason: 'FailedScheduling',
          action: 'Scheduling',
          note: placement.refusal,
        });
        await setScheduled(pod, { status: 'False', reason: 'Unschedulable', message: placement.refusal });
        return undefined;
      }
      await bind(pod, placement.node);
      const note = `Successfully assigned ${key} to ${placement.node.metadata.name}`;
      tools.event(pod, { reason: 'Scheduled', action: 'Binding', note });
      return undefined;
    },
  };
}

function isWaiting(pod: Pod): boolean {
  const name = pod.spec?.schedulerName ?? '';
  return !pod.spec?.nodeName && (name === '' || name === NAME) && !isTerminating(pod) && !isEnded(pod);
}

/** Returns whether the node may now take pods that did not fit before. Heartbeats do not change that. */
function hasRoomFor(node: Node, old: Node | undefined): boolean {
  return (
    !equal(node.spec ?? {}, old?.spec ?? {}) ||
    !equal(node.metadata.labels ?? {}, old?.metadata.labels ?? {}) ||
    !equal(node.status?.allocatable ?? {}, old?.status?.allocatable ?? {}) ||
    old === undefined
  );
}
