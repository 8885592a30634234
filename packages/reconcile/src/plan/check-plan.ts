import { type Kind, kindId, type ObjectRef } from '@capstan/kube/cluster';
import { DefinitionErrors, PlanErrors } from '../errors.ts';
import { isPromise } from '../guard.ts';
import { placeOf } from './place.ts';
import type { Group, Plan } from './plan.ts';

/** Returns the reconciler's result, as the plan that it must be: a value, not a promise, with declared writes only. */
export function checkedPlan(
  returned: unknown,
  reconciler: {
    readonly name: string;
    readonly writes: readonly Declared[];
  },
): Plan {
  if (isPromise(returned)) {
    // Whatever becomes of it: its rejection must not end the process.
    returned.then(undefined, () => undefined);
    throw PlanErrors.Async(reconciler.name);
  }
  if (!isPlan(returned)) throw PlanErrors.NotAPlan(reconciler.name, describe(returned));
  for (const { kind, mode, ref } of returned.groups.flatMap(writesOf)) {
    const declared = reconciler.writes.filter((write) => kindId(write.kind) === kindId(kind));
    // The role of another cluster decides about a place in it, when its writes are computed.
    if (declared.length === 0 && placeOf(kind) !== undefined) continue;
    if (declared.length === 0) throw DefinitionErrors.UndeclaredWrite(reconciler.name, kindId(kind), undefined);
    if (mode === 'keep') continue;
    const so = declared.filter(({ by }) => by.includes(mode));
    const modes = declared.flatMap(({ by }) => by);
    if (so.length === 0) throw DefinitionErrors.UndeclaredMode(reconciler.name, kindId(kind), mode, modes);
    const { namespace } = ref;
    if (namespace !== undefined && so.every(({ namespaces }) => namespaces?.includes(namespace) === false))
      throw DefinitionErrors.UndeclaredNamespace(reconciler.name, kindId(kind), namespace);
  }
  return returned;
}

interface Declared {
  readonly kind: Kind;
  readonly by: readonly string[];
  readonly namespaces?: readonly string[];
}

function writesOf({ children, patches, removals }: Group): { kind: Kind; mode: string; ref: ObjectRef }[] {
  return [
    ...children.map(({ kind, how, ref }) => ({ kind, mode: how, ref })),
    ...patches.map(({ kind, ref }) => ({ kind, mode: 'patch', ref })),
    ...removals.map(({ kind, ref }) => ({ kind, mode: 'remove', ref })),
  ];
}

function isPlan(value: unknown): value is Plan {
  return typeof value === 'object' && value !== null && 'groups' in value && 'outcome' in value;
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
