import type { Value } from '../values.ts';

interface Located {
  /** Where the expression's operator, or else the expression, begins in the text. */
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
  /** has(…): only whether it is there. */
  readonly isTest: boolean;
  /** `?.` */
  readonly isOptional: boolean;
}

/** A function or an operator (`_+_`); `target` is what a method is called on. */
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

/** A macro over a range: what its variables are called, which elements count, what is built from each. */
export interface FoldExpr extends Located {
  readonly op: 'fold';
  readonly kind: FoldKind;
  readonly range: Expr;
  /** One variable sees items or keys; two see index and item, or key and value. */
  readonly variables: readonly string[];
  readonly filter: Expr | undefined;
  /** The condition of all and exists; what becomes an element of the result elsewhere. */
  readonly body: Expr;
}
