import { residentMegabytes } from '../apiserver/process-costs.ts';
import { percentile } from '../measure/percentiles.ts';
import { SESAME } from '../xds/control-planes.ts';
import { measureEdits } from '../xds/measured-edits.ts';
import { onScene, quiet, settleStatuses } from '../xds/scene.ts';
import { subscribeAggregated } from '../xds/subscriptions.ts';
import { sizedFleet } from './sized.ts';

const EDITS = 30;

export const routes = sizedFleet({
  name: 'routes',
  summary: 'HTTPProxies with two Services each, half of them with TLS, on one Sesame; an edit changes one route',
  objects: 'HTTPProxies',
  memory: 'resident memory',
  sizes: [1_000, 3_000, 10_000],
  tiny: [4],
  below: 450,
  measure: (size) =>
    onScene({ size }, async (scene) => {
      await settleStatuses(scene);
      const running = await scene.start(SESAME);
      const subscriber = await subscribeAggregated(running.port, scene.expected(SESAME), running.began);
      await quiet(running.pid, 1_000);
      const megabytes = residentMegabytes([running.pid]);
      const sides = [{ plane: SESAME, running, subscriber }];
      const count = Math.min(EDITS, size);
      const [edited] = await measureEdits(scene, sides, 'route without TLS', () => count);
      subscriber.close();
      await running.stop();
      return { startMs: subscriber.completeMs, megabytes, editMs: percentile(edited?.latencies ?? [], 0.5) };
    }),
});
