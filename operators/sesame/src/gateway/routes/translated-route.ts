// What a route of the Gateway API comes to, before it is known which hosts it is served at.
import type { RouteEntry } from '../../routing/route-entry.ts';
import type { Resource } from '../../xds/index.ts';
import type { RefProblem } from '../listeners/certificates.ts';

export interface TranslatedRoute {
  /** In the order of the rules and their matches. */
  readonly entries: readonly RouteEntry[];
  /** References that cannot be used: of backends, mirrors and extensions. */
  readonly refProblems: readonly RefProblem[];
  /** Rules that are left out, and why. */
  readonly invalidRules: readonly string[];
  readonly ruleCount: number;
}

export interface StreamTarget {
  readonly clusters: readonly Resource[];
  /** Names with weights; one that cannot be used is no cluster's name. */
  readonly weighted: readonly { readonly name: string; readonly weight: number }[];
  readonly refProblems: readonly RefProblem[];
}
