// The facts about a pod that controllers use.
import { type KubeObject, type Pod, type PodCondition, type PodTemplateSpec, parseTime } from '@capstan/kube';
import { controllerReference } from './ownership.ts';

/** A pod as a controller makes it from its template; the server finds the name. */
export function podFromTemplate(owner: KubeObject, template: PodTemplateSpec): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { name = '', namespace } = owner.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: template.spec ?? { containers: [] },
  };
}

export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((one) => one.type === type);
}

export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Neither ended nor about to. */
export function isActive(pod: Pod): boolean {
  return !isEnded(pod) && !isTerminating(pod);
}

export function isEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Milliseconds until a ready pod counts as available: 0 when it is, undefined while it is not even ready. */
export function untilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return 0;
  if (ready.lastTransitionTime === undefined) return undefined;
  return Math.max(0, parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 - now);
}

/** The counts of a status, without those that are zero: the API leaves them out. */
export function positive<T extends Record<string, number>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) as Partial<T>;
}

/** A number, or a percentage of a total, rounded as asked. */
export function scaledValue(value: number | string | undefined, total: number, round: 'up' | 'down'): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) return 0;
  const part = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(part) : Math.floor(part);
}
