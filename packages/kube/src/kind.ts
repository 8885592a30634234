import type { KubeObject } from './object.ts';

declare const type: unique symbol;

/**
 * A kind as a value: where it lives in the API, and (in the type parameter) what its objects look like.
 * Built-in kinds and kinds of others are plain Kinds; kinds of ours come from defineKind and bring schema, CRD, defaults and validation.
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
  /** Never present: it carries the static type. */
  readonly [type]?: T;
}

// The static type of a kind's objects.
export type KindOf<K> = K extends Kind<infer T> ? T : never;

/** `Kind.group`, as in `Deployment.apps`; the core group has no suffix. Unique within a cluster. */
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

/** A kind that another client defines (a built-in one, or another project's): only where it lives, and its type. */
export function externalKind<T extends KubeObject = KubeObject>(declaration: KindDeclaration): Kind<T> {
  const { group, version } = declaration;
  return { ...declaration, apiVersion: group === '' ? version : `${group}/${version}` };
}

/** The group of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
