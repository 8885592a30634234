import type { KubeObject, UnknownObject } from '@capstan/kube';
import { valueAt } from '../json/copy.ts';
import { age, nameOf } from './text.ts';

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
 * A column in short: its name, after a colon another type than string, a star for the wide ones, and the path of its cell. `Name` and `Age`
 * are known. After the path stands the text for an absent value behind `|`, for an empty one too behind `||`; default nothing, zero or
 * false, by the type (`'Desired:integer = spec.replicas'`, `'Class = spec.ingressClassName | <none>'`).
 */
export type ColumnText<T> = string | readonly [name: string, cell: (object: T, now: number) => Cell];

export function printer<T>(
  columns: readonly ColumnText<T>[],
  conditions?: (object: T) => readonly RowCondition[],
): Printer {
  const parsed = columns.map(columnOf);
  return {
    columns: parsed.map(({ column }) => column),
    cells: (object, now) => parsed.map(({ cell }) => cell(object as T, now)),
    ...(conditions && { conditions: conditions as Printer['conditions'] & object }),
  };
}

function columnOf<T>(text: ColumnText<T>): { column: Column; cell: (object: T, now: number) => Cell } {
  const [short, cell] = typeof text === 'string' ? [text] : text;
  const [, name = '', type = 'string', wide = '', path, bars, missing] =
    /^([^:*=]+?)(?::(\w+))?(\*?)(?: = (\S+)(?: (\|+) (.+))?)?$/.exec(short) ?? [];
  const column: Column = {
    name,
    type: type as Column['type'],
    format: name === 'Name' ? 'name' : '',
    description: '',
    priority: wide === '' ? 0 : 1,
  };
  if (cell) return { column, cell };
  const known = (path === undefined ? KNOWN[name] : undefined) as ((object: T, now: number) => Cell) | undefined;
  const zero = missing === undefined ? ZEROS[column.type] : /^\d+$/.test(missing) ? Number(missing) : missing;
  const parts = path?.split('.') ?? [];
  const at = (object: T) => {
    const value = valueAt(object, parts);
    return (value === undefined || (bars === '||' && value === '') ? zero : value) as Cell;
  };
  return { column, cell: known ?? at };
}

const KNOWN: Readonly<Record<string, (object: KubeObject, now: number) => Cell>> = { Name: nameOf, Age: age };
const ZEROS = { string: '', integer: 0, number: 0, boolean: false, date: null } as const;
