import type { Kind, KubeObject } from '@capstan/kube';
import type { RouteRule } from '../model.ts';

/** A kind of route: where it lives, and how its rules are found. Its CRD need not be installed. */
export interface RouteKind {
  readonly kind: Kind;
  /** Names its reconciler, field manager and derivations: never to be changed. */
  readonly id: string;
  rulesOf(route: KubeObject): readonly RouteRule[];
}

/** Before a route is cached: its status is large, moves often, and nobody here reads it. */
export function trimRoute(route: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec } = route as KubeObject & { spec?: unknown };
  const trimmed: KubeObject & { spec?: unknown } = { apiVersion, kind, metadata, spec };
  return trimmed;
}
