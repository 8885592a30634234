import { type Kind, kindId } from '@capstan/kube/cluster';
import { DefinitionErrors, PlanErrors } from '../errors.ts';
import { isPromise } from '../guard.ts';
import { placeOf } from './place.ts';
import type { Plan } from './plan.ts';

/** What a reconciler returned, as the plan that it must be: no promise, not nothing, and of declared kinds only. */
export function checkedPlan(
  returned: unknown,
  reconciler: { readonly name: string; readonly writes: readonly { readonly kind: Kind }[] },
): Plan {
  if (isPromise(returned)) {
    // Whatever becomes of it: its rejection must not end the process.
    returned.then(undefined, () => undefined);
    throw PlanErrors.Async(reconciler.name);
  }
  if (!isPlan(returned)) throw PlanErrors.NotAPlan(reconciler.name, describe(returned));
  const declared = new Set(reconciler.writes.map(({ kind }) => kindId(kind)));
  // Of a place in another cluster the role decides, when its writes are computed.
  for (const { children, patches, removals } of returned.groups)
    for (const { kind } of [...children, ...patches, ...removals])
      if (!declared.has(kindId(kind)) && placeOf(kind) === undefined)
        throw DefinitionErrors.UndeclaredWrite(reconciler.name, kindId(kind), undefined);
  return returned;
}

function isPlan(value: unknown): value is Plan {
  return typeof value === 'object' && value !== null && 'groups' in value && 'outcome' in value;
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
