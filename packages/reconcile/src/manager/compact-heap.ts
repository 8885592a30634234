// The settings of V8 for a program whose caches are most of its heap. By default, V8 gives new objects up to a hundred megabytes of room
// while the caches fill, and lets the heap grow to several times the live objects before it collects: right for a program with its own
// machine, and several times the memory that an operator needs in a pod. The flags are those that take effect while a process runs; they
// hold for all of it.
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, sleep } from '@capstan/kube/cluster';

export interface CompactHeapOptions {
  clock: Clock;
  /** Only until the start is over; then there is more room for new objects, and the heap grows by a quarter. Default false. */
  startOnly?: boolean;
  /**
   * Only for a start that is to be short: V8 decides on the room for new objects, and the heap grows by so many percent between
   * collections. Each of them visits all that is alive, which is most of it: with 50 there are half as many as with the default, 20.
   */
  startGrowthPercent?: number;
  /** Whether the caches are full and nothing is left to do. */
  isAtRest(): boolean;
  signal: AbortSignal;
}

/** While the caches fill, nearly everything stays: room for new objects would only be copied from. */
const FIXED = '--semi-space-growth-factor=1';
const GROWING = '--semi-space-growth-factor=2';
/** Both halves of the room for new objects together reach this, and double once more at most. */
const NEW_SPACE_BYTES = 5 * 1024 * 1024;
/** The same after a start. Left alone it takes 134 MB under load, and new buffers and texts that wait to be collected as much again. */
const AFTER_START_NEW_SPACE_BYTES = 16 * 1024 * 1024;
/**
 * V8 collects twice more some seconds after each collection that the program came to rest after, to give memory back. That visits all that is
 * alive, which is most of the heap, and finds next to nothing: at rest it was most of the processor time.
 */
const NO_MORE_AT_REST = '--memory-reducer-gc-count=0';
/** The growth of the heap beyond the live objects of the last collection. */
const GROWTH = '--heap-growing-percent=20';
/** For a few megabytes of new objects the threads of a parallel collection cost more than they help. */
const ONE_THREAD = '--no-parallel-scavenge';
const COMPACT = [FIXED, GROWTH, ONE_THREAD];
/** After a start: the heap grows by a quarter between collections at most. */
const AFTER_START = [GROWING, '--heap-growing-percent=25', '--parallel-scavenge'];
const POLL_MS = 1000;

/** Sets the flags; collects once when the start is over, which decides how far the heap grows from then on. */
export async function compactHeap(options: CompactHeapOptions): Promise<void> {
  const { clock, startOnly = false, startGrowthPercent, isAtRest, signal } = options;
  const starting = startGrowthPercent === undefined ? COMPACT : [`--heap-growing-percent=${startGrowthPercent}`];
  for (const flag of starting) setFlagsFromString(flag);
  while (!isAtRest() && !signal.aborted) await sleep(clock, POLL_MS, signal).catch(() => {});
  if (signal.aborted) return;
  collect();
  setFlagsFromString(NO_MORE_AT_REST);
  for (const flag of startOnly ? AFTER_START : [...COMPACT, GROWING]) setFlagsFromString(flag);
  await newSpaceHas(startOnly ? AFTER_START_NEW_SPACE_BYTES : NEW_SPACE_BYTES, signal);
  setFlagsFromString(FIXED);
}

/** Resolves when the room for new objects has grown so far. It is measured after each collection, which is when it grows. */
function newSpaceHas(bytes: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      observer.disconnect();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const observer = new PerformanceObserver(() => {
      if (newSpaceBytes() >= bytes) done();
    });
    observer.observe({ type: 'gc' });
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted || newSpaceBytes() >= bytes) done();
  });
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
}

/**
 * Collects, and compacts the rest: after a start a fifth of the heap is holes. With 10,000 objects it takes most of a second, once.
 * Compiled code is kept: without it everything would take a third more processor time for a while.
 */
function collect(): void {
  setFlagsFromString('--expose-gc');
  setFlagsFromString('--no-flush-bytecode');
  const gc = runInNewContext('gc') as (options: object) => void;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--flush-bytecode');
}
