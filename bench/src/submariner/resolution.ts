// 1,000 clusters and 200 policies: every pair resolved from nothing, then one label changed at a time.
import { clusterFacts, createPairMatrix, type Policy, rankRules, readPolicy } from '@capstan/submariner';
import type { Part } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { percentile } from '../measure/percentiles.ts';
import { result } from '../measure/result.ts';

const SIZES = {
  full: { clusters: 1000, policies: 200, rounds: 7, changes: 500 },
  tiny: { clusters: 20, policies: 10, rounds: 2, changes: 5 },
};

export const resolution: Part = {
  name: 'resolution',
  summary: 'the driver of every pair of clusters',
  async measure(scale) {
    const { clusters: count, policies: policyCount, rounds, changes } = SIZES[scale];
    const policies = Array.from({ length: policyCount }, (_, index) => policyOf(index, policyCount));
    const clusters = Array.from({ length: count }, (_, index) => clusterOf(index, 'none'));
    const cold: number[] = [];
    const edits: number[] = [];
    const late: number[] = [];
    const heaps: number[] = [];
    const before = heapAfterGc();
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      const ranking = rankRules(policies.map(({ metadata, spec }) => readPolicy({ metadata, spec }) satisfies Policy));
      const matrix = createPairMatrix(ranking, clusters);
      cold.push(performance.now() - start);
      const samples: number[] = [];
      for (let change = 0; change < changes; change++) {
        const index = (change * 7) % count;
        const at = performance.now();
        matrix.put(clusterOf(index, change % 2 === 0 ? 'special' : 'none'));
        samples.push(performance.now() - at);
      }
      edits.push(percentile(samples, 0.5));
      late.push(percentile(samples, 0.99));
      heaps.push((heapAfterGc() - before) / 2 ** 20);
      // Used after the collection, so that it is still there during it.
      if (matrix.clusters !== count) throw new Error('a cluster was lost');
    }
    const what = `${count} clusters and ${policyCount} policies`;
    const full = scale === 'full';
    return [
      result({
        name: `all ${(count * (count - 1)) / 2} pairs of ${what} from nothing`,
        unit: 'ms',
        rounds: cold,
        ...(full && { below: 1000 }),
      }),
      result({
        name: `one changed label among ${what}, p50`,
        unit: 'ms',
        rounds: edits,
        ...(full && { below: 5 }),
        note: `${changes} changes, each of which moves the pairs of a cluster to another policy`,
      }),
      result({
        name: `the same, p99`,
        unit: 'ms',
        rounds: late,
        ...(full && { below: 5 }),
        note: 'a busy machine shows here first',
      }),
      result({
        name: `memory of the matrix for ${what}`,
        unit: 'MB',
        rounds: heaps,
        ...(full && { below: 300 }),
        note: 'live heap and typed arrays after a collection; the process with its code takes about 80 MB more',
      }),
    ];
  },
};

const SITES = 100;
const REGIONS = 10;

export function clusterOf(index: number, note: string) {
  const id = `cluster-${String(index).padStart(5, '0')}`;
  const labels = { site: `site-${index % SITES}`, region: `region-${index % REGIONS}`, note };
  return clusterFacts({ metadata: { name: id, labels }, spec: { cluster_id: id } });
}

/** All but the last two name a site and a region; one catches the changed label, one everything. */
export function policyOf(index: number, count: number) {
  const metadata = { name: `policy-${index}` };
  const name = ['ipsec', 'wireguard', 'vxlan'][index % 3];
  if (index === count - 1) return { metadata, spec: { name } };
  if (index === count - 2) return { metadata, spec: { name, leftClusterSelector: { note: 'special' }, priority: 10 } };
  return {
    metadata,
    spec: {
      name,
      leftClusterSelector: { site: `site-${index % SITES}` },
      rightClusterSelector:
        index % 2 === 0 ? { region: `region-${index % REGIONS}` } : { region: `!region-${index % REGIONS}` },
    },
  };
}
