// Aliases: other names under which objects of a kind are written. Reconcilers see one view of them all; the user's object is never
// rewritten, and status goes back to the object that was read.
import { groupOf, type Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import { SchemaErrors } from '../schema/errors.ts';
import type { JsonObject } from '../schema/json-schema.ts';
import { pluralOf } from './crd.ts';

export interface KindAlias {
  /** Default: the group of the kind. */
  group?: string;
  /** Default: the version of the kind. */
  version?: string;
  /** Default: the kind itself. */
  kind?: string;
  /** Default: derived from the alias' kind. */
  plural?: string;
  scope?: 'Namespaced' | 'Cluster';
  /** False where the definition of others has no `status.observedGeneration`: the server would drop the field. */
  hasObservedGeneration?: boolean;
  /** Brings the alias' fields to where the kind has them; pure. Default: they are the same. */
  normalise?: (object: JsonObject) => JsonObject;
}

export interface ResolvedAlias {
  readonly kind: Kind;
  readonly normalise?: (object: JsonObject) => JsonObject;
}

export function resolveAliases(own: Kind, aliases: readonly KindAlias[]): ResolvedAlias[] {
  return aliases.map((alias) => {
    const { group = own.group, version = own.version, kind = own.kind, scope = own.scope, normalise } = alias;
    const plural = alias.plural ?? (kind === own.kind ? own.plural : pluralOf(kind));
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const { hasStatus = false } = own;
    const identity = { group, version, kind, plural, scope, apiVersion, hasStatus };
    const { hasObservedGeneration } = alias;
    const named = hasObservedGeneration === undefined ? identity : { ...identity, hasObservedGeneration };
    return { kind: named, ...(normalise && { normalise }) };
  });
}

/** The object in the kind's own form: the same reference when it has it already. */
export function viewWith(
  own: Kind,
  aliases: readonly ResolvedAlias[],
  normalise: ((object: JsonObject) => JsonObject) | undefined,
  object: KubeObject,
): KubeObject {
  const isOwn = object.kind === own.kind && groupOf(object.apiVersion) === own.group;
  const alias = aliases.find(({ kind }) => kind.kind === object.kind && kind.apiVersion === object.apiVersion);
  if (!alias && !isOwn) {
    const known = [own, ...aliases.map(({ kind }) => kind)].map((kind) => `${kind.kind} of ${kind.apiVersion}`);
    throw SchemaErrors.wrongKind(own.kind, `${object.kind} of ${object.apiVersion}`, known);
  }
  const source = object as KubeObject & JsonObject;
  const moved = alias?.normalise ? alias.normalise(source) : source;
  const renamed =
    moved['apiVersion'] === own.apiVersion && moved['kind'] === own.kind
      ? moved
      : { ...moved, apiVersion: own.apiVersion, kind: own.kind };
  return (normalise ? normalise(renamed) : renamed) as KubeObject & JsonObject;
}
