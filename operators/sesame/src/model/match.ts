// The requests that a route is for.

export interface RouteMatch {
  readonly path: PathMatch;
  readonly headers: readonly HeaderMatch[];
  readonly query: readonly QueryMatch[];
}

export type PathMatch =
  | { readonly kind: 'prefix'; readonly value: string /** Whole segments only. */; readonly isSegment?: boolean }
  | { readonly kind: 'exact'; readonly value: string }
  | { readonly kind: 'regex'; readonly value: string };

export interface HeaderMatch {
  readonly name: string;
  readonly kind: 'exact' | 'contains' | 'present' | 'regex';
  readonly value: string;
  readonly isInverted: boolean;
  readonly ignoreCase: boolean;
  readonly treatMissingAsEmpty: boolean;
}

export interface QueryMatch {
  readonly name: string;
  readonly kind: 'exact' | 'prefix' | 'suffix' | 'regex' | 'contains' | 'present';
  readonly value: string;
  readonly ignoreCase: boolean;
}

/** A text that is matched. */
export interface TextMatch {
  readonly kind: 'exact' | 'prefix' | 'suffix' | 'contains' | 'regex';
  readonly value: string;
  readonly ignoreCase?: boolean;
}
