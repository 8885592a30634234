// The shared parts of benchmarks of operators with workloads: controllers and a node that simulates every pod, the operator on a counted
// transport, and waiting.
import { silentLogger, systemClock } from '@capstan/kube';
import { createAddressPool, createControllers, createNode } from '@capstan/node';
import type { Operator } from '@capstan/reconcile';
import { createRandom, recordingTransport } from '@capstan/testing';
import { runOperator } from './running-operator.ts';
import { type Cluster, clientOf } from './runtime/cluster.ts';

/** Every pod has room on it. */
const LARGE = {
  cpus: 1_000,
  memoryBytes: 2 ** 43,
  architecture: 'amd64',
  operatingSystem: 'linux',
  kernelVersion: '6.0.0',
  hostname: 'simulated',
};

/** The controllers of workloads and one node on which every pod is simulated. */
export function startWorkloads({ server }: Cluster, pods: number) {
  const stopping = new AbortController();
  const random = createRandom(5);
  const common = () => ({ client: clientOf(server.transport()), clock: systemClock, random, logger: silentLogger });
  const running = Promise.all([
    createControllers(common()).run(stopping.signal),
    createNode({ ...common(), addresses: createAddressPool(random), maxPods: 3 * pods + 50, machine: LARGE }).run(
      stopping.signal,
    ),
  ]);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

export function startProgram(cluster: Cluster, operator: Operator) {
  const transport = recordingTransport(cluster.server.transport());
  const { runtime, isAtRest, stop } = runOperator(operator, transport);
  return { transport, stop, isAtRest: () => isAtRest() && runtime.suspended === 0 };
}

/** Looks now and then: looking all the time would take the time that is measured. */
export async function whenSo(isSo: () => Promise<boolean>, pauseMs: number): Promise<void> {
  while (!(await isSo()))
    await new Promise((resolve) => {
      setTimeout(resolve, pauseMs);
    });
}
