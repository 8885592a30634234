// The installed packages: the active revisions of all packages that have been unpacked, as the Lock lists them. They are read from their
// status, so that a package which cannot be pulled blocks no other package.
import { type DerivationDefinition, derivation, type Reader } from '@capstan/reconcile';
import { DIGEST_ANNOTATION } from '../kinds/index.ts';
import { PACKAGE_KINDS, type PackageKind, type RevisionObject } from '../packages/package-kind.ts';
import { readReference } from '../packages/reference.ts';
import type { PackageDependency } from '../xpkg/package.ts';
import type { Dependency, InstalledPackage } from './dependency-check.ts';

export type InstalledPackages = DerivationDefinition<readonly InstalledPackage[]>;

/** Read under the empty key. */
export function createInstalledPackages(registry: string): InstalledPackages {
  const partOf = new Map(
    PACKAGE_KINDS.map((kind) => [kind, (revision: RevisionObject) => entryOf(kind, revision, registry)]),
  );
  return derivation({
    name: 'installed-packages',
    compute: ({ read }) =>
      PACKAGE_KINDS.flatMap((kind) => entriesOf(read, kind, partOf.get(kind) ?? (() => undefined))).toSorted(byName),
  });
}

function entriesOf(read: Reader, kind: PackageKind, part: (revision: RevisionObject) => InstalledPackage | undefined) {
  return read.list(kind.revision, {}, part).filter((entry) => entry !== undefined);
}

function entryOf({ kind }: PackageKind, revision: RevisionObject, registry: string): InstalledPackage | undefined {
  const { metadata, spec, status } = revision;
  if (spec.desiredState !== 'Active' || status?.dependencies === undefined) return undefined;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const reference = readReference(spec.image, registry);
  if ('problem' in reference) return undefined;
  const digest = reference.reference.digest ?? metadata.annotations?.[DIGEST_ANNOTATION];
  return {
    kind,
    name: metadata.name ?? '',
    package: metadata.ownerReferences?.find(({ controller }) => controller)?.name ?? metadata.name ?? '',
    source: reference.source,
    version: reference.version,
    ...(digest !== undefined && { digest }),
    dependencies: normalised(
      status.dependencies.map((each) => ({
        ...each,
        kind: each.kind ?? each.type ?? '',
        apiVersion: each.apiVersion ?? '',
      })),
      registry,
    ),
  };
}

/** Dependencies with their registry, so that equal sources are equal texts. */
export function normalised(dependencies: readonly PackageDependency[], registry: string): Dependency[] {
  return dependencies.map(({ kind, package: source, constraints }) => {
    const reference = readReference(source, registry);
    return { kind, source: 'problem' in reference ? source : reference.source, constraints };
  });
}

function byName(left: InstalledPackage, right: InstalledPackage): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}
