/** A built-in resource as API discovery shows it; the table of them is `builtinResources`. */
export interface BuiltinResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly BuiltinSubresource[];
}

export interface BuiltinSubresource {
  /** Without the resource: `status`, `scale`, `token`. */
  readonly name: string;
  /** What is sent and received there, which may be another kind than the resource's: Scale, TokenRequest, Eviction. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}
