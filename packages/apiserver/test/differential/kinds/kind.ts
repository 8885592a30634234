import type { SeededRandom } from '@capstan/testing';

/** How the generator makes requests about one kind. */
export interface GeneratedKind {
  /** Where its collection is; `{ns}` is the sequence's namespace. */
  collection: string;
  apiVersion: string;
  kind: string;
  names: readonly string[];
  /** Its content, without apiVersion, kind and metadata; now and then against the rules. */
  content(random: SeededRandom): Record<string, unknown>;
  /** Merge (and strategic) patches of its content. */
  patch(random: SeededRandom): Record<string, unknown>;
  /** Operations of a JSON patch. */
  operations(random: SeededRandom): unknown[];
  /** The fields that one manager applies: some of the content; valid more often than not. */
  applied(random: SeededRandom): Record<string, unknown>;
  /** A value of its status, for kinds that have the subresource. */
  status?(random: SeededRandom): Record<string, unknown>;
  hasScale?: boolean;
  /** Custom kinds do not take strategic patches. */
  isCustom?: boolean;
  fieldSelectors?: readonly string[];
  /** Controllers write to it after every write: it is re-checked until the two agree. */
  settles?: boolean;
}

/** With this probability the value, else nothing: for spreading. */
export function maybe<T extends object>(random: SeededRandom, probability: number, make: () => T): T | object {
  return random.chance(probability) ? make() : {};
}

export const subset = <T>(random: SeededRandom, list: readonly T[]): T[] => list.filter(() => random.chance(0.5));
