import { type Client, type DefinedKind, type Discovery, discover, isApiError, type Kind, kindId } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import type { Manifest } from './read-manifests.ts';

/** Finds the kind of a manifest: the operators' own kinds first (they need not be installed), then the server's. */
export interface KnownKinds {
  /** `given` are kinds that the CRDs among the manifests define. */
  kindOf(manifest: Manifest, given?: readonly Kind[]): Promise<Kind>;
  /** Returns false where the server has no such kind; true where it cannot be asked. */
  isServed(kind: Kind): Promise<boolean>;
  /** The kind as which the operators see objects of this one: itself, or the one of which it is an alias. */
  seenAs(kind: Kind): Kind;
}

export function knownKinds(operators: readonly Operator[], client: Client, signal: AbortSignal): KnownKinds {
  const own = operators.flatMap(({ kinds, reconcilers }) => [
    ...kinds,
    ...reconcilers.flatMap(({ resource, reads, writes }) => [
      resource,
      ...[...reads, ...writes].map(({ kind }) => kind),
    ]),
  ]);
  // Other versions of a kind are the same kind, and its aliases are other names for it.
  const seen = new Map(
    own.filter(isDefined).flatMap((kind) => [kind, ...aliasesOf(kind)].map((name) => [kindId(name), kind] as const)),
  );
  const named = [...own, ...own.filter(isDefined).flatMap(aliasesOf)];
  let discovery: Promise<Discovery> | undefined;
  const discovered = () => {
    discovery ??= discover(client, { signal });
    return discovery;
  };
  return {
    async isServed({ apiVersion, kind }) {
      try {
        const { kindOf, unavailable } = await discovered();
        return unavailable.includes(apiVersion) || kindOf(apiVersion, kind) !== undefined;
      } catch (error) {
        if (!isApiError(error)) throw error;
        return true;
      }
    },
    async kindOf({ object, place }, given = []) {
      const { apiVersion, kind: name } = object;
      const isIt = (kind: Kind) => kind.apiVersion === apiVersion && kind.kind === name;
      const known = named.find(isIt);
      if (known !== undefined) return known;
      const found = (await discovered()).kindOf(apiVersion, name) ?? given.find(isIt);
      if (found === undefined) throw CliErrors.NotServed(place, `${name} ${object.metadata.name}`, apiVersion);
      return found;
    },
    seenAs: (kind) => seen.get(kindId(kind)) ?? kind,
  };
}

function aliasesOf({ aliases }: DefinedKind): Kind[] {
  return aliases.map(({ kind }) => kind);
}

function isDefined(kind: Kind): kind is DefinedKind {
  return 'aliases' in kind;
}
