// The loop of a fuzz target: draws or changes an input, hands it to the parser, keeps the ones that reach new code, and stops at the first defect.
import { createRandom, type SeededRandom } from '../random.ts';
import { type CoveredRanges, createCoveredRanges } from './covered-ranges.ts';
import { checkInput } from './fuzz-check.ts';
import { findGrowth } from './fuzz-growth.ts';
import { bytesOf, DEFAULT_MAX_BYTES, type FuzzTarget } from './fuzz-target.ts';
import { type Material, mutated } from './mutate-bytes.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** How many inputs are tried; default: until the time is over. */
  readonly inputs?: number;
  /** Milliseconds of the wall; default: until all inputs are tried. */
  readonly ms?: number;
  /** Inputs of earlier runs. All of them are tried first. */
  readonly corpus?: readonly Buffer[];
  /** Keeps inputs that reach new code; default false. */
  readonly isGuided?: boolean;
  /** Is called with each input before the parser sees it, so that one that never returns is known. */
  readonly onInput?: (input: Buffer) => void;
}

export interface FuzzReport {
  readonly inputs: number;
  readonly refused: number;
  /** Inputs that reached code which those of the corpus did not. */
  readonly discovered: readonly Buffer[];
  readonly slowest: { readonly ms: number; readonly bytes: number };
  readonly finding?: FuzzFinding;
}

export interface FuzzFinding {
  readonly input: Buffer;
  readonly problem: string;
}

/** Inputs between two looks at the coverage, each of which takes tens of milliseconds: more of them where nothing new is found. */
const BATCH = 64;
const MAX_BATCH = 4_096;
/** Inputs between two measurements of growth. */
const GROWTH_EVERY = 250;
/** Kept inputs; larger ones are not kept. */
const MAX_KEPT = 2_000;
const MAX_KEPT_BYTES = 2_048;

export async function runTarget(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  const random = createRandom(options.seed);
  const deadline = options.ms === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.ms;
  const { inputs = Number.POSITIVE_INFINITY, corpus = [] } = options;
  const material = materialOf(target, corpus);
  const covered = options.isGuided === true ? createCoveredRanges() : undefined;
  const discovered: Buffer[] = [];
  const slowest = { ms: 0, bytes: 0 };
  let tried = 0;
  let refused = 0;
  const report = (finding?: FuzzFinding): FuzzReport => ({
    inputs: tried,
    refused,
    discovered,
    slowest,
    ...(finding && { finding }),
  });

  const attempt = async (input: Buffer): Promise<FuzzFinding | undefined> => {
    options.onInput?.(input);
    tried += 1;
    const { isRefused, ms, problem } = await checkInput(target, input);
    if (isRefused) refused += 1;
    if (ms > slowest.ms) Object.assign(slowest, { ms, bytes: input.length });
    return problem === undefined ? undefined : { input, problem };
  };

  try {
    for (const input of material.others) {
      const finding = await attempt(input);
      if (finding) return report(finding);
    }
    covered?.hasGrown();
    let size = BATCH;
    for (let next = nextInput(target, random, material); tried < inputs && performance.now() < deadline; ) {
      const batch: Buffer[] = [];
      while (batch.length < size && tried < inputs && performance.now() < deadline) {
        const input = next();
        batch.push(input);
        const finding = await attempt(input);
        if (finding) return report(finding);
        if (tried % GROWTH_EVERY !== 0) continue;
        const grown = await findGrowth(target, random, material.others);
        if (grown) return report(grown);
      }
      const isNew = covered?.wouldGrow() === true;
      if (covered && isNew) await keepNew(target, batch, covered, material.others, discovered);
      size = isNew ? BATCH : Math.min(MAX_BATCH, 2 * size);
      // Work of the parser that is not awaited, and messages of the thread that waits for us.
      await new Promise(setImmediate);
      next = nextInput(target, random, material);
    }
    return report();
  } finally {
    covered?.close();
  }
}

interface GrowingMaterial extends Material {
  readonly others: Buffer[];
}

function materialOf(target: FuzzTarget, corpus: readonly Buffer[]): GrowingMaterial {
  const { maxBytes = DEFAULT_MAX_BYTES, tokens = [], seeds } = target;
  return { tokens: tokens.map(bytesOf), others: [...seeds.map(bytesOf), ...corpus], maxBytes };
}

function nextInput(target: FuzzTarget, random: SeededRandom, material: Material): () => Buffer {
  const { generate } = target;
  return () => {
    const isDrawn = generate !== undefined && random.chance(0.4);
    const base = isDrawn ? bytesOf(generate(random)) : random.pick(material.others);
    return isDrawn && random.chance(0.3) ? base : mutated(base, random, material);
  };
}

/** Some input of the batch reached new code: each runs again by itself, to find which. */
async function keepNew(
  target: FuzzTarget,
  batch: readonly Buffer[],
  covered: CoveredRanges,
  kept: Buffer[],
  discovered: Buffer[],
): Promise<void> {
  const short = batch.filter(({ length }) => length <= MAX_KEPT_BYTES);
  for (const input of short) {
    if (kept.length >= MAX_KEPT) return;
    await checkInput(target, input);
    if (!covered.hasGrown()) continue;
    kept.push(input);
    discovered.push(input);
  }
}
