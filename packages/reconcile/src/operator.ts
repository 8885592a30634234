import type { Kind } from '@capstan/kube';
import type { Reconciler } from './reconciler.ts';

export interface OperatorDefinition {
  /** One lower-case word: part of field managers, leases, flags and metrics. */
  name: string;
  description?: string;
  /** The kinds that it defines; `capstan crds` prints their manifests. */
  kinds: readonly OwnedKind[];
  reconcilers: readonly Reconciler[];
}

/** A kind of ours: defineKind makes it. */
export type OwnedKind = Kind & { crd(): unknown };

export interface Operator extends OperatorDefinition {}

/** An operator: its kinds and reconcilers, checked for names that would clash. */
export function operator(definition: OperatorDefinition): Operator {
  const names = new Set<string>();
  for (const { name } of definition.reconcilers) {
    if (names.has(name)) throw new TypeError(`operator ${definition.name} has two reconcilers named ${name}`);
    names.add(name);
  }
  return definition;
}

/** Whether a reconciler owns status.observedGeneration: said so, or the first of its kind in its operator. */
export function isPrimary(operator: Operator, reconciler: Reconciler): boolean {
  if (reconciler.primary !== undefined) return reconciler.primary;
  const same = operator.reconcilers.filter(({ resource }) => resource === reconciler.resource);
  return same.every(({ primary }) => primary !== true) && same[0] === reconciler;
}
