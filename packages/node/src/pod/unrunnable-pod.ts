// A pod that this node cannot run and is not to simulate: it waits, as on a kubelet that cannot pull its image, until it is deleted or
// its images change.
import { type Container, type ContainerStatus, formatTime, type Pod, type PodStatus } from '@capstan/kube';
import { readinessConditions, withConditions } from './conditions.ts';
import type { PodContext } from './pod-context.ts';
import type { Placement, WhySimulated } from './simulated-pod.ts';

/** Resolves when the pod is gone, its images changed (then it is to be checked again), or the signal is aborted. */
export async function holdPod(
  context: PodContext,
  { hostIP }: Placement,
  why: WhySimulated,
  isKnown: (image: string) => boolean,
  signal: AbortSignal,
): Promise<'gone' | 'changed'> {
  const images = imagesOf(context.pod());
  if (!context.deletion.aborted) {
    for (const note of notesOf(context.pod(), why, isKnown)) context.event({ type: 'Warning', reason: 'Failed', note });
    await context.setStatus((pod, now) => waitingStatus(pod, hostIP, why, isKnown, now));
    const next = await changed(context, images, signal);
    if (next === 'changed') return next;
  }
  if (!signal.aborted) await context.finalise();
  return 'gone';
}

const imagesOf = ({ spec }: Pod) =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ image }) => image).join(' ');

function changed(context: PodContext, images: string, signal: AbortSignal): Promise<'gone' | 'changed'> {
  return new Promise((resolve) => {
    const check = () => {
      const isOver = context.deletion.aborted || signal.aborted;
      if (!isOver && imagesOf(context.pod()) === images) return;
      off();
      signal.removeEventListener('abort', check);
      resolve(isOver ? 'gone' : 'changed');
    };
    const off = context.onChange(check);
    signal.addEventListener('abort', check);
    check();
  });
}

function notesOf(pod: Pod, why: WhySimulated, isKnown: (image: string) => boolean): string[] {
  if (why.reason !== 'ImageNotKnown') return [`Error: ${why.message}`];
  const unknown = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]
    .map(({ image = '' }) => image)
    .filter((image) => !isKnown(image));
  return [...new Set(unknown)].map((image) => `Failed to pull image ${JSON.stringify(image)}: ${why.message}`);
}

function waitingStatus(
  pod: Pod,
  hostIP: string,
  why: WhySimulated,
  isKnown: (image: string) => boolean,
  now: number,
): PodStatus {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const isFirst = (one: Container) => initContainers.length === 0 || initContainers[0] === one;
  const status = (one: Container): ContainerStatus => {
    const { name, image = '' } = one;
    const message = `Back-off pulling image ${JSON.stringify(image)}: ${why.message}`;
    const isImage = why.reason === 'ImageNotKnown';
    const waiting = !isFirst(one)
      ? { reason: 'PodInitializing' }
      : isImage && isKnown(image)
        ? { reason: 'ContainerCreating' }
        : isImage
          ? { reason: 'ImagePullBackOff', message }
          : { reason: 'CreateContainerError', message: why.message };
    return {
      name,
      image,
      imageID: '',
      ready: false,
      started: false,
      restartCount: 0,
      lastState: {},
      state: { waiting },
    };
  };
  const unready = containers.map(({ name }) => name);
  return {
    ...pod.status,
    phase: 'Pending',
    observedGeneration: pod.metadata.generation ?? 1,
    startTime: pod.status?.startTime ?? formatTime(now),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    conditions: withConditions(
      pod.status?.conditions,
      readinessConditions(pod, { isInitialized: initContainers.length === 0, unready }),
      now,
    ),
    containerStatuses: containers.map(status),
    ...(initContainers.length > 0 && { initContainerStatuses: initContainers.map(status) }),
  };
}
