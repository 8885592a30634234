// Nodes that exist in the API only: Node objects that are ready, leases that are renewed, and pods that become Running and
// Ready, with an address, as soon as they are bound, and that go at once when they are deleted. Enough for every controller
// to do its work; nothing is run.
import {
  type Client,
  type Clock,
  createInformer,
  formatMicroTime,
  formatTime,
  isAlreadyExists,
  isConflict,
  isNotFound,
  Lease,
  Node,
  Pod,
  type Random,
  silentLogger,
  sleep,
} from '@capstan/kube';

export interface SimulatedNodesOptions {
  client: Client;
  clock: Clock;
  random: Random;
  count: number;
  /** Whether pods that no scheduler has placed are bound here, in turn. */
  binds: boolean;
}

export interface SimulatedNodes {
  readonly names: readonly string[];
  /** Resolves when nothing of it runs any more; the objects stay. */
  close(): Promise<void>;
}

const RENEW_MS = 10_000;
const LEASES = 'kube-node-lease';

/** Makes the nodes, and resolves when they are there and pods are being managed. */
export async function simulateNodes(options: SimulatedNodesOptions): Promise<SimulatedNodes> {
  const { client, clock, random, count } = options;
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  for (const [index, name] of names.entries()) await register(options, name, index);
  const ended = new AbortController();
  const pods = createInformer({ client, kind: Pod, clock, random, logger: silentLogger });
  const running = new Map<string, Promise<void>>();
  let turn = 0;
  // Write once at a time for each pod. Changes meanwhile are checked in the next turn.
  const tend = (pod: Pod) => {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const before = running.get(key) ?? Promise.resolve();
    const work = before
      .then(() =>
        ended.signal.aborted ? undefined : step(options, pods.get(key) ?? pod, names[turn++ % names.length] ?? ''),
      )
      .catch((error: unknown) => {
        // Another client was faster; the event of its write wakes us again.
        if (!isConflict(error) && !isNotFound(error) && !ended.signal.aborted) throw error;
      })
      .finally(() => {
        if (running.get(key) === work) running.delete(key);
      });
    running.set(key, work);
  };
  pods.subscribe((events) => {
    for (const event of events) {
      if (event.type === 'upsert') tend(event.object);
    }
  });
  const parts = [pods.run(ended.signal), renew(options, names, ended.signal)];
  await pods.synced(ended.signal);
  return {
    names,
    async close() {
      ended.abort();
      await Promise.allSettled([...parts, ...running.values()]);
    },
  };
}

async function step({ client, clock, binds }: SimulatedNodesOptions, pod: Pod, node: string): Promise<void> {
  const { name = '', namespace = '' } = pod.metadata;
  const nodeName = pod.spec?.nodeName ?? '';
  if (pod.metadata.deletionTimestamp !== undefined) {
    // As a kubelet does once the containers have stopped.
    const uid = pod.metadata.uid ?? '';
    await client.delete(Pod, { name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
  } else if (nodeName === '') {
    if (!binds || (pod.spec?.schedulingGates ?? []).length > 0) return;
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } };
    await client.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/pods/${name}/binding`, body });
  } else if (pod.status?.phase !== 'Running') {
    await client.patch(
      Pod,
      { name, namespace },
      'strategic',
      { status: readyStatus(pod, clock.now()) },
      { subresource: 'status' },
    );
  }
}

function readyStatus(pod: Pod, now: number): object {
  const at = formatTime(now);
  const podIP = addressOf(pod.metadata.uid ?? '');
  const container = ({ name, image = '' }: { name: string; image?: string }) => ({
    name,
    image,
    imageID: '',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: at } },
  });
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: at });
  return {
    phase: 'Running',
    startTime: at,
    hostIP: '10.0.0.1',
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: ['PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
    containerStatuses: (pod.spec?.containers ?? []).map(container),
  };
}

/** The same pod always has the same address, one in 10.128.0.0/9. */
function addressOf(uid: string): string {
  const bytes = Buffer.from(uid.replaceAll('-', '').slice(0, 6), 'hex');
  return `10.${128 + ((bytes[0] ?? 0) & 127)}.${bytes[1] ?? 0}.${Math.max(1, bytes[2] ?? 1)}`;
}

async function register({ client, clock }: SimulatedNodesOptions, name: string, index: number): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' };
  try {
    await client.create(Node, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: {} });
    await client.create(Lease, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: LEASES },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: formatMicroTime(clock.now()) },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const at = formatTime(clock.now());
  const capacity = { cpu: '64', memory: '256Gi', pods: '1000', 'ephemeral-storage': '1Ti' };
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
  const status = {
    capacity,
    allocatable: capacity,
    addresses: [{ type: 'InternalIP', address: `10.0.0.${index + 1}` }],
    conditions: [ready],
  };
  await client.patch(Node, { name }, 'strategic', { status }, { subresource: 'status' });
  // The controller manager, or the server's admission, may have marked the node as not ready while it was.
  await client.patch(Node, { name }, 'merge', { spec: { taints: null } });
}

async function renew(
  { client, clock }: SimulatedNodesOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, RENEW_MS, signal).catch(() => {});
    if (signal.aborted) return;
    const spec = { renewTime: formatMicroTime(clock.now()) };
    for (const name of names) {
      await client.patch(Lease, { name, namespace: LEASES }, 'merge', { spec }, { signal }).catch(() => {});
    }
  }
}
