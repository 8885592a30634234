import type { Digest } from '../digest.ts';
import type { Reader } from './reader.ts';

/** A keyed, memoised pure function with tracked reads: an equal result stops the wave. */
export interface DerivationDefinition<R> {
  readonly name: string;
  /**
   * `previous` is the result as of the last wave, if there was one: for facts that the inputs no longer contain. It is lost with the
   * process, so nothing that matters after a restart may depend on it. (Its type is R; declared so, R could not be inferred.)
   */
  compute(context: { key: string; read: Reader; digest: Digest; previous: unknown }): R;
  /** Deep equality by default. */
  equals?(left: R, right: R): boolean;
  /** The value of members of a cycle; without it a cycle is an error that names its members. */
  onCycle?(members: readonly string[]): R;
}

/** Splits large work: a reader of the derivation is woken only when the result for its key differs. */
export function derivation<R>(definition: DerivationDefinition<R>): DerivationDefinition<R> {
  return definition;
}
