import { percentile } from './percentiles.ts';
import { stopwatch } from './stopwatch.ts';

/** Milliseconds that the work took, by the stopwatch. */
export function milliseconds(work: () => void): number {
  const elapsed = stopwatch();
  work();
  return elapsed();
}

export async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const elapsed = stopwatch();
  await work();
  return elapsed();
}

/** Single operations, timed one by one; `prepare` runs outside the time and returns the operation. */
export interface Operations {
  warmUp: number;
  count: number;
  prepare(index: number): () => void;
}

/** Milliseconds of each operation after the warm-up. */
export function timeEach({ warmUp, count, prepare }: Operations): number[] {
  const samples: number[] = [];
  for (let index = 0; index < warmUp + count; index++) {
    const elapsed = milliseconds(prepare(index));
    if (index >= warmUp) samples.push(elapsed);
  }
  return samples;
}

export interface Latency {
  p50: number;
  p99: number;
}

export function latencyOf(samples: readonly number[]): Latency {
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) };
}

/** The same measurement several times, one after the other. */
export function rounds<T>(count: number, measure: (round: number) => T): T[] {
  return Array.from({ length: count }, (_, round) => measure(round));
}

export async function roundsOf<T>(count: number, measure: (round: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < count; round++) results.push(await measure(round));
  return results;
}
