import type { Kind, KubeObject } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { RouteRule } from '../model.ts';
import type { Json } from './json.ts';

/** A kind of route: where it lives, and how its rules are found. Its CRD need not be installed. */
export interface RouteKind {
  readonly kind: Kind;
  /** As people know it. */
  readonly title: string;
  /** Names its reconciler, field manager and derivations: never to be changed. */
  readonly id: string;
  /** The same routes in a newer version: while that is served, this one is passed over. */
  readonly newer?: Kind;
  /** With other routes of the kind that it shares requests with. */
  rulesOf(route: KubeObject, peers?: readonly KubeObject[]): readonly RouteRule[];
  peersOf?(read: Reader, route: KubeObject): readonly KubeObject[];
  /**
   * Returns the spec without references to Services that are being removed. Entries that the object needs to be valid are kept and
   * reported.
   */
  withoutServices(spec: Json, isGone: IsGone): Reduced;
}

/** Whether a Service, in the route's own namespace unless one is given, is going. */
export type IsGone = (name: string, namespace?: string) => boolean;

export interface Reduced {
  readonly spec: Json;
  /** Entries that were taken out where nothing is left to say where they were: kept in an annotation. */
  readonly removed: readonly { readonly at: string; readonly services: readonly unknown[] }[];
  /** Points that the user should check. */
  readonly warnings: readonly string[];
  /** References stayed, because the object would not be valid without them. */
  readonly isOrphaned: boolean;
}
