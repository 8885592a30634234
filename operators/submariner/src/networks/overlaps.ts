// Networks of different clusters that overlap: packets to them can go to one cluster only.
import { isCidr, rangeOf } from '../drivers/addresses.ts';
import type { Cluster } from '../kinds/index.ts';

export interface ClusterNetworks {
  readonly id: string;
  readonly subnets: readonly string[];
}

/** The networks by which others reach a cluster. */
export function networksOf({ spec }: Pick<Cluster, 'spec'>): ClusterNetworks {
  return {
    id: spec.cluster_id,
    // With Globalnet, other clusters see the global networks.
    subnets: spec.global_cidr.length > 0 ? spec.global_cidr : [...spec.service_cidr, ...spec.cluster_cidr],
  };
}

/** A message for each cluster that overlaps another, by its id. */
export function findOverlaps(clusters: readonly ClusterNetworks[]): Map<string, string> {
  return messagesOf(clusters, (one, other) => [
    [one, other],
    [other, one],
  ]);
}

/**
 * A message for each cluster that claims networks of another one, by its id. Packets to a network go to the cluster with the
 * smaller id, as every member computes it.
 */
export function findLostClaims(clusters: readonly ClusterNetworks[]): Map<string, string> {
  return messagesOf(clusters, (one, other) => [one.id > other.id ? [one, other] : [other, one]]);
}

interface Range {
  readonly id: string;
  readonly subnet: string;
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

/** Visits each overlap of two clusters in one pass over the sorted networks; the smallest other id is named. */
function messagesOf(
  clusters: readonly ClusterNetworks[],
  blame: (one: Range, other: Range) => readonly (readonly [Range, Range])[],
): Map<string, string> {
  const ranges: Range[] = clusters
    .flatMap(({ id, subnets }) => subnets.filter(isCidr).map((subnet) => ({ id, subnet, ...rangeOf(subnet) })))
    .toSorted(
      (a, b) => a.family - b.family || compare(a.first, b.first) || compare(b.last, a.last) || (a.id < b.id ? -1 : 1),
    );
  const found = new Map<string, readonly [Range, Range]>();
  let open: Range[] = [];
  for (const range of ranges) {
    open = open.filter((each) => each.family === range.family && each.last >= range.first);
    for (const each of open) {
      if (each.id === range.id) continue;
      for (const [one, other] of blame(range, each)) {
        const known = found.get(one.id);
        if (known === undefined || other.id < known[1].id) found.set(one.id, [one, other]);
      }
    }
    open.push(range);
  }
  return new Map([...found].map(([id, [one, other]]) => [id, messageOf(one, other)]));
}

function messageOf(one: Range, other: Range): string {
  return `cluster "${one.id}": its subnet ${one.subnet} overlaps ${other.subnet} of cluster "${other.id}"; use networks that do not overlap`;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
