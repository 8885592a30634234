// Many Providers on the embedded API server, with its controllers and a node that simulates their pods: from nothing to
// healthy, a restart, and an edit of the one runtime config that all of them use.
import { createCrossplane, DeploymentRuntimeConfig, Provider } from '@capstan/crossplane';
import { type Client, Deployment } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';
import { createCluster } from '../runtime/cluster.ts';
import { startProgram, startWorkloads, whenSo } from '../simulated-workloads.ts';
import { createPackages, type Packages } from './packages.ts';

const SIZES = { full: { providers: 200, rounds: 3 }, tiny: { providers: 4, rounds: 1 } };
const PAUSE_MS = 20;

export const fleet: Part = {
  name: 'fleet',
  summary: 'two hundred Providers from a warm cache, a restart, an edit of the default runtime config',
  async measure(scale) {
    const { providers, rounds } = SIZES[scale];
    const packages = await createPackages(providers);
    try {
      const measured = await roundsOf(rounds, () => oneRound(packages, providers));
      const of = (pick: (round: Round) => number) => measured.map(pick);
      const isFull = scale === 'full';
      return [
        result({
          name: `fleet: ${providers} Providers healthy, from a warm cache`,
          unit: 's',
          rounds: of(({ settleMs }) => settleMs / 1000),
          ...(isFull ? { below: 20 } : {}),
        }),
        result({ name: 'fleet: its API writes', unit: 'writes', rounds: of(({ created }) => created) }),
        result({ name: 'restart: until all is evaluated', unit: 's', rounds: of(({ restartMs }) => restartMs / 1000) }),
        result({ name: 'restart: API writes', unit: 'writes', rounds: of(({ writes }) => writes), exactly: 0 }),
        result({
          name: 'restart: requests to the registry',
          unit: 'requests',
          rounds: of(({ pulls }) => pulls),
          exactly: 0,
        }),
        result({
          name: `default runtime config: ${providers} Deployments patched`,
          unit: 's',
          rounds: of(({ editMs }) => editMs / 1000),
          ...(isFull ? { below: 5 } : {}),
        }),
        result({
          name: 'default runtime config: Deployments patched',
          unit: 'writes',
          rounds: of(({ patched }) => patched),
          exactly: providers,
        }),
        result({
          name: 'default runtime config: anything else written',
          unit: 'writes',
          rounds: of(({ others }) => others),
          exactly: 0,
        }),
      ];
    } finally {
      await packages.close();
    }
  },
};

interface Round {
  settleMs: number;
  created: number;
  restartMs: number;
  writes: number;
  pulls: number;
  editMs: number;
  patched: number;
  others: number;
}

async function oneRound(packages: Packages, providers: number): Promise<Round> {
  const operator = createCrossplane({ source: packages.source });
  const cluster = await createCluster(operator.kinds);
  const workloads = startWorkloads(cluster, providers);
  try {
    for (let index = 0; index < providers; index++) await createProvider(cluster.client, packages, index);
    const first = startProgram(cluster, operator);
    const settleMs = await millisecondsOf(async () => {
      await whenSo(async () => (await healthy(cluster.client)) === providers, PAUSE_MS);
    });
    const created = first.transport.writes.length;
    await whenSo(async () => first.isAtRest(), PAUSE_MS);
    await first.stop();

    const asked = packages.requests.length;
    const second = startProgram(cluster, operator);
    const restartMs = await millisecondsOf(() => whenSo(async () => second.isAtRest(), PAUSE_MS));
    const writes = second.transport.writes.length;
    const pulls = packages.requests.length - asked;

    const isPatched = (line: string) => /^PATCH .*\/deployments\/[^/]+$/.test(line);
    const editMs = await millisecondsOf(async () => {
      const spec = {
        deploymentTemplate: { spec: { template: { spec: { priorityClassName: 'system-cluster-critical' } } } },
      };
      await cluster.client.patch(DeploymentRuntimeConfig, { name: 'default' }, 'merge', { spec });
      await whenSo(async () => second.transport.writes.filter(isPatched).length >= providers, PAUSE_MS);
    });
    // Wait until every pod has been replaced: the writes of the operator that follow from this count too.
    await whenSo(async () => (await rolled(cluster.client)) === providers && second.isAtRest(), PAUSE_MS);
    const patched = second.transport.writes.filter(isPatched).length;
    const others = second.transport.writes.filter((line) => !isPatched(line)).length;
    await second.stop();
    return { settleMs, created, restartMs, writes, pulls, editMs, patched, others };
  } finally {
    await workloads.stop();
    await cluster.close();
  }
}

export async function createProvider(client: Client, packages: Packages, index: number): Promise<void> {
  await client.create(Provider, {
    apiVersion: Provider.apiVersion,
    kind: Provider.kind,
    metadata: { name: `provider-${index}` },
    spec: { package: packages.imageOf(index) },
  } as Provider);
}

export async function healthy(client: Client): Promise<number> {
  const { items } = await client.list(Provider, {});
  return items.filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Healthy' && is === 'True'),
  ).length;
}

async function rolled(client: Client): Promise<number> {
  const { items } = await client.list(Deployment, {});
  return items.filter(
    ({ metadata, status = {} }) =>
      status.observedGeneration === metadata.generation &&
      status.updatedReplicas === 1 &&
      status.replicas === 1 &&
      status.availableReplicas === 1,
  ).length;
}
