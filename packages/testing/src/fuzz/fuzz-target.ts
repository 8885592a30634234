// A parser of bytes from outside, and how inputs for it are made. Files named *.fuzz.test-support.ts beside the parsers export them, and
// `npm run fuzz` finds them there.
import type { SeededRandom } from '../random.ts';

export interface FuzzTarget {
  /** As in `npm run fuzz -- NAME`. */
  readonly name: string;
  /** Inputs that are well-formed, or nearly so. Other inputs are changes and combinations of these. */
  readonly seeds: readonly Input[];
  /** Parts that an input of this form is likely to have, and that random bytes would not contain. */
  readonly tokens?: readonly Input[];
  /** Draws an input that is mostly well-formed. Default: only seeds, the corpus and changes of both. */
  readonly generate?: (random: SeededRandom) => Input;
  /** Hands an input to the parser. Throws, or rejects with, the error of a refused input. */
  read(input: Buffer): unknown;
  /** Whether an error is the answer to a wrong input. Any other error is a defect. */
  isRefusal(error: unknown): boolean;
  /** Longer inputs are not made; default 256 KiB. A program that reads the bytes refuses longer ones itself, or bounds them elsewhere. */
  readonly maxBytes?: number;
  /** Milliseconds of the processor that an input may take; default 1,000. */
  readonly maxMs?: number;
  /** Ends the surroundings of the parser (a server, a connection). */
  close?(): Promise<void>;
}

export type Input = string | Uint8Array;

export const DEFAULT_MAX_BYTES = 256 * 1024;
export const DEFAULT_MAX_MS = 1000;

/** Text is kept in the corpus as one character for each byte. */
export function bytesOf(input: Input): Buffer {
  return typeof input === 'string' ? Buffer.from(input) : Buffer.from(input);
}
