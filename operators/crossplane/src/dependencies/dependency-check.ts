// Checks whether the dependencies of a package are installed, in a version that satisfies it. Pure.
import { isDigest } from '../oci/reference.ts';
import { parseConstraint, parseVersion, satisfies } from '../xpkg/semver.ts';

export interface Dependency {
  readonly kind: string;
  /** Registry and repository. */
  readonly source: string;
  readonly constraints: string;
}

/** A package that is active and unpacked: one entry of the Lock. */
export interface InstalledPackage {
  readonly kind: string;
  /** The revision. */
  readonly name: string;
  readonly source: string;
  /** The package itself. */
  readonly package: string;
  /** Tag or digest; the tag where both are named. */
  readonly version: string;
  /** The digest of its image, as far as it is known. */
  readonly digest?: string;
  readonly dependencies: readonly Dependency[];
}

export interface DependencyCheck {
  /** All, as far as they are known: those of dependencies that are not installed are not. */
  readonly found: number;
  readonly installed: number;
  readonly invalid: number;
  /** Not installed, its own and those of its dependencies. */
  readonly missing: readonly Dependency[];
  /** Its own that are installed in a version that does not serve. */
  readonly unsuitable: readonly Dependency[];
  /** The problem in one sentence; undefined if there is none. */
  readonly problem: string | undefined;
}

export type InstalledBySource = ReadonlyMap<string, InstalledPackage>;

export function bySource(packages: readonly InstalledPackage[]): InstalledBySource {
  return new Map(packages.map((one) => [one.source, one]));
}

export function checkDependencies(
  self: { readonly source: string; readonly dependencies: readonly Dependency[] },
  installed: InstalledBySource,
): DependencyCheck {
  const { all, cycle } = reach(self, installed);
  const missing = [...all.values()].filter(({ source }) => !installed.has(source));
  const unsuitable = self.dependencies.filter((dependency) => {
    const there = installed.get(dependency.source);
    return there !== undefined && !suits(dependency, there);
  });
  return {
    found: all.size,
    installed: all.size - missing.length,
    invalid: unsuitable.length,
    missing,
    unsuitable,
    problem: problemOf(missing, unsuitable, cycle, installed),
  };
}

export function suits({ kind, constraints }: Dependency, there: InstalledPackage): boolean {
  if (there.kind !== kind) return false;
  if (isDigest(constraints)) return there.digest === constraints;
  const constraint = parseConstraint(constraints);
  const version = parseVersion(there.version);
  return constraint !== undefined && version !== undefined && satisfies(version, constraint);
}

/** Everything that is depended on, by source, and a cycle through the package itself if there is one. */
function reach(self: { source: string; dependencies: readonly Dependency[] }, installed: InstalledBySource) {
  const all = new Map<string, Dependency>();
  let cycle: readonly string[] | undefined;
  const visit = (dependencies: readonly Dependency[], path: readonly string[]) => {
    for (const dependency of dependencies) {
      if (dependency.source === self.source) {
        cycle ??= [...path, dependency.source];
        continue;
      }
      if (all.has(dependency.source)) continue;
      all.set(dependency.source, dependency);
      visit(installed.get(dependency.source)?.dependencies ?? [], [...path, dependency.source]);
    }
  };
  visit(self.dependencies, [self.source]);
  return { all, cycle };
}

const SHOWN = 3;

function problemOf(
  missing: readonly Dependency[],
  unsuitable: readonly Dependency[],
  cycle: readonly string[] | undefined,
  installed: InstalledBySource,
): string | undefined {
  if (cycle !== undefined)
    return `the dependencies form a cycle: ${cycle.join(' → ')}; take one of them out, or set spec.skipDependencyResolution`;
  const [first] = unsuitable;
  if (first !== undefined) {
    const there = installed.get(first.source);
    const more = unsuitable.length > 1 ? ` (and ${unsuitable.length - 1} more)` : '';
    if (there?.kind !== first.kind)
      return `the dependency ${first.source} is to be a ${first.kind}, and is installed as the ${there?.kind} ${there?.package}${more}; correct spec.dependsOn of the package`;
    return `the dependency ${first.source} must be ${first.constraints}, and what is installed is version ${there.version}${more}; change spec.package of the ${there.kind} ${there.package}`;
  }
  if (missing.length === 0) return undefined;
  const shown = missing.slice(0, SHOWN).map(({ source, constraints }) => `"${source}" (${constraints})`);
  const more = missing.length > SHOWN ? ` and ${missing.length - SHOWN} more` : '';
  return `missing dependencies: ${shown.join(', ')}${more}; each is installed automatically when available, else the package’s condition DependenciesUnresolved gives the reason`;
}
