// The order of a start: the serving parts come first, the reports afterwards.
import type { Clock } from '@capstan/kube/cluster';
import type { Root } from '../engine/index.ts';

export interface ServingFirst {
  /** A sink that serves; to be called back when its first snapshot is delivered. */
  expect(id: string): () => void;
  /** All that starts together is known. */
  begin(): void;
  /** Starts when all expected sinks have served. */
  afterwards(start: () => Root): Root;
  /** Starts now. */
  end(): void;
}

/** A sink that cannot get its snapshot must not keep the reason from being reported. */
const LIMIT_MS = 10_000;
/** A pause for clients that wait to be served. */
const REST_MS = 500;
/** Clients that are served all the time must not keep reports from being written. */
const BUSY_LIMIT_MS = 30_000;

/** `isBusy`: clients are being served since it was asked before. */
export function createServingFirst(
  clock: Clock,
  isWanted: boolean,
  onEnd?: () => void,
  isBusy: () => boolean = () => false,
): ServingFirst {
  const expected = new Set<string>();
  const waiting = new Set<() => void>();
  let isOver = !isWanted;
  let hasBegun = false;
  let hasExpected = false;
  /** Set when all that serves has its first snapshot. */
  let busyUntil: number | undefined;

  function end(): void {
    if (isOver) return;
    isOver = true;
    onEnd?.();
    for (const start of waiting) start();
    waiting.clear();
  }

  const endIfServed = () => {
    if (isOver || !hasBegun || expected.size > 0) return;
    if (!hasExpected) end();
    else if (busyUntil === undefined) {
      busyUntil = clock.now() + BUSY_LIMIT_MS;
      isBusy();
      clock.after(REST_MS, endAtRest);
    }
  };

  function endAtRest(): void {
    if (isOver) return;
    if (isBusy() && clock.now() < (busyUntil ?? 0)) clock.after(REST_MS, endAtRest);
    else end();
  }

  return {
    end,
    expect(id) {
      if (isOver) return () => {};
      expected.add(id);
      hasExpected = true;
      return () => {
        if (expected.delete(id)) endIfServed();
      };
    },
    begin() {
      if (isOver) return;
      if (!hasBegun) clock.after(LIMIT_MS, () => !isOver && busyUntil === undefined && end());
      hasBegun = true;
      endIfServed();
    },
    afterwards(start) {
      if (isOver) return start();
      let root: Root | undefined;
      const begin = () => {
        root = start();
      };
      waiting.add(begin);
      return {
        stop() {
          waiting.delete(begin);
          root?.stop();
        },
      };
    },
  };
}
