// A real kube-apiserver under a stage. Starting one takes seconds, so the stages of a test file share it, one after the other: each begins
// by removing the remains of the one before (but not the CRDs that it needs too: left-crds.ts). The program's clock is the test's all the
// same: time stands still until the test moves it. Rest means that the connections are at rest, and the threads that create keys.
import { type CustomResourceDefinition, createClient, silentLogger, sleep, systemClock } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import type { SeededRandom } from '../random.ts';
import { type RealCluster, startRealCluster } from '../real-cluster/index.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createActivity } from './activity.ts';
import { type Collector, createCollector } from './collector.ts';
import { type LeftCrds, openCrds, type StageCrds } from './left-crds.ts';
import type { StageServer } from './stage-server.ts';
import { createWorkerRest } from './worker-rest.ts';

/** The file's real server, emptied, with the kinds of the operators installed. */
export async function realStageServer(
  operators: readonly Operator[],
  random: SeededRandom,
  isBusy: () => boolean,
): Promise<StageServer> {
  const { cluster, collector, left } = await shared.take();
  let crds: StageCrds;
  try {
    const kinds = operators.flatMap((operator) => operator.kinds);
    const wanted = new Map(
      kinds.map((kind) => kind.crd() as CustomResourceDefinition).map((crd) => [nameOf(crd), crd]),
    );
    crds = await openCrds(cluster.client, left, [...wanted.values()]);
  } catch (error) {
    shared.giveBack();
    throw error;
  }
  const activity = createActivity();
  // The program's time begins with the server's: a comparison of the two must not find months between them.
  const workerRest = createWorkerRest(isBusy);
  const outside = async () => (await activity.rest()) || workerRest();
  const clock = createVirtualClock({ start: systemClock.now(), outside });
  const transport = crds.serving(activity.follow(await cluster.transport()));
  return {
    name: 'real',
    clock,
    client: createClient({ transport, clock, random, logger: silentLogger }),
    transport: async ({ name, groups }) => {
      // A certificate names no group that the server gives to everybody by itself.
      const own = groups.filter((group) => group !== 'system:authenticated');
      return activity.follow(await cluster.transport({ name, groups: own }));
    },
    hasLapsedWatch: () => activity.hasLapsedWatch(),
    async begin() {
      await crds.begin();
      await collector.begin();
    },
    pass: (ms) => sleep(systemClock, ms),
    collect: () => collector.collect(),
    close: async () => shared.giveBack(),
  };
}

const LINGER_MS = 1_500;

interface Shared {
  readonly cluster: RealCluster;
  readonly collector: Collector;
  readonly left: LeftCrds;
}

/** One server a process, ended when no stage has used it for a while. */
const shared = (() => {
  let starting: Promise<Shared> | undefined;
  let linger: NodeJS.Timeout | undefined;
  let users = 0;
  return {
    async take(): Promise<Shared> {
      clearTimeout(linger);
      users++;
      starting ??= startRealCluster().then((cluster) => ({
        cluster,
        collector: createCollector(cluster),
        left: new Map(),
      }));
      return starting;
    },
    giveBack(): void {
      users--;
      if (users > 0) return;
      linger = setTimeout(() => {
        const ending = starting;
        starting = undefined;
        void ending?.then(({ cluster }) => cluster.close());
      }, LINGER_MS);
    },
  };
})();

function nameOf({ metadata }: CustomResourceDefinition): string {
  return metadata.name ?? '';
}
