// The manifests of a plan, each as a change of the cluster. Every manifest that cannot be planned is named, and then nothing is.
import { CodedError, type Kind } from '@capstan/kube';
import { CliErrors } from '../cli/errors.ts';
import type { KnownKinds } from './known-kinds.ts';
import type { Manifest } from './read-manifests.ts';
import { type GivenChange, type Predicting, wouldBecome, wouldBeDeleted } from './would-become.ts';

export interface GivenManifests {
  readonly given: readonly GivenChange[];
  /** The manifests in their namespaces. */
  readonly placed: readonly Manifest[];
}

export interface GivenOptions {
  readonly kinds: KnownKinds;
  readonly predicting: Predicting;
  readonly isDeletion: boolean;
  /** The namespace of the context, and the one that the user gave with -n. */
  readonly namespace: string;
  readonly givenNamespace: string | undefined;
}

export async function givenManifests(manifests: readonly Manifest[], options: GivenOptions): Promise<GivenManifests> {
  const { kinds, predicting, isDeletion, namespace, givenNamespace } = options;
  const given: GivenChange[] = [];
  const placed: Manifest[] = [];
  const failures: CodedError[] = [];
  const defined = new Set(manifests.flatMap(({ object }) => definedIn(object)));
  for (const manifest of manifests) {
    try {
      const kind = await kinds.kindOf(manifest);
      if (!(await kinds.isServed(kind)) && !defined.has(definedName(kind)))
        throw CliErrors.NotServed(manifest.place, `${kind.kind} ${manifest.object.metadata.name}`, kind.apiVersion);
      const one = inNamespace(manifest, kind, namespace, givenNamespace);
      placed.push(one);
      given.push(await (isDeletion ? wouldBeDeleted : wouldBecome)(predicting, kind, one));
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      failures.push(error);
    }
  }
  const [first] = failures;
  if (first !== undefined && failures.length === 1) throw first;
  if (first !== undefined) throw CliErrors.BadManifests(failures.map(({ message }) => message));
  return { given, placed };
}

/** A CRD among the manifests serves its kind from then on. */
function definedIn({ kind, ...object }: Manifest['object']): string[] {
  if (kind !== 'CustomResourceDefinition') return [];
  const { spec } = object as { spec?: { group?: string; names?: { kind?: string } } };
  return [`${spec?.group} ${spec?.names?.kind}`];
}

function definedName({ apiVersion, kind }: Kind): string {
  return `${apiVersion.split('/')[0]} ${kind}`;
}

function inNamespace({ place, object }: Manifest, kind: Kind, namespace: string, given: string | undefined): Manifest {
  const { namespace: own, ...metadata } = object.metadata;
  if (kind.scope === 'Cluster') return { place, object: { ...object, metadata } };
  if (own !== undefined && given !== undefined && own !== given)
    throw CliErrors.OtherNamespace(place, `${kind.kind} ${metadata.name}`, own, given);
  return { place, object: { ...object, metadata: { ...metadata, namespace: own ?? namespace } } };
}
