// A real kube-apiserver under a stage. Starting one takes seconds, so the stages of a test file share it, one after the other:
// each begins by removing what the one before it left (but not the CRDs that it needs too: serving one takes a second). The
// program's clock is the test's all the same: time stands still until the test moves it, and rest is when the connections
// are at rest, and threads that make keys.
import {
  CustomResourceDefinition,
  createClient,
  silentLogger,
  sleep,
  systemClock,
  type Transport,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { TestingErrors } from '../errors.ts';
import type { SeededRandom } from '../random.ts';
import { type RealCluster, startRealCluster } from '../real-cluster/index.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createActivity } from './activity.ts';
import { type Collector, createCollector } from './collector.ts';
import { emptyCluster } from './empty-cluster.ts';
import type { StageServer } from './stage-server.ts';
import { createWorkerRest } from './worker-rest.ts';

/** The file's real server, emptied, with the kinds of the operators installed. */
export async function realStageServer(
  operators: readonly Operator[],
  random: SeededRandom,
  isBusy: () => boolean,
): Promise<StageServer> {
  const { cluster, collector, installed } = await shared.take();
  try {
    const wanted = new Map(
      operators
        .flatMap(({ kinds }) => kinds)
        .map((kind) => {
          const crd = kind.crd() as CustomResourceDefinition;
          return [crd.metadata.name ?? '', { crd, text: JSON.stringify(crd) }] as const;
        }),
    );
    const kept = (name: string) => wanted.has(name) && installed.get(name) === wanted.get(name)?.text;
    await emptyCluster(cluster.client, kept);
    const missing = [...wanted].filter(([name]) => !kept(name));
    await Promise.all(missing.map(([, { crd }]) => install(cluster, crd)));
    await collector.begin();
    installed.clear();
    for (const [name, { text }] of wanted) installed.set(name, text);
  } catch (error) {
    shared.giveBack();
    throw error;
  }
  const activity = createActivity();
  // The program's time begins with the server's: what compares the two must not find months between them.
  const workerRest = createWorkerRest(isBusy);
  const outside = async () => (await activity.rest()) || workerRest();
  const clock = createVirtualClock({ start: systemClock.now(), outside });
  const transport = servingCrds(activity.follow(await cluster.transport()), cluster);
  return {
    name: 'real',
    clock,
    client: createClient({ transport, clock, random, logger: silentLogger }),
    transport: async ({ name, groups }) => {
      // A certificate names no group that the server gives to everybody by itself.
      const own = groups.filter((group) => group !== 'system:authenticated');
      return activity.follow(await cluster.transport({ name, groups: own }));
    },
    pass: (ms) => sleep(systemClock, ms),
    collect: () => collector.collect(),
    close: async () => shared.giveBack(),
  };
}

const LINGER_MS = 1_500;
const POLL_MS = 20;
const ESTABLISH_MS = 20_000;

interface Shared {
  readonly cluster: RealCluster;
  readonly collector: Collector;
  /** The CRDs of the stage before, by name, as texts. */
  readonly installed: Map<string, string>;
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
        installed: new Map(),
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

async function install(cluster: RealCluster, crd: CustomResourceDefinition): Promise<void> {
  await cluster.client.create(CustomResourceDefinition, crd);
  await untilServed(cluster, crd.metadata.name ?? '');
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** A test that makes a CRD goes on when its kind can be used, as it does on the embedded server. */
function servingCrds(inner: Transport, cluster: RealCluster): Transport {
  return {
    ...inner,
    async request(request) {
      const answer = await inner.request(request);
      if (request.method === 'POST' && request.path === CRDS && answer.status === 201) {
        await untilServed(cluster, (answer.body as CustomResourceDefinition).metadata.name ?? '');
      }
      return answer;
    },
  };
}

async function untilServed({ client }: RealCluster, name: string): Promise<void> {
  const end = systemClock.now() + ESTABLISH_MS;
  for (;;) {
    const { spec, status } = await client.get(CustomResourceDefinition, { name });
    const served = spec.versions.find((version) => version.served)?.name ?? '';
    const isEstablished = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True');
    if (isEstablished) {
      // It is said to be served a moment before it is.
      const path = `/apis/${spec.group}/${served}/${spec.names.plural}`;
      const answer = await client.request({ method: 'GET', path, query: { limit: '1' } }).catch(() => undefined);
      if (answer?.status === 200) return;
    }
    if (systemClock.now() > end) throw TestingErrors.NotEstablished(name);
    await sleep(systemClock, POLL_MS);
  }
}
