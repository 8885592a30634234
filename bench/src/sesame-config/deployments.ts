// Many SesameDeployments on the embedded API server, with its controllers and a node that simulates their pods: from nothing to
// available, and a restart of the operator.
import { type Client, silentLogger, systemClock } from '@capstan/kube';
import { createAddressPool, createControllers, createNode } from '@capstan/node';
import { createSesame, SesameDeployment } from '@capstan/sesame';
import { createRandom, recordingTransport } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf } from '../measure/timing.ts';
import { runOperator } from '../running-operator.ts';
import { type Cluster, clientOf, createCluster } from '../runtime/cluster.ts';

const SIZES = { full: 500, tiny: 3 };
const PAUSE_MS = 50;
const NAMESPACE = 'default';

export const deployments: Part = {
  name: 'deployments',
  summary: 'five hundred SesameDeployments from nothing, and a restart',
  async measure(scale) {
    const count = SIZES[scale];
    const operator = createSesame();
    const cluster = await createCluster(operator.kinds);
    const workloads = startWorkloads(cluster, count);
    try {
      for (let index = 0; index < count; index++) await createDeployment(cluster.client, index);
      const first = startProgram(cluster, operator);
      const settleMs = await millisecondsOf(() => whenSo(async () => (await available(cluster.client)) === count));
      const made = first.transport.writes.length;
      await whenSo(async () => first.isAtRest());
      await first.stop();
      const second = startProgram(cluster, operator);
      const restartMs = await millisecondsOf(() => whenSo(async () => second.isAtRest()));
      const writes = second.transport.writes.length;
      await second.stop();
      return [
        result({
          name: `${count} SesameDeployments available, from nothing`,
          unit: 's',
          rounds: [settleMs / 1000],
          ...(scale === 'full' ? { below: 60 } : {}),
          note: 'pods are simulated; workload controllers and server run in the same process',
        }),
        result({ name: 'its API writes', unit: 'writes', rounds: [made] }),
        result({ name: 'restart: until everything is evaluated', unit: 's', rounds: [restartMs / 1000] }),
        result({ name: 'restart: API writes', unit: 'writes', rounds: [writes], exactly: 0 }),
      ];
    } finally {
      await workloads.stop();
      await cluster.close();
    }
  },
};

async function createDeployment(client: Client, index: number): Promise<void> {
  const { apiVersion, kind } = SesameDeployment;
  await client.create(SesameDeployment, {
    apiVersion,
    kind,
    metadata: { name: `edge-${index}`, namespace: NAMESPACE },
    spec: { replicas: 1, configuration: { envoy: { timeouts: { requestTimeout: '30s' } } } },
  });
}

async function available(client: Client): Promise<number> {
  const { items } = await client.list(SesameDeployment, {});
  return items.filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True'),
  ).length;
}

function startProgram(cluster: Cluster, operator: ReturnType<typeof createSesame>) {
  const transport = recordingTransport(cluster.server.transport());
  const { runtime, isAtRest, stop } = runOperator(operator, transport);
  return { transport, stop, isAtRest: () => isAtRest() && runtime.suspended === 0 };
}

function startWorkloads({ server }: Cluster, count: number) {
  const stopping = new AbortController();
  const random = createRandom(5);
  const common = () => ({ client: clientOf(server.transport()), clock: systemClock, random, logger: silentLogger });
  const running = Promise.all([
    createControllers(common()).run(stopping.signal),
    createNode({ ...common(), addresses: createAddressPool(random), maxPods: 3 * count + 50 }).run(stopping.signal),
  ]);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function whenSo(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()))
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE_MS);
    });
}
