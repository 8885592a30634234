import type { KubeObject } from './object.ts';

declare const type: unique symbol;

/**
 * A kind as a value: its place in the API and, in the type parameter, the type of its objects. Built-in and foreign kinds are plain Kinds.
 * Capstan's own kinds come from defineKind and have a schema, a CRD, defaults and validation.
 */
export interface Kind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** `version` for the core group, `group/version` otherwise. */
  readonly apiVersion: string;
  /** True for kinds whose content must never be printed, logged or hashed without a key (Secret). */
  readonly sensitive?: boolean;
  /** Whether the kind has a status subresource. */
  readonly hasStatus?: boolean;
  /** False if the definition of an alias lacks the field `status.observedGeneration`. By default it has the field where the kind has it. */
  readonly hasObservedGeneration?: boolean;
  /** The property is never present. It carries the static type. */
  readonly [type]?: T;
}

// The static type of a kind's objects.
export type KindOf<K> = K extends Kind<infer T> ? T : never;

/** Returns `Kind.group`, for example `Deployment.apps`. The core group has no suffix. The id is unique within a cluster. */
export function kindId(kind: Pick<Kind, 'group' | 'kind'>): string {
  return kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
}

export interface KindDeclaration {
  group: string;
  version: string;
  kind: string;
  plural: string;
  scope: 'Namespaced' | 'Cluster';
  sensitive?: boolean;
  hasStatus?: boolean;
}

/** Declares a kind that is defined elsewhere (by Kubernetes or another project), with its place in the API and its type. */
export function externalKind<T extends KubeObject = KubeObject>(declaration: KindDeclaration): Kind<T> {
  const { group, version } = declaration;
  return { ...declaration, apiVersion: group === '' ? version : `${group}/${version}` };
}

/** Returns the group of an apiVersion, which is empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
