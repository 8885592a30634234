import { createPairMatrix, rankRules, readPolicy } from '@capstan/submariner';
import { heapAfterGc } from '../measure/heap.ts';
import { clusterOf, policyOf } from '../submariner/resolution.ts';
import { medianTime, sizedFleet } from './sized.ts';

const EDITS = 101;
const CLUSTERS_OF_A_POLICY = 5;

export const cables = sizedFleet({
  name: 'cables',
  summary: 'the drivers of all pairs of clusters, a policy for five clusters; an edit changes one label',
  objects: 'clusters',
  memory: 'live heap',
  sizes: [100, 300, 1000],
  tiny: [10],
  below: 100,
  async measure(size) {
    const count = Math.max(3, Math.round(size / CLUSTERS_OF_A_POLICY));
    const policies = Array.from({ length: count }, (_, index) => policyOf(index, count));
    const clusters = Array.from({ length: size }, (_, index) => clusterOf(index, 'none'));
    const before = heapAfterGc();
    const begun = performance.now();
    const matrix = createPairMatrix(rankRules(policies.map((each) => readPolicy(each))), clusters);
    const startMs = performance.now() - begun;
    const megabytes = (heapAfterGc() - before) / 1e6;
    const editMs = await medianTime(EDITS, async (turn) => {
      matrix.put(clusterOf((turn * 7) % size, turn % 2 === 0 ? 'special' : 'none'));
    });
    if (matrix.clusters !== size) throw new Error('a cluster was lost');
    return { startMs, megabytes, editMs };
  },
});
