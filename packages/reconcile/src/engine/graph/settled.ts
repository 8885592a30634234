import type { Settled } from '../engine-types.ts';
import { FRESH, HAS_ERROR, HAS_VALUE, type Outcome } from './model.ts';

/** Returns the result of a node, as users see it; undefined for one that has not run. */
export function settledOf(outcome: Outcome): Settled<unknown> | undefined {
  if (outcome.state === FRESH) return undefined;
  if (outcome.state === HAS_VALUE) return { state: 'value', value: outcome.value };
  if (outcome.state === HAS_ERROR) return { state: 'error', error: outcome.value as Error };
  return { state: 'suspended', waitingFor: outcome.value as readonly string[] };
}
