// `capstan install --namespaced`: an installation by an account that may create nothing at the cluster scope. Operators run with Roles in one
// namespace and serve that namespace. Parts that need more are named, and an administrator can install them.
import type { Discovery } from '@capstan/kube';
import { namespacedPart, namespacedParts, type Operator } from '@capstan/reconcile';
import type { Flags } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import type { Installation } from './installation.ts';

export const NAMESPACED_OPTION = {
  namespaced: {
    type: 'boolean',
    help: 'Install what works with Roles in one namespace, and name the parts that do not.',
  },
} as const satisfies Flags;

export interface NamespacedChoice {
  readonly operators: readonly Operator[];
  /** A line for each part that does not work, with the reason. */
  readonly leftOut: readonly string[];
}

/** Returns the operators that work at least in part. Throws when none does. */
export function namespacedOperators(
  operators: readonly Operator[],
  served: Pick<Discovery, 'kindOf'>,
): NamespacedChoice {
  const leftOut: string[] = [];
  const undefinedBy: string[] = [];
  const working = operators.filter((operator) => {
    const { name, kinds } = operator;
    const parts = namespacedParts(operator);
    if (parts.working.length === 0) {
      leftOut.push(`${name} is left out: all of it needs ClusterRoles (${shown(parts.failing[0]?.needs ?? [])}, …)`);
      return false;
    }
    const missing = kinds.filter((kind) => served.kindOf(kind.apiVersion, kind.kind) === undefined);
    if (missing.length > 0) {
      undefinedBy.push(name);
      leftOut.push(
        `${name} is left out: the cluster has no definition of ${shown(missing.map(({ kind }) => kind))}; an administrator installs it: ${crdsCommand([name])}`,
      );
      return false;
    }
    for (const { reconciler, needs } of parts.failing)
      leftOut.push(`${name}: ${reconciler} does not work, because it needs ClusterRoles (${shown(needs)})`);
    return true;
  });
  if (working.length === 0)
    throw CliErrors.NothingNamespaced(leftOut, undefinedBy.length > 0 ? crdsCommand(undefinedBy) : undefined);
  return { operators: working, leftOut };
}

const crdsCommand = (names: readonly string[]) =>
  `capstan crds --operators ${names.join(',')} | kubectl apply --server-side -f -`;

const MOST = 3;

function shown(texts: readonly string[]): string {
  return texts.length > MOST ? `${texts.slice(0, MOST).join('; ')} and ${texts.length - MOST} more` : texts.join('; ');
}

/** Leases, digest keys and watches are in the namespace too. */
export function asNamespaced(installation: Installation): Installation {
  const { namespace, args } = installation;
  const own = ['--namespaced', `--watch-namespaces=${namespace}`, `--leader-elect-resource-namespace=${namespace}`];
  const [first] = installation.operators;
  // One program takes them once.
  const isLeader = (name: string) => !installation.isOneProgram || name === first?.name;
  return {
    ...installation,
    isNamespaced: true,
    operators: installation.operators.map(namespacedPart),
    hasServiceMonitors: false,
    args: new Map([...args].map(([name, given]) => [name, isLeader(name) ? [...own, ...given] : given])),
  };
}
