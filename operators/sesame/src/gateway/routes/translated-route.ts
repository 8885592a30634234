// The translation of a route of the Gateway API, before its hosts are known.

import type { Origin } from '../../model/origin.ts';
import type { Destination, Route } from '../../model/route.ts';
import type { RefProblem } from '../listeners/certificates.ts';

export interface TranslatedRoute {
  /** In the order of the rules and their matches. */
  readonly routes: readonly Route[];
  /** References that cannot be used: of backends, mirrors and extensions. */
  readonly refProblems: readonly RefProblem[];
  /** Rules that are left out, and why. */
  readonly invalidRules: readonly string[];
  readonly ruleCount: number;
}

export interface StreamTarget {
  /** Those with a weight. */
  readonly destinations: readonly Destination[];
  /** The rule; undefined when there is none. */
  readonly origin: Origin | undefined;
  readonly refProblems: readonly RefProblem[];
}
