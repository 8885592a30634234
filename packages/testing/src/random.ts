// Randomness that replays: one seed, one sequence. A fork is a sequence of its own that depends on the seed and its label only, so that
// drawing more numbers in one place does not change another place.
import type { Random } from '@capstan/kube';
import { TestingErrors } from './errors.ts';

/** Callable as the plain Random that the runtime takes. */
export interface SeededRandom extends Random {
  readonly seed: number;
  /** A whole number, both ends included. */
  integer(min: number, max: number): number;
  /** One of the list, which must not be empty. */
  pick<T>(list: readonly T[]): T;
  /** True with this probability; 0 is never, 1 is always. */
  chance(probability: number): boolean;
  /** A new list in random order. */
  shuffle<T>(list: readonly T[]): T[];
  fork(label: string): SeededRandom;
}

/** A generator of random numbers that gives the same sequence for the same seed. */
export function createRandom(seed: number): SeededRandom {
  const next = generator(seed);
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return Object.assign(() => next(), {
    seed,
    integer,
    pick<T>(list: readonly T[]): T {
      for (const one of list.slice(integer(0, list.length - 1))) return one;
      throw TestingErrors.NothingToPick();
    },
    chance: (probability: number) => next() < probability,
    shuffle<T>(list: readonly T[]): T[] {
      const rest = [...list];
      return list.flatMap(() => rest.splice(integer(0, rest.length - 1), 1));
    },
    fork: (label: string) => createRandom(mix(seed, label)),
  });
}

/** The "small fast counting" generator (sfc32): 128 bits of state, passes the usual statistical batteries. */
function generator(seed: number): Random {
  let a = 0x9e3779b9;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = seed | 0;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // Seeds that differ in one bit begin alike; a dozen rounds spread the difference over the whole state.
  for (let round = 0; round < 12; round++) next();
  return next;
}

/** FNV-1a over the label, begun from the seed: a 32-bit seed of its own. */
function mix(seed: number, label: string): number {
  let hash = (0x811c9dc5 ^ seed ^ Math.floor(seed / 2 ** 32)) | 0;
  for (const character of label) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
