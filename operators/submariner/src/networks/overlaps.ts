// Networks of different clusters that overlap: packets to them can go to one cluster only.
import { isCidr, rangeOf } from '../drivers/addresses.ts';

export interface ClusterNetworks {
  readonly id: string;
  readonly subnets: readonly string[];
}

/** A message for each cluster that overlaps another, by its id; found in one pass over the sorted networks. */
export function findOverlaps(clusters: readonly ClusterNetworks[]): Map<string, string> {
  const ranges = clusters
    .flatMap(({ id, subnets }) => subnets.filter(isCidr).map((subnet) => ({ id, subnet, ...rangeOf(subnet) })))
    .toSorted(
      (a, b) => a.family - b.family || compare(a.first, b.first) || compare(b.last, a.last) || (a.id < b.id ? -1 : 1),
    );
  const found = new Map<string, { readonly other: string; readonly message: string }>();
  const note = (one: (typeof ranges)[number], other: (typeof ranges)[number]) => {
    const known = found.get(one.id);
    if (known !== undefined && known.other <= other.id) return;
    const message = `cluster "${one.id}": its subnet ${one.subnet} overlaps ${other.subnet} of cluster "${other.id}"; use networks that do not overlap`;
    found.set(one.id, { other: other.id, message });
  };
  let open: typeof ranges = [];
  for (const range of ranges) {
    open = open.filter((each) => each.family === range.family && each.last >= range.first);
    for (const each of open) {
      if (each.id === range.id) continue;
      note(range, each);
      note(each, range);
    }
    open.push(range);
  }
  return new Map([...found].map(([id, { message }]) => [id, message]));
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
