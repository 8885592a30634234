// The parts of an operator that work with Roles alone: an account that may not create ClusterRoles can install these.
import type { Operator } from '../operator.ts';
import { LOCAL } from '../reconciler.ts';
import { privilegesOf } from './privileges.ts';

export interface NamespacedParts {
  /** Reconcilers that need nothing at the cluster scope. */
  readonly working: readonly string[];
  /** The others, with the rights that they would need: `create clusterroles.rbac.authorization.k8s.io`. */
  readonly failing: readonly { readonly reconciler: string; readonly needs: readonly string[] }[];
}

/** Kinds that may be absent may be forbidden too: their readers go on without them. */
export function namespacedParts(operator: Operator): NamespacedParts {
  const needs = new Map<string, Set<string>>(operator.reconcilers.map(({ name }) => [name, new Set()]));
  for (const reconciler of operator.reconcilers) {
    const optional = new Set(
      reconciler.reads.filter((read) => read.optional === true).map(({ kind }) => `${kind.group}/${kind.plural}`),
    );
    for (const { place, group, resource, verbs } of privilegesOf(
      { ...operator, reconcilers: [reconciler], sinks: [] },
      LOCAL,
    ))
      if (place === 'cluster' && !optional.has(`${group}/${resource}`))
        needs.get(reconciler.name)?.add(`${verbs.join(',')} ${resource}${group === '' ? '' : `.${group}`}`);
  }
  return {
    working: [...needs].filter(([, rights]) => rights.size === 0).map(([name]) => name),
    failing: [...needs]
      .filter(([, rights]) => rights.size > 0)
      .map(([reconciler, rights]) => ({ reconciler, needs: [...rights].toSorted() })),
  };
}

/** Returns the operator with the reconcilers and sinks that work with Roles alone: the others would wait for rights for ever. */
export function namespacedPart(operator: Operator): Operator {
  const working = new Set(namespacedParts(operator).working);
  return {
    ...operator,
    reconcilers: operator.reconcilers.filter(({ name }) => working.has(name)),
    sinks: (operator.sinks ?? []).filter(({ reads }) =>
      reads.every(({ kind, optional = false }) => optional || kind.scope === 'Namespaced'),
    ),
  };
}
