import type { Charset } from './charset.ts';

/** Where an assertion holds: `^` and `\A`, `$` and `\z`, the same per line under (?m), and word boundaries. */
export type Assertion = 'text-start' | 'text-end' | 'line-start' | 'line-end' | 'word' | 'not-word';

export type Node =
  | { readonly op: 'empty' }
  | { readonly op: 'chars'; readonly set: Charset }
  | { readonly op: 'assert'; readonly assertion: Assertion }
  | { readonly op: 'concat'; readonly parts: readonly Node[] }
  | { readonly op: 'either'; readonly parts: readonly Node[] }
  | { readonly op: 'group'; readonly index: number; readonly part: Node }
  | RepeatNode;

export interface RepeatNode {
  readonly op: 'repeat';
  readonly part: Node;
  readonly min: number;
  /** Infinity for no limit. */
  readonly max: number;
  readonly greedy: boolean;
}

export interface ParsedRegexp {
  readonly root: Node;
  /** The names of the groups, from group 1 on; undefined for those without. */
  readonly groups: readonly (string | undefined)[];
}
