// Installs the missing dependencies of packages: one package at a time, so that one whose dependencies cannot be found blocks no other
// package. A dependency becomes an ordinary package: users may change it, and the operator never removes it.
import { Secret, ServiceAccount } from '@capstan/kube';
import {
  type Child,
  conditionType,
  createOnly,
  type Digest,
  noCondition,
  type Patch,
  patch,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { type Choice, chooseVersion, pinnedVersion, type Requirement } from '../dependencies/choose-version.ts';
import {
  bySource,
  checkDependencies,
  type Dependency,
  type InstalledBySource,
  type InstalledPackage,
} from '../dependencies/dependency-check.ts';
import { type InstalledPackages, normalised } from '../dependencies/installed-packages.ts';
import type { RegistryFacts } from '../facts/registry-facts.ts';
import { imageSettings } from '../images/image-settings.ts';
import { keychainOf } from '../images/keychain.ts';
import { ImageConfig } from '../kinds/index.ts';
import { isDigest } from '../oci/reference.ts';
import {
  PACKAGE_KINDS,
  type PackageKind,
  type PackageObject,
  packageKindOf,
  type RevisionObject,
} from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import { readReference } from '../packages/reference.ts';
import { activeRevision, revisionsOf } from '../packages/revisions.ts';
import type { Settings } from '../settings.ts';
import { toDnsLabel } from '../xpkg/names.ts';

type UnresolvedReason = 'NoVersion' | 'Registry' | 'NameTaken';

interface Problem {
  readonly reason: UnresolvedReason;
  readonly problem: string;
}

/** Only there while a dependency cannot be had; the reason is the first one's. */
const unresolved = conditionType<UnresolvedReason>('DependenciesUnresolved');

export function createDependencyReconciler(
  kind: PackageKind,
  settings: Settings,
  facts: RegistryFacts,
  installed: InstalledPackages,
): Reconciler {
  return reconciler<PackageObject>({
    name: `${kind.name}-dependencies`,
    resource: kind.package,
    primary: false,
    reads: [
      ImageConfig,
      reading(Secret, 'referenced', { namespaces: [settings.namespace] }),
      reading(ServiceAccount, 'everywhere', { namespaces: [settings.namespace] }),
      ...PACKAGE_KINDS.flatMap((one) => [one.package, one.revision]),
    ],
    writes: PACKAGE_KINDS.map((one) =>
      writing(one.package, settings.upgradeDependencies ? ['createOnly', 'patch'] : 'createOnly', { prunes: false }),
    ),
    reconcile({ object, read, digest }) {
      const active = activeRevision(revisionsOf(read, kind, object));
      if (isPaused(object) || object.spec.skipDependencyResolution || active === undefined) return quiet();
      const declared = read.get(kind.revision, { name: active.name }, dependenciesOf);
      if (declared === undefined || declared.length === 0) return quiet();
      const reference = readReference(active.spec.image, settings.registry);
      if ('problem' in reference) return quiet();
      const entries = read.derived(installed, '');
      const dependencies = normalised(
        declared.map((each) => ({ ...each, apiVersion: each.apiVersion ?? '', kind: each.kind ?? each.type ?? '' })),
        settings.registry,
      );
      const sources = bySource(entries);
      const { missing, unsuitable } = checkDependencies({ source: reference.source, dependencies }, sources);
      const children: Child[] = [];
      const patches: Patch[] = [];
      const problems: Problem[] = [];
      const steps = [
        ...missing.map((dependency) => ({ dependency, there: undefined })),
        ...(settings.upgradeDependencies
          ? unsuitable.map((dependency) => ({ dependency, there: sources.get(dependency.source) }))
          : []),
      ];
      for (const { dependency, there } of steps) {
        const outcome = resolveOne(read, digest, dependency, entries, sources, there);
        if ('problem' in outcome) problems.push(outcome);
        else if ('child' in outcome) children.push(outcome.child);
        else if ('patch' in outcome) patches.push(outcome.patch);
      }
      return plan({
        prune: false,
        held: false,
        children,
        patches,
        conditions: [
          problems[0] === undefined
            ? noCondition(unresolved.type)
            : unresolved.isTrue(problems[0].reason, problems.map(({ problem }) => problem).join('\n')),
        ],
        events: children.map(({ ref }) => ({
          reason: 'ResolveDependencies',
          note: `installs the dependency ${ref.name}`,
        })),
      });
    },
  });

  type Step = { child: Child } | { patch: Patch } | Problem | { waits: true };

  function resolveOne(
    read: Reader,
    digest: Digest,
    dependency: Dependency,
    entries: readonly InstalledPackage[],
    sources: InstalledBySource,
    there: InstalledPackage | undefined,
  ): Step {
    const { source } = dependency;
    const of = packageKindOf(dependency.kind);
    if (of === undefined)
      return {
        reason: 'NoVersion',
        problem: `the dependency ${source} is a ${dependency.kind}, which is no kind of package; install it yourself`,
      };
    const owner = packageBySource(read, of, source);
    // A user has asked for it, and it is on its way.
    if (there === undefined && owner !== undefined) return { waits: true };
    const requirements = requirementsFor(dependency, entries);
    const choice = versionFor(read, digest, source, requirements, there?.version);
    if ('problem' in choice)
      return { reason: choice.reason ?? 'NoVersion', problem: `the dependency ${source}: ${choice.problem}` };
    const image = `${source}${isDigest(choice.version) ? '@' : ':'}${choice.version}`;
    if (there !== undefined) {
      if (owner === undefined || sources.get(source)?.version === choice.version) return { waits: true };
      return {
        patch: patch(of.package, { name: owner }, [{ path: '/spec/package', value: image }], { restore: false }),
      };
    }
    const name = toDnsLabel(source.slice(source.indexOf('/') + 1));
    const taken = read.get(of.package, { name }, packageImageOf);
    if (taken !== undefined)
      return {
        reason: 'NameTaken',
        problem: `the dependency ${source} would be named ${name}, and there is a ${of.kind} ${name} with ${taken}; install the dependency under another name`,
      };
    const object = { metadata: { name }, spec: { package: image } } as Omit<PackageObject, 'apiVersion' | 'kind'>;
    return { child: createOnly(of.package, object, { owned: false }) };
  }

  function versionFor(
    read: Reader,
    digest: Digest,
    source: string,
    requirements: readonly Requirement[],
    atLeast: string | undefined,
  ): Choice & { readonly reason?: 'Registry' } {
    const pinned = pinnedVersion(requirements);
    if (pinned !== undefined) return pinned;
    const image = imageSettings(read, source);
    const secrets = image.pullSecret === undefined ? [] : [image.pullSecret];
    const { credentials } = keychainOf({ read, settings, secrets });
    const { value, error } = read.fact(facts.tags, { image: image.image, credentials });
    if (value === undefined)
      return { reason: 'Registry', problem: `its tags could not be listed: ${error?.message ?? 'no answer'}` };
    return chooseVersion(value, requirements, atLeast);
  }

  function packageBySource(read: Reader, of: PackageKind, source: string): string | undefined {
    return read.list(of.package, {}, namedImageOf).find(({ image }) => {
      const reference = readReference(image, settings.registry);
      return !('problem' in reference) && reference.source === source;
    })?.name;
  }

  /** Everybody who depends on it must be served by the one that is installed. */
  function requirementsFor(dependency: Dependency, entries: readonly InstalledPackage[]): Requirement[] {
    const all = entries.flatMap(({ name, dependencies }) =>
      dependencies
        .filter(({ source }) => source === dependency.source)
        .map(({ constraints }) => ({ by: name, constraints })),
    );
    return all.length > 0 ? all : [{ by: 'this package', constraints: dependency.constraints }];
  }

  function quiet() {
    return plan({ prune: false, held: false, conditions: [noCondition(unresolved.type)] });
  }
}

const dependenciesOf = ({ status }: RevisionObject) => status?.dependencies;
const packageImageOf = ({ spec }: PackageObject) => spec.package;
const namedImageOf = ({ metadata, spec }: PackageObject) => ({ name: metadata.name ?? '', image: spec.package });
