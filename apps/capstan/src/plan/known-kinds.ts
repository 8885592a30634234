import { type Client, type Discovery, discover, type Kind } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import type { Manifest } from './read-manifests.ts';

/** Finds the kind of a manifest: the operators' own kinds first (they need not be installed), then the server's. */
export interface KnownKinds {
  kindOf(manifest: Manifest): Promise<Kind>;
}

export function knownKinds(operators: readonly Operator[], client: Client, signal: AbortSignal): KnownKinds {
  const own = operators.flatMap(({ kinds, reconcilers }) => [
    ...kinds,
    ...reconcilers.flatMap(({ resource, reads, writes }) => [
      resource,
      ...[...reads, ...writes].map(({ kind }) => kind),
    ]),
  ]);
  let discovery: Promise<Discovery> | undefined;
  return {
    async kindOf({ object, place }) {
      const { apiVersion, kind: name } = object;
      const known = own.find((kind) => kind.apiVersion === apiVersion && kind.kind === name);
      if (known !== undefined) return known;
      discovery ??= discover(client, { signal });
      const found = (await discovery).kindOf(apiVersion, name);
      if (found === undefined) throw CliErrors.BadManifest(place, `the cluster has no kind ${name} in ${apiVersion}`);
      return found;
    },
  };
}
