// What a bench is built from. A bench has parts; each part runs in a process of its own, so that neither its heap nor what the
// compiler has learnt from the one before it colours its figures.
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
  /** What this machine lacks to measure it, and how to get it; default: nothing. */
  lacks?(): string | undefined;
}

/** `full` is what figures are quoted from; `tiny` only shows that everything works, within seconds. */
export type Scale = 'full' | 'tiny';
