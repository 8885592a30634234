// The room that V8 has for new objects. While a program loads it grows to 134 MB, and it shrinks only when nothing is under way: a
// cluster with work to do from its first second on would keep all of it, and as much again in buffers that wait to be collected.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Both halves of it. */
const BYTES = 16 * 1024 * 1024;
/** The lengths of small lists that live for a moment: they make the space grow. */
const STEP = 4_000;
const KEPT = 60_000;
const STEPS = 400;

/** Lets it grow to 16 MB at once, so that loading is not slowed down, and no further. To be called before anything is loaded. */
export function fixNewSpace(): void {
  let kept: number[][] = [];
  for (let step = 0; step < STEPS && newSpaceBytes() < BYTES; step++) {
    for (let index = 0; index < STEP; index++) kept.push([step, index]);
    if (kept.length > KEPT) kept = kept.slice(KEPT / 2);
  }
  setFlagsFromString('--semi-space-growth-factor=1');
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
}
