// The garbage collector of a real server under a stage, and no other controller: a stage has no workload controllers on the
// embedded server either. It searches for new kinds every 30 seconds, and while one of them goes away again it may do nothing for
// as long. So it begins when the kinds of the first stage are there; and when something is not collected although the kinds
// are others than when it began, it is restarted, which takes a few seconds.
import { CustomResourceDefinition, sleep, systemClock } from '@capstan/kube';
import type { RealCluster } from '../real-cluster/index.ts';
import { hasGarbage } from './empty-cluster.ts';

export interface Collector {
  /** Starts it, unless it runs. */
  begin(): Promise<void>;
  /** Gives it a moment; whether nothing is left to collect. */
  collect(): Promise<boolean>;
}

const MOMENT_MS = 250;
/** One that knows the kinds is done by then. */
const PATIENCE_MS = 4_000;

export function createCollector(cluster: RealCluster): Collector {
  /** The state at its start. */
  let known: string | undefined;
  let waitingSince: number | undefined;

  const kinds = async () => {
    const { items } = await cluster.client.list(CustomResourceDefinition);
    return items.map(({ metadata }) => metadata.uid).join();
  };
  const start = async () => {
    known = await kinds();
    await cluster.startControllers(['garbage-collector-controller']);
  };

  return {
    async begin() {
      if (known === undefined) await start();
    },
    async collect() {
      if (!(await hasGarbage(cluster.client))) {
        waitingSince = undefined;
        return true;
      }
      waitingSince ??= systemClock.now();
      if (systemClock.now() - waitingSince >= PATIENCE_MS && (await kinds()) !== known) {
        waitingSince = undefined;
        await start();
      }
      await sleep(systemClock, MOMENT_MS);
      return false;
    },
  };
}
