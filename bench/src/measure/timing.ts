import { percentile } from './percentiles.ts';

/** Milliseconds that the work took. */
export function milliseconds(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

export async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

export interface Cost {
  /** By the clock on the wall. */
  ms: number;
  /** Time of processors, the collector's threads included: what one core would need, however busy the machine is. */
  cpuMs: number;
}

export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const before = process.cpuUsage();
  const ms = await millisecondsOf(work);
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1000 };
}

/** Single operations, timed one by one; `prepare` runs outside the time and hands over what to do. */
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
