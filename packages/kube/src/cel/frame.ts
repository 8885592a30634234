import { CelCostError } from './errors.ts';
import type { Expr } from './syntax/ast.ts';
import type { Checked } from './typing/check.ts';
import type { Value } from './values.ts';

/** The state of one evaluation. */
export interface Frame {
  readonly slots: Value[];
  cost: number;
  readonly limit: number;
}

export type Evaluate = (frame: Frame) => Value;

export interface Planner {
  readonly checked: Checked;
  readonly plan: (expr: Expr) => Evaluate;
  /** Plans an expression with additional variables, each in its own slot. */
  readonly planWith: (names: readonly string[], run: (slots: readonly number[]) => Evaluate) => Evaluate;
}

export function charge(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CelCostError();
}
