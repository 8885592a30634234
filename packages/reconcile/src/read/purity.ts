// Checks that a reconciler is a pure function of its reads: it is run twice and the two results are compared. In the second run the system
// clock shows another time, so that a result that depends on it differs although both runs fall into one millisecond. The global clock is
// changed only while the computation runs, which is synchronous, and only where the check is on: in tests, and with `checkPurity`.
import { type Clock, diff, equal } from '@capstan/kube/cluster';
import { Suspended } from '../engine/index.ts';
import { PlanErrors } from '../errors.ts';
import { asError } from '../guard.ts';

/** Runs a computation, and throws when it is not pure. */
export type RunPurely = <R>(name: string, compute: () => R, isSame?: (first: R, second: R) => boolean) => R;

export interface Purity {
  readonly run: RunPurely;
  /** The given clock, which shows its own time in the second runs too: reads of the runtime itself are no impurity. */
  readonly clock: Clock;
}

const SHIFT_MS = 86_400_000 + 3_661_001;
const MAX_PATHS = 3;

export function createPurity(clock: Clock): Purity {
  let isShifted = false;

  function shifted<R>(compute: () => R): R {
    isShifted = true;
    try {
      return withDate(ShiftedDate, compute);
    } finally {
      isShifted = false;
    }
  }

  return {
    run(name, compute, isSame = equal) {
      const first = outcomeOf(compute);
      if ('error' in first && first.error instanceof Suspended) throw first.error;
      // Run by itself within another computation that is checked: that one repeats everything.
      if (isShifted) return resultOf(first);
      const second = shifted(() => outcomeOf(compute));
      if ('error' in second && second.error instanceof Suspended) throw second.error;
      const [before, after] = [messageOf(first), messageOf(second)];
      if (before !== after)
        throw PlanErrors.NotPure(name, `it throws in one run only, or something else: ${after ?? before}`);
      if ('error' in first) throw first.error;
      if ('error' in second) throw second.error;
      if (!isSame(first.result, second.result)) {
        const paths = diff(first.result, second.result, MAX_PATHS).join(', ');
        throw PlanErrors.NotPure(name, `the results differ at ${paths || 'a function or an object of a class'}`);
      }
      return resultOf(first);
    },
    clock: {
      now: () => (isShifted ? withDate(SystemDate, () => clock.now()) : clock.now()),
      after: (ms, call) => clock.after(ms, call),
      yield: () => clock.yield(),
    },
  };
}

type Outcome<R> = { readonly result: R } | { readonly error: unknown };

function outcomeOf<R>(compute: () => R): Outcome<R> {
  try {
    return { result: compute() };
  } catch (error) {
    return { error };
  }
}

function resultOf<R>(outcome: Outcome<R>): R {
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

function messageOf(outcome: Outcome<unknown>): string | undefined {
  if (!('error' in outcome)) return undefined;
  return asError(outcome.error).message;
}

const SystemDate = Date;

const ShiftedDate = new Proxy(SystemDate, {
  construct: (target, args: [] | [number], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + SHIFT_MS] : args, newTarget) as object,
  apply: (target) => new target(target.now() + SHIFT_MS).toString(),
  get: (target, name, receiver) =>
    name === 'now' ? () => target.now() + SHIFT_MS : (Reflect.get(target, name, receiver) as unknown),
});

function withDate<R>(date: DateConstructor, compute: () => R): R {
  const before = globalThis.Date;
  globalThis.Date = date;
  try {
    return compute();
  } finally {
    globalThis.Date = before;
  }
}
