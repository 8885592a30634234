/** A built-in resource as API discovery shows it. `builtinResources` is the table of them. */
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
  /** The name without the resource: `status`, `scale`, `token`. */
  readonly name: string;
  /** The group of the kind that is sent and received, which may differ from the resource's kind: Scale, TokenRequest, Eviction. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}
