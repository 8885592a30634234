// A recording, line by line. A line takes effect where it stands: between two waves, or as a wave.
import type { RecordedOutcome, RecordedRead } from '../engine/index.ts';
import type { Delta } from './delta.ts';
import type { RecordedWorld } from './hooks.ts';

/** Raised by every change after which an older program cannot read a recording. */
export const HISTORY_FORMAT = 1;

export interface HistoryHeader {
  readonly format: number;
  readonly version: string;
  readonly operators: readonly string[];
  /** The flags of the program, without those that name files. */
  readonly flags: readonly string[];
  /** Texts of the flags of operators, by operator and flag. */
  readonly operatorFlags?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** RFC 3339. */
  readonly started: string;
  readonly secrets: 'replaced' | 'encrypted';
  readonly serveFirst: boolean;
  readonly whole: boolean;
  /** Inputs that this recording cannot have, in words. */
  readonly unseen: readonly string[];
}

/** `[table, key, 0, mark]`: no value. `[table, key, 1, value, as?]`. `[table, key, 2, delta, as?]`. `[table, isSynced]`. */
export type HistoryInput =
  | readonly [number, string, 0, number]
  | readonly [number, string, 1, unknown, WrittenAs?]
  | readonly [number, string, 2, Delta, WrittenAs?]
  | readonly [number, 0 | 1];

/** An object that was written under another kind than the one that it is read as. */
export type WrittenAs = readonly [apiVersion: string, kind: string];

/** A function that read secret data, and its result; none: it is computed again from now on. */
export interface HistoryResult {
  readonly node: number;
  readonly key: string;
  readonly outcome?: RecordedOutcome;
  readonly reads?: readonly RecordedRead[];
}

/** The result at a snapshot of a function that looks at its previous one. `lost`: it cannot be recorded, because it holds functions. */
export interface HistoryPrevious {
  readonly node: number;
  readonly key: string;
  readonly value?: unknown;
  readonly lost?: true;
}

export interface HistoryWave {
  readonly wave: number;
  /** Milliseconds since the epoch: the one time that the wave sees. */
  readonly at: number;
  readonly inputs?: readonly HistoryInput[];
  readonly results?: readonly HistoryResult[];
  readonly newcomers?: readonly number[];
}

export interface SnapshotCell {
  readonly table: number;
  readonly key: string;
  readonly mark: number;
  readonly value?: unknown;
  readonly as?: WrittenAs;
}

export type HistoryLine =
  | { readonly table: number; readonly name: string; readonly nth: number; readonly sensitive?: true }
  | { readonly derivation: number; readonly name: string; readonly owner?: string }
  | HistoryWave
  | { readonly world: RecordedWorld }
  | { readonly gone: string }
  | { readonly served: true }
  | { readonly lease: string; readonly holds: boolean }
  | { readonly invalidated: number; readonly key: string }
  /** Everything that there was before the waves that follow, up to `end`. */
  | {
      readonly snapshot: 'begin' | 'end';
      readonly wave: number;
      readonly at: number;
      readonly synced: readonly number[];
    }
  | { readonly cell: SnapshotCell }
  | { readonly result: HistoryResult }
  | { readonly previous: HistoryPrevious }
  /** Digests of the results of nodes in a wave: `[derivation, key, digest]`; an empty digest: the node is gone. */
  | { readonly digests: readonly (readonly [number, string, string])[]; readonly of: number };
