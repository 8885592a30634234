// Programs that run beside operators, as their authors describe them. An operator whose description throws or does not return in time is a
// note of the preview; the others are shown.
import { reasonOf } from '@capstan/kube/cluster';
import { AuthorErrors } from '../guard.ts';
import type { Instances, InstancesContext, Operator } from '../operator.ts';
import { within } from '../within.ts';

export interface FindInstancesOptions extends InstancesContext {
  /** How long an operator's `instances` may take; 30,000 by default. */
  readonly timeoutMs?: number;
}

export async function findInstances(
  operators: readonly Operator[],
  { timeoutMs = 30_000, ...context }: FindInstancesOptions,
): Promise<Instances> {
  const found = await Promise.all(operators.map((operator) => instancesOf(operator, context, timeoutMs)));
  return { operators: found.flatMap((one) => one.operators), notes: found.flatMap((one) => one.notes) };
}

async function instancesOf(operator: Operator, context: InstancesContext, timeoutMs: number): Promise<Instances> {
  const what = `instances of the operator ${operator.name}`;
  try {
    const found = await within(context.clock, timeoutMs, context.signal, async (signal) =>
      operator.instances?.({ ...context, signal }),
    );
    if (found === undefined) return { operators: [], notes: [] };
    const { operators, notes } = found;
    if (!Array.isArray(operators) || !Array.isArray(notes))
      throw AuthorErrors.NotOfType(what, '{ operators, notes }, two lists', 'something else');
    return { operators, notes };
  } catch (error) {
    // A preview that was stopped ends.
    context.signal.throwIfAborted();
    const note = `what runs beside the operator ${operator.name} is not shown: ${what} failed: ${reasonOf(error)}`;
    return { operators: [], notes: [note] };
  }
}
