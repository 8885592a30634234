// All CEL rules of an object may take some tenths of a second (their costs are limited to ten million units). They are evaluated in steps before the
// object is validated, and validation reads the outcomes.
import type { EvaluateRule, RuleOutcome } from '@capstan/kube';
import type { Steps } from '../steps.ts';

/** One rule takes up to some 20 ms. */
const STEP_MS = 10;

/** Ends a walk over the rules whose time is over; the next one repeats the known outcomes and goes on. */
class TimeIsOver extends Error {}

/**
 * Evaluates the rules of an object in steps. `walk` passes over all rules in the same order each time. Returns an evaluator for one more walk that
 * takes moments.
 */
export function* evaluateInSteps(
  walk: (evaluate: EvaluateRule) => void,
  evaluate: EvaluateRule,
  now: () => number = () => performance.now(),
): Steps<EvaluateRule> {
  const outcomes: RuleOutcome[] = [];
  const budget = { remaining: Number.NaN };
  for (let isDone = false; !isDone; ) {
    const began = now();
    let at = 0;
    try {
      walk((input) => {
        const known = outcomes[at];
        at += 1;
        if (known) return known;
        if (now() - began > STEP_MS) throw new TimeIsOver();
        if (Number.isNaN(budget.remaining)) budget.remaining = input.budget?.remaining ?? 0;
        const outcome = evaluate(input.budget ? { ...input, budget } : input);
        outcomes.push(outcome);
        return outcome;
      });
      isDone = true;
    } catch (error) {
      // An object that its schema does not allow: its rules may not be evaluated at all, which validation decides.
      if (!(error instanceof TimeIsOver)) return evaluate;
      yield;
    }
  }
  let at = 0;
  return (input) => outcomes[at++] ?? evaluate(input);
}
