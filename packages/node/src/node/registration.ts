// A node's two signs of life: its Node object (its description, and that it is ready) and its Lease, renewed every ten seconds. The object
// is written when it changes and every five minutes, so that a quiet cluster sees next to no writes.
import {
  equal,
  formatMicroTime,
  formatTime,
  isAlreadyExists,
  isConflict,
  isNotFound,
  Lease,
  Node,
  type NodeCondition,
  sleep,
  type Taint,
} from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';
import type { Machine } from './machine.ts';

export interface RegistrationOptions {
  name: string;
  hostIP: string;
  machine: Machine;
  labels: Readonly<Record<string, string>>;
  taints: readonly Taint[];
  maxPods: number;
  version: string;
}

const LEASE_NAMESPACE = 'kube-node-lease';
const LEASE_SECONDS = 40;
const RENEW_MS = 10_000;
const REPORT_MS = 300_000;
/** After so long without a renewal others may have reported the node as lost. */
const SILENT_MS = 2 * RENEW_MS;

/** Makes the node known, and keeps it so until the signal is aborted; then it is reported as not ready. */
export async function keepRegistered(tools: Toolkit, options: RegistrationOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = tools;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let renewedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      const isDue = clock.now() - reportedAt >= REPORT_MS;
      if (!isDue) await renewLease(tools, options.name);
      if (isDue || clock.now() - renewedAt >= SILENT_MS) {
        await report(tools, options);
        reportedAt = clock.now();
        if (isDue) await renewLease(tools, options.name);
      }
      renewedAt = clock.now();
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('the node could not report; it tries again', { node: options.name, error });
    }
    try {
      await sleep(clock, RENEW_MS, signal);
    } catch {
      return;
    }
  }
}

async function report(tools: Toolkit, options: RegistrationOptions): Promise<void> {
  const { client, clock } = tools;
  const node = (await client.find(Node, { name: options.name })) ?? (await create(tools, options));
  const labels = { ...node.metadata.labels, ...labelsOf(options) };
  const labelled = equal(labels, node.metadata.labels)
    ? node
    : await client.patch(Node, { name: options.name }, 'merge', { metadata: { labels } });
  const status = { ...labelled.status, ...statusOf(options, labelled, clock.now()) };
  await client.update(Node, { ...labelled, status }, { subresource: 'status', fieldManager: tools.manager });
}

async function create(tools: Toolkit, options: RegistrationOptions): Promise<Node> {
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: options.name, labels: labelsOf(options) },
    spec: options.taints.length > 0 ? { taints: [...options.taints] } : {},
  };
  try {
    return await tools.client.create(Node, node, { fieldManager: tools.manager });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return tools.client.get(Node, { name: options.name });
  }
}

function labelsOf({ name, machine, labels }: RegistrationOptions): Record<string, string> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': machine.operatingSystem,
    'kubernetes.io/arch': machine.architecture,
    'beta.kubernetes.io/os': machine.operatingSystem,
    'beta.kubernetes.io/arch': machine.architecture,
    ...labels,
  };
}

function statusOf(options: RegistrationOptions, node: Node, now: number): NonNullable<Node['status']> {
  const { machine, hostIP, name, maxPods, version } = options;
  const capacity = {
    cpu: String(machine.cpus),
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    pods: String(maxPods),
  };
  const heartbeat = formatTime(now);
  const condition = (type: string, status: string, reason: string, message: string): NodeCondition => {
    const old = node.status?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = (old?.status === status ? old.lastTransitionTime : undefined) ?? heartbeat;
    return { type, status, reason, message, lastHeartbeatTime: heartbeat, lastTransitionTime };
  };
  return {
    capacity,
    allocatable: capacity,
    addresses: [
      { type: 'InternalIP', address: hostIP },
      { type: 'Hostname', address: name },
    ],
    conditions: [
      condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'the node has enough memory'),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'the node has enough disk space'),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'the node has enough process ids'),
      condition('Ready', 'True', 'KubeletReady', 'the local node takes pods'),
    ],
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: machine.kernelVersion,
      osImage: `${machine.operatingSystem} (local processes)`,
      containerRuntimeVersion: `capstan://${version}`,
      kubeletVersion: `v${version}`,
      kubeProxyVersion: '',
      operatingSystem: machine.operatingSystem,
      architecture: machine.architecture,
    },
  };
}

async function renewLease({ client, clock, manager }: Toolkit, name: string): Promise<void> {
  const ref = { namespace: LEASE_NAMESPACE, name };
  const renewTime = formatMicroTime(clock.now());
  const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
  try {
    await client.patch(Lease, ref, 'merge', { spec }, { fieldManager: manager });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const lease = { apiVersion: Lease.apiVersion, kind: Lease.kind, metadata: ref, spec };
    await client.create(Lease, lease, { fieldManager: manager }).catch((refusal: unknown) => {
      if (!isAlreadyExists(refusal) && !isConflict(refusal)) throw refusal;
    });
  }
}
