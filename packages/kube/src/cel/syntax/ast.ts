import type { Value } from '../values.ts';

interface Located {
  /** The offset of the expression's operator, or of the expression if it has none. */
  readonly at: number;
}

export type Expr =
  | (Located & { readonly op: 'literal'; readonly value: Value })
  | IdentExpr
  | SelectExpr
  | CallExpr
  | (Located & { readonly op: 'list'; readonly items: readonly Expr[]; readonly optional: ReadonlySet<number> })
  | (Located & { readonly op: 'map'; readonly entries: readonly MapEntry[] })
  | (Located & { readonly op: 'struct'; readonly name: string })
  | FoldExpr
  | (Located & { readonly op: 'bind'; readonly name: string; readonly init: Expr; readonly body: Expr });

export interface IdentExpr extends Located {
  readonly op: 'ident';
  readonly name: string;
}

export interface SelectExpr extends Located {
  readonly op: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** True for has(…), which only tests for presence. */
  readonly isTest: boolean;
  /** `?.` */
  readonly isOptional: boolean;
}

/** A call of a function or an operator (`_+_`). `target` is the receiver of a method. */
export interface CallExpr extends Located {
  readonly op: 'call';
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface MapEntry {
  readonly at: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export type FoldKind =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'list'
  | 'map'
  | 'mapEntry'
  | 'sortBy'
  | 'optMap'
  | 'optFlatMap';

/** A macro over a range: its variables, the filter of the elements, and the result for each element. */
export interface FoldExpr extends Located {
  readonly op: 'fold';
  readonly kind: FoldKind;
  readonly range: Expr;
  /** One variable is bound to items or keys; two are bound to index and item, or to key and value. */
  readonly variables: readonly string[];
  readonly filter: Expr | undefined;
  /** The condition of all and exists; for other macros, the element of the result. */
  readonly body: Expr;
}
