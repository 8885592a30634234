// The manifests of a plan, each as a change of the cluster. Every manifest that cannot be planned is named, and then nothing is.
import { CodedError, isRecord, type Kind, kindId } from '@capstan/kube';
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
  const defined = manifests.flatMap(({ object }) => definedIn(object));
  const namespaces = new Set(
    manifests.flatMap(({ object }) => (isNamespace(object) ? [object.metadata.name ?? ''] : [])),
  );
  for (const manifest of manifests) {
    try {
      const kind = await kinds.kindOf(manifest, defined);
      if (!defined.some((one) => kindId(one) === kindId(kind)) && !(await kinds.isServed(kind)))
        throw CliErrors.NotServed(manifest.place, `${kind.kind} ${manifest.object.metadata.name}`, kind.apiVersion);
      const one = inNamespace(manifest, kind, namespace, givenNamespace);
      placed.push(one);
      given.push(
        await (isDeletion ? wouldBeDeleted(predicting, kind, one) : wouldBecome(predicting, kind, one, namespaces)),
      );
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

/** A CRD among the manifests serves its kind from then on, in each version that it serves. */
function definedIn({ apiVersion, kind, ...object }: Manifest['object']): Kind[] {
  const { spec } = object as { spec?: unknown };
  if (kind !== 'CustomResourceDefinition' || !apiVersion.startsWith('apiextensions.k8s.io/') || !isRecord(spec))
    return [];
  const { group, names, scope, versions } = spec;
  if (typeof group !== 'string' || !isRecord(names) || !Array.isArray(versions)) return [];
  const { kind: defined, plural } = names;
  if (typeof defined !== 'string' || typeof plural !== 'string') return [];
  return versions.filter(isRecord).flatMap(({ name: version, subresources }) => {
    if (typeof version !== 'string') return [];
    const hasStatus = isRecord(subresources) && subresources['status'] !== undefined;
    const named = { group, version, kind: defined, plural, apiVersion: `${group}/${version}` };
    return [{ ...named, scope: scope === 'Cluster' ? 'Cluster' : 'Namespaced', hasStatus } as const];
  });
}

function isNamespace({ apiVersion, kind }: Manifest['object']): boolean {
  return apiVersion === 'v1' && kind === 'Namespace';
}

function inNamespace({ place, object }: Manifest, kind: Kind, namespace: string, given: string | undefined): Manifest {
  const { namespace: own, ...metadata } = object.metadata;
  if (kind.scope === 'Cluster') return { place, object: { ...object, metadata } };
  if (own !== undefined && given !== undefined && own !== given)
    throw CliErrors.OtherNamespace(place, `${kind.kind} ${metadata.name}`, own, given);
  return { place, object: { ...object, metadata: { ...metadata, namespace: own ?? namespace } } };
}
