// Many SesameDeployments on the embedded API server, with its controllers and a node that simulates their pods: from nothing to
// available, and a restart of the operator.
import type { Client } from '@capstan/kube';
import { createSesame, SesameDeployment } from '@capstan/sesame';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf } from '../measure/timing.ts';
import { createCluster } from '../runtime/cluster.ts';
import { startProgram, startWorkloads, whenSo } from '../simulated-workloads.ts';

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
      const settleMs = await millisecondsOf(() =>
        whenSo(async () => (await available(cluster.client)) === count, PAUSE_MS),
      );
      const created = first.transport.writes.length;
      await whenSo(async () => first.isAtRest(), PAUSE_MS);
      await first.stop();
      const second = startProgram(cluster, operator);
      const restartMs = await millisecondsOf(() => whenSo(async () => second.isAtRest(), PAUSE_MS));
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
        result({ name: 'its API writes', unit: 'writes', rounds: [created] }),
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
