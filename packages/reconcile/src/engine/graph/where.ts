import type { Index } from '../engine-types.ts';

/** One requirement of a label selector; equality is `In` with one value. */
export interface SelectorTerm {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/** The parts of a compiled label selector that the engine needs; any value of this shape works. */
export interface Selector {
  readonly terms: readonly SelectorTerm[];
  /** Equal text for equal selectors: it is how queries are shared between readers. */
  readonly canonical: string;
  matches(labels: Readonly<Record<string, string>> | undefined): boolean;
}

/** Which members of a table a list reads; all conditions hold at once. */
export interface Where<V = unknown> {
  readonly namespace?: string;
  readonly selector?: Selector;
  readonly index?: readonly [Index<V>, string];
  /** A last resort: every event of the table is tested against it. Hoist it, or each run makes a query of its own. */
  readonly where?: (value: V, key: string) => boolean;
}

/** One text for each different `where`, by which queries are interned; predicates count by identity. */
export function canonicalWhere(where: Where, predicateId: (predicate: object) => number): string {
  let text = where.namespace === undefined ? '*' : `n${where.namespace}`;
  if (where.selector !== undefined) text += `\u0000s${where.selector.canonical}`;
  if (where.index !== undefined) text += `\u0000i${where.index[0].name}=${where.index[1]}`;
  if (where.where !== undefined) text += `\u0000w${predicateId(where.where)}`;
  return text;
}

/** Returns a `where` in words, for the unknowns of a reconcile. */
export function describeWhere(where: Where): string {
  const parts: string[] = [];
  if (where.namespace !== undefined) parts.push(`namespace ${where.namespace}`);
  if (where.selector !== undefined && where.selector.canonical !== '') parts.push(where.selector.canonical);
  if (where.index !== undefined) parts.push(`${where.index[0].name}=${where.index[1]}`);
  return parts.length === 0 ? '*' : parts.join(', ');
}
