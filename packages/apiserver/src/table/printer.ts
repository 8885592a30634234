import type { UnknownObject } from '@capstan/kube';

export type Cell = string | number | boolean | null;

/** A column of a Table, as clients get it. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** `name` marks the column that names the object. */
  readonly format: string;
  readonly description: string;
  /** Above zero: shown only when the client wants everything (`-o wide`). */
  readonly priority: number;
}

export interface RowCondition {
  readonly type: 'Completed';
  readonly status: 'True';
  readonly reason: string;
  readonly message: string;
}

/** How objects of a kind become rows. */
export interface Printer {
  readonly columns: readonly Column[];
  /** One cell a column, in their order; `now` in milliseconds, for ages. */
  readonly cells: (object: UnknownObject, now: number) => readonly Cell[];
  readonly conditions?: (object: UnknownObject) => readonly RowCondition[];
}

export interface Table {
  kind: 'Table';
  apiVersion: string;
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: readonly Column[];
  rows: readonly TableRow[];
}

export interface TableRow {
  cells: readonly Cell[];
  conditions?: readonly RowCondition[];
  object?: unknown;
}

/**
 * A printer from its columns in short: `Name` is the object's name, a colon gives another type than string, a star makes the
 * column one of the wide ones (`'Desired:integer'`, `'Selector*'`).
 */
export function printer<T>(
  columns: readonly string[],
  cells: (object: T, now: number) => readonly Cell[],
  conditions?: (object: T) => readonly RowCondition[],
): Printer {
  return {
    columns: columns.map(columnOf),
    cells: cells as Printer['cells'],
    ...(conditions && { conditions: conditions as Printer['conditions'] & object }),
  };
}

function columnOf(text: string): Column {
  const [, name = '', type = 'string', wide = ''] = /^([^:*]+)(?::(\w+))?(\*?)$/.exec(text) ?? [];
  return {
    name,
    type: type as Column['type'],
    format: name === 'Name' ? 'name' : '',
    description: '',
    priority: wide === '' ? 0 : 1,
  };
}
