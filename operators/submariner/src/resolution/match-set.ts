import type { Ranking } from './ranking.ts';

/** Which rules select a cluster, as bits: first those whose left side does, then those whose right side does. */
export type MatchSet = Uint32Array;

export function matchSet(labels: Readonly<Record<string, string>>, { rules }: Ranking): MatchSet {
  const words = wordsOf(rules.length);
  const bits = new Uint32Array(words * 2);
  for (const [index, { rule }] of rules.entries()) {
    const word = index >>> 5;
    const bit = 1 << (index & 31);
    if (rule.left.compiled.matches(labels)) bits[word] = (bits[word] ?? 0) | bit;
    if (rule.right.compiled.matches(labels)) bits[words + word] = (bits[words + word] ?? 0) | bit;
  }
  return bits;
}

/** The first rule at or after `from` that matches the two clusters in either order; -1 when none does. */
export function nextMatch(one: MatchSet, other: MatchSet, from = 0): number {
  const words = one.length >>> 1;
  for (let word = from >>> 5; word < words; word++) {
    let both = ((one[word] ?? 0) & (other[words + word] ?? 0)) | ((one[words + word] ?? 0) & (other[word] ?? 0));
    if (word === from >>> 5) both &= -1 << (from & 31);
    if (both !== 0) return (word << 5) + (31 - Math.clz32(both & -both));
  }
  return -1;
}

function wordsOf(rules: number): number {
  return Math.ceil(rules / 32);
}
