import type { ContainerState, ContainerStatus, Pod } from '@capstan/kube';
import { type Printer, printer, type RowCondition } from './printer.ts';
import { orNone, since, timeOf } from './text.ts';

export const podPrinter: Printer = printer<Pod>(
  [
    'Name',
    ['Ready', (pod) => `${stateOf(pod).ready}/${(pod.spec?.containers ?? []).length + sidecarsOf(pod).size}`],
    ['Status', (pod) => reasonOf(pod, stateOf(pod).reason)],
    ['Restarts', restarts],
    'Age',
    ['IP*', ({ status }) => orNone(status?.podIPs?.[0]?.ip ?? status?.podIP)],
    ['Node*', placeOf],
    'Nominated Node* = status.nominatedNodeName || <none>',
    ['Readiness Gates*', readinessGates],
  ],
  ({ status }) => COMPLETED[status?.phase ?? ''] ?? [],
);

const completed = (reason: string, message: string): RowCondition[] => [
  { type: 'Completed', status: 'True', reason, message },
];
const COMPLETED: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: completed('Succeeded', 'The pod has completed successfully.'),
  Failed: completed('Failed', 'The pod failed.'),
};

const sidecarsOf = ({ spec }: Pod): ReadonlySet<string> =>
  new Set((spec?.initContainers ?? []).filter((one) => one.restartPolicy === 'Always').map(({ name }) => name));

function restarts(pod: Pod, now: number): string {
  const { restarts: count, lastRestart } = stateOf(pod);
  return count > 0 && lastRestart !== undefined ? `${count} (${since(lastRestart, now)} ago)` : String(count);
}

/** Marks a simulated pod where people look for its node. */
function placeOf({ metadata, spec }: Pod): string {
  const node = orNone(spec?.nodeName);
  return metadata.annotations?.['capstan.dev/simulated'] === 'true' ? `${node} (simulated)` : node;
}

interface PodState {
  ready: number;
  restarts: number;
  lastRestart: string | undefined;
  reason: string;
}

function stateOf(pod: Pod): PodState {
  const { status } = pod;
  const sidecars = sidecarsOf(pod);
  const gated = status?.conditions?.some((one) => one.type === 'PodScheduled' && one.reason === 'SchedulingGated');
  const initial: PodState = { ready: 0, restarts: 0, lastRestart: undefined, reason: '' };
  initial.reason = gated === true ? 'SchedulingGated' : status?.reason || status?.phase || '';
  const { state: starting, running: ofSidecars, initializing } = initState(pod, sidecars, initial);
  const initialized = status?.conditions?.some((one) => one.type === 'Initialized' && one.status === 'True');
  if (initializing && initialized !== true) return starting;
  return containerState(pod, { ...ofSidecars, ready: starting.ready, reason: starting.reason });
}

/** The state of the init containers: the first that has not finished determines the pod's state. */
function initState(pod: Pod, sidecars: ReadonlySet<string>, initial: PodState) {
  const state = { ...initial };
  const running = { ...initial };
  const total = pod.spec?.initContainers?.length ?? 0;
  for (const [index, container] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(container.name);
    count(state, container);
    if (isSidecar) count(running, container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready) state.ready += 1;
      continue;
    }
    if (terminated) state.reason = `Init:${terminationText(terminated)}`;
    else if (waiting?.reason && waiting.reason !== 'PodInitializing') state.reason = `Init:${waiting.reason}`;
    else state.reason = `Init:${index}/${total}`;
    return { state, running, initializing: true };
  }
  return { state, running, initializing: false };
}

function containerState({ status }: Pod, initial: PodState): PodState {
  const state = { ...initial };
  let isRunning = false;
  let failure = '';
  // Backwards, so that the first container has the last word.
  for (const container of [...(status?.containerStatuses ?? [])].reverse()) {
    count(state, container);
    const { waiting, terminated, running } = container.state ?? {};
    if (waiting?.reason) state.reason = waiting.reason;
    else if (terminated) {
      state.reason = terminationText(terminated);
      if (terminated.exitCode !== 0) failure = state.reason;
    } else if (container.ready && running) {
      isRunning = true;
      state.ready += 1;
    }
  }
  if (state.reason !== 'Completed') return state;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
  if (isRunning && isReady === true) state.reason = 'Running';
  else if (failure !== '') state.reason = failure;
  else if (isRunning) state.reason = 'NotReady';
  return state;
}

function count(state: PodState, { restartCount, lastState }: ContainerStatus): void {
  state.restarts += restartCount;
  const finished = lastState?.terminated?.finishedAt;
  if ((timeOf(finished) ?? 0) > (timeOf(state.lastRestart) ?? 0)) state.lastRestart = finished;
}

function terminationText({ reason, signal, exitCode }: NonNullable<ContainerState['terminated']>): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function reasonOf({ metadata, status }: Pod, reason: string): string {
  if (metadata.deletionTimestamp === undefined) return reason;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? reason : 'Terminating';
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const open = gates.filter(
    ({ conditionType }) => status?.conditions?.find(({ type }) => type === conditionType)?.status === 'True',
  );
  return `${open.length}/${gates.length}`;
}
