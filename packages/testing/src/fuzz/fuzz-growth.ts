// Time against length: a part of an input is repeated, four times as often in each step. The time may grow with the length, and a little faster.
import type { SeededRandom } from '../random.ts';
import { timeOf } from './fuzz-check.ts';
import { bytesOf, DEFAULT_MAX_BYTES, type FuzzTarget } from './fuzz-target.ts';

const FACTOR = 4;
/** Quadratic time has 16, linear time 4; sorting, hashing and the caches of the processor add something. */
const MAX_RATIO = 10;
/** Shorter times say nothing about growth. */
const MEASURABLE_MS = 4;
/** Growth beyond this time shows in the step before. */
const ENOUGH_MS = 400;
const SMALLEST = 1024;

/** Returns the input and a sentence about it where the time grows too fast. */
export async function findGrowth(
  target: FuzzTarget,
  random: SeededRandom,
  inputs: readonly Buffer[],
): Promise<{ input: Buffer; problem: string } | undefined> {
  const { maxBytes = DEFAULT_MAX_BYTES, tokens = [] } = target;
  const base = random.pick(inputs);
  const start = random.integer(0, base.length);
  const end = random.chance(0.5) ? start : random.integer(start, base.length);
  const isToken = tokens.length > 0 && random.chance(0.4);
  const part = isToken
    ? bytesOf(random.pick(tokens))
    : base.subarray(start, Math.min(base.length, start + random.integer(1, 24)));
  if (part.length === 0) return undefined;
  const build = (bytes: number) =>
    Buffer.concat([
      base.subarray(0, start),
      Buffer.alloc(Math.ceil(bytes / part.length) * part.length, part),
      base.subarray(end),
    ]);
  let before = await timeOf(target, build(SMALLEST), 2);
  for (let bytes = SMALLEST * FACTOR; bytes <= maxBytes && before < ENOUGH_MS; bytes *= FACTOR) {
    const input = build(bytes);
    const ms = await timeOf(target, input, 2);
    if (before >= MEASURABLE_MS && ms > MAX_RATIO * before) {
      // Collections and other programs of the machine disturb a single measurement.
      const ratio = (await timeOf(target, input, 4)) / (await timeOf(target, build(bytes / FACTOR), 6));
      if (ratio > MAX_RATIO)
        return {
          input,
          problem: `${FACTOR} times the length takes ${ratio.toFixed(1)} times the time (${Math.round(ms)} ms for ${bytes} bytes)`,
        };
    }
    before = ms;
  }
  return undefined;
}
