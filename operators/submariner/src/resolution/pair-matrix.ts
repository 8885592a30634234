// The rule of every pair of clusters. A cluster has a slot, and a pair is one number in a triangle over slots: the rule that
// decides it, and a bit for ambiguity. One changed cluster recomputes its own pairs; changed policies recompute all.
import type { ClusterFacts } from './cluster-labels.ts';
import { type MatchSet, matchSet, nextMatch } from './match-set.ts';
import type { Ranking } from './ranking.ts';

export interface PairMatrix {
  readonly ranking: Ranking;
  readonly clusters: number;
  /** Adds a cluster, or takes its new labels; true when one of its pairs is now decided by another rule. */
  put(cluster: ClusterFacts): boolean;
  remove(id: string): void;
  /** The rule of a pair: its place in the ranking, or -1 for the default policy. Undefined when one is not known. */
  ruleOf(left: string, right: string): { readonly index: number; readonly ambiguous: boolean } | undefined;
  /** How many pairs each rule of the ranking decides, and at the end the default policy. */
  counts(): Uint32Array;
  /** The pairs for which rules of the same rank contradict each other. */
  ambiguousPairs(): IterableIterator<readonly [string, string]>;
}

export function createPairMatrix(ranking: Ranking, clusters: Iterable<ClusterFacts> = []): PairMatrix {
  const slots = new Map<string, number>();
  const ids: (string | undefined)[] = [];
  const sets: (MatchSet | undefined)[] = [];
  const free: number[] = [];
  let pairs = new Uint16Array(1024);
  const counts = new Uint32Array(ranking.rules.length + 1);

  const fill = (slot: number, own: MatchSet, wasThere: boolean): boolean => {
    let changed = false;
    for (let other = 0; other < sets.length; other++) {
      const set = sets[other];
      if (other === slot || set === undefined) continue;
      const at = placeOf(slot, other);
      const before = pairs[at] ?? 0;
      const after = decide(ranking, own, set);
      if (wasThere) {
        if (before === after) continue;
        count(counts, before, -1);
      }
      pairs[at] = after;
      count(counts, after, 1);
      changed = true;
    }
    return changed;
  };

  const put = ({ id, labels }: ClusterFacts): boolean => {
    const set = matchSet(labels, ranking);
    const known = slots.get(id);
    if (known !== undefined) {
      if (isSame(sets[known], set)) return false;
      sets[known] = set;
      return fill(known, set, true);
    }
    const slot = free.pop() ?? sets.length;
    slots.set(id, slot);
    ids[slot] = id;
    sets[slot] = set;
    pairs = withRoom(pairs, sets.length);
    return fill(slot, set, false);
  };

  for (const cluster of clusters) put(cluster);
  return {
    ranking,
    get clusters() {
      return slots.size;
    },
    put,
    remove(id) {
      const slot = slots.get(id);
      if (slot === undefined) return;
      for (let other = 0; other < sets.length; other++)
        if (other !== slot && sets[other] !== undefined) count(counts, pairs[placeOf(slot, other)] ?? 0, -1);
      slots.delete(id);
      ids[slot] = undefined;
      sets[slot] = undefined;
      free.push(slot);
    },
    ruleOf(left, right) {
      const [one, other] = [slots.get(left), slots.get(right)];
      if (one === undefined || other === undefined || one === other) return undefined;
      const packed = pairs[placeOf(one, other)] ?? 0;
      return { index: (packed & RULE) - 1, ambiguous: (packed & AMBIGUOUS) !== 0 };
    },
    counts: () => counts.slice(),
    *ambiguousPairs() {
      for (let one = 1; one < ids.length; one++) {
        for (let other = 0; other < one; other++) {
          const [left, right] = [ids[one], ids[other]];
          if (left === undefined || right === undefined) continue;
          if (((pairs[placeOf(one, other)] ?? 0) & AMBIGUOUS) !== 0) yield [left, right];
        }
      }
    },
  };
}

/** A pair is stored as the place of its rule plus one; zero is the default policy. */
const AMBIGUOUS = 0x8000;
const RULE = 0x7fff;

function decide({ rules }: Ranking, one: MatchSet, other: MatchSet): number {
  const first = nextMatch(one, other);
  const winner = rules[first];
  if (winner === undefined) return 0;
  for (let next = nextMatch(one, other, first + 1); next >= 0; next = nextMatch(one, other, next + 1)) {
    if (next >= winner.tieEnd) break;
    if (rules[next]?.outcome !== winner.outcome) return (first + 1) | AMBIGUOUS;
  }
  return first + 1;
}

function count(counts: Uint32Array, packed: number, by: number): void {
  const rule = packed & RULE;
  const at = rule === 0 ? counts.length - 1 : rule - 1;
  counts[at] = (counts[at] ?? 0) + by;
}

function placeOf(one: number, other: number): number {
  return one > other ? (one * (one - 1)) / 2 + other : (other * (other - 1)) / 2 + one;
}

function withRoom(pairs: Uint16Array<ArrayBuffer>, slots: number): Uint16Array<ArrayBuffer> {
  const needed = (slots * (slots - 1)) / 2;
  if (needed <= pairs.length) return pairs;
  const larger = new Uint16Array(Math.max(needed, pairs.length * 2));
  larger.set(pairs);
  return larger;
}

function isSame(a: MatchSet | undefined, b: MatchSet): boolean {
  return a !== undefined && a.length === b.length && a.every((word, index) => word === b[index]);
}
