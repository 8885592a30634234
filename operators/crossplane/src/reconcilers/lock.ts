// The Lock: the installed packages and their dependencies, recorded in one object for people and other programs. It follows from the active
// revisions, and decides nothing.
import { equal } from '@capstan/kube';
import { patch, plan, type Reconciler, reconciler, writing } from '@capstan/reconcile';
import { bySource, checkDependencies, type InstalledPackage } from '../dependencies/dependency-check.ts';
import type { InstalledPackages } from '../dependencies/installed-packages.ts';
import { resolved } from '../health/conditions.ts';
import { GROUP, LOCK_NAME, Lock, type LockPackage } from '../kinds/index.ts';
import { PACKAGE_KINDS } from '../packages/package-kind.ts';

export function createLockReconciler(installed: InstalledPackages): Reconciler {
  return reconciler<Lock>({
    name: 'lock',
    resource: Lock,
    reads: PACKAGE_KINDS.map(({ revision }) => revision),
    writes: [writing(Lock, 'patch')],
    finalizer: `lock.${GROUP}`,
    reconcile({ object, read }) {
      if (object.metadata.name !== LOCK_NAME) return plan();
      const entries = read.derived(installed, '');
      const packages = entries.map(lockPackage);
      const present = read.get(Lock, { name: LOCK_NAME }, packagesOf);
      const problems = problemsOf(entries);
      return plan({
        held: packages.length > 0,
        patches: equal(present ?? [], packages)
          ? []
          : [patch(Lock, { name: LOCK_NAME }, [{ path: '/packages', value: packages }], { restore: false })],
        conditions: [
          problems.length === 0
            ? resolved.isTrue('DependencyResolutionSucceeded')
            : resolved.isFalse('DependencyResolutionFailed', problems.join('\n')),
        ],
      });
    },
    // A Lock that is deleted is created again when it is gone; nothing else hangs on it.
  });
}

const packagesOf = ({ packages }: Lock) => packages;

function lockPackage({ kind, name, source, version, dependencies }: InstalledPackage): LockPackage {
  return {
    name,
    apiVersion: `${GROUP}/v1`,
    kind,
    source,
    version,
    dependencies: dependencies.map((each) => ({
      package: each.source,
      apiVersion: `${GROUP}/v1`,
      kind: each.kind,
      constraints: each.constraints,
    })),
  };
}

const SHOWN = 20;

function problemsOf(entries: readonly InstalledPackage[]): string[] {
  const sources = bySource(entries);
  return entries
    .flatMap((entry) => {
      const { problem } = checkDependencies(entry, sources);
      return problem === undefined ? [] : [`${entry.name}: ${problem}`];
    })
    .slice(0, SHOWN);
}
