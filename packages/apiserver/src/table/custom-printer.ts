import { type CustomResourceColumnDefinition, canonicalJson } from '@capstan/kube';
import { compileJsonPath, type JsonPath } from './json-path.ts';
import type { Cell, Column, Printer } from './printer.ts';
import { nameOf, since, timeOf } from './text.ts';

const AGE: CustomResourceColumnDefinition = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const NAME: Column = { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 };

/** The columns that a definition names, after the name; the age alone when it names none. */
export function customPrinter(definitions: readonly CustomResourceColumnDefinition[] | undefined): Printer {
  const given = definitions === undefined || definitions.length === 0 ? [AGE] : definitions;
  const columns = given.map(
    ({ name, type, format = '', description = '', priority = 0 }): Column => ({
      name,
      type: type as Column['type'],
      format,
      description,
      priority,
    }),
  );
  const paths = given.map(({ type, jsonPath }) => ({ type, path: compileJsonPath(jsonPath) }));
  return {
    columns: [NAME, ...columns],
    cells: (object, now) => [nameOf(object), ...paths.map(({ type, path }) => cellOf(type, path, object, now))],
  };
}

// Where a path finds several values, only the first is shown: so does Kubernetes.
function cellOf(type: string, path: JsonPath | undefined, object: unknown, now: number): Cell {
  const [value] = path?.(object) ?? [];
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : canonicalJson(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      if (value === '') return '<unknown>';
      return timeOf(value) === undefined ? '<invalid>' : since(value, now);
    default:
      return null;
  }
}
