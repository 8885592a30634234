// The parts of a bench. Each part runs in a process of its own, so that neither the heap nor the compiled code of an earlier part affects
// its figures.
import type { Result } from './measure/result.ts';

export interface Bench {
  /** As in `npm run bench -- NAME`. */
  readonly name: string;
  readonly summary: string;
  readonly parts: readonly Part[];
  /** Parts that need a real peer (`npm run setup:real`), measured with `--peer` instead of the others; default none. */
  readonly peerParts?: readonly Part[];
}

export interface Part {
  readonly name: string;
  readonly summary: string;
  measure(scale: Scale): Promise<Result[]>;
  /** Names the programs that this machine lacks for the measurement, and how to get them; default: none. */
  lacks?(): string | undefined;
}

/** Quoted figures come from `full`; `tiny` only shows that everything works, within seconds. */
export type Scale = 'full' | 'tiny';
