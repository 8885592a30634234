// Completion, explanations and checks of manifests by the schema of their kind.
import { type OutlineDocument, type OutlineLine, parentAt, unquoted } from './yaml-outline.ts';

export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

export interface Suggestion {
  readonly label: string;
  /** `integer, required`. */
  readonly detail: string;
  readonly info: string;
  /** The text to insert. */
  readonly apply: string;
}

export interface SchemaProblem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** Returns the schema of a path; undefined where the schema leaves the path open or does not know it. */
export function schemaAt(schema: Schema | undefined, path: readonly (string | number)[]): Schema | undefined {
  let found = schema;
  for (const part of path) found = typeof part === 'number' ? found?.items : propertyOf(found, part);
  return found;
}

function propertyOf(schema: Schema | undefined, name: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** `integer, required`, `one of TCP, UDP`. */
export function typeText(schema: Schema, isRequired: boolean): string {
  const { type = '', enum: values } = schema;
  const base =
    values === undefined
      ? schema['x-kubernetes-int-or-string']
        ? 'integer or string'
        : type
      : `one of ${values.join(', ')}`;
  return [base, isRequired ? 'required' : ''].filter((part) => part !== '').join(', ');
}

/** Suggests the fields that the object at the cursor does not have yet, or the values of a field. */
export function suggestionsAt(
  schema: Schema,
  document: OutlineDocument,
  line: { readonly from: number; readonly text: string; readonly cursor: number },
): { readonly from: number; readonly suggestions: readonly Suggestion[] } | undefined {
  const typed = line.text.slice(0, line.cursor);
  const value = /^(\s*(?:-\s+)*)([\w./-]+):\s+(\S*)$/.exec(typed);
  if (value !== null) {
    const [, before = '', key = '', start = ''] = value;
    const parent = parentOf(document, line.from, before);
    const values = valuesOf(schemaAt(schema, [...parent, key]));
    return { from: line.cursor - start.length, suggestions: values };
  }
  const field = /^(\s*(?:-\s+)*)([\w./-]*)$/.exec(typed);
  if (field === null) return undefined;
  const [, before = '', start = ''] = field;
  const parent = parentOf(document, line.from, before);
  const target = schemaAt(schema, parent);
  const present = new Set(
    document.lines
      .filter(({ path, from }) => path.length === parent.length + 1 && isBelow(path, parent) && from < line.from)
      .map(({ key }) => key),
  );
  for (const one of document.lines)
    if (one.from > line.from + line.text.length && isBelow(one.path, parent) && one.path.length === parent.length + 1)
      present.add(one.key);
  const required = new Set(target?.required);
  const suggestions = Object.entries(target?.properties ?? {})
    .filter(([name]) => !present.has(name) && !(parent.length === 0 && name === 'status'))
    .map(
      ([name, own]): Suggestion => ({
        label: name,
        detail: typeText(own, required.has(name)),
        info: own.description ?? '',
        apply: isNested(own) ? `${name}:\n${' '.repeat(before.length + 2)}` : `${name}: `,
      }),
    );
  return { from: line.cursor - start.length, suggestions: suggestions.sort(byRequired(required)) };
}

function byRequired(required: ReadonlySet<string>) {
  return (a: Suggestion, b: Suggestion) => Number(required.has(b.label)) - Number(required.has(a.label));
}

/** The object that a line belongs to; a dash starts an item of the list above. */
function parentOf(document: OutlineDocument, lineFrom: number, before: string): readonly (string | number)[] {
  const dash = before.indexOf('-');
  if (dash < 0) return parentAt(document, lineFrom, before.length);
  const own = document.lines.find(({ from }) => from > lineFrom && from <= lineFrom + before.length);
  if (own?.key !== undefined) return own.path.slice(0, -1);
  const list = parentAt(document, lineFrom, dash + 1);
  return [...list.filter((part, at) => !(at === list.length - 1 && typeof part === 'number')), 0];
}

function valuesOf(schema: Schema | undefined): readonly Suggestion[] {
  const values =
    schema?.enum ??
    (schema?.type === 'boolean' ? [true, false] : schema?.default === undefined ? [] : [schema.default]);
  return values
    .filter((one) => typeof one !== 'object')
    .map((one) => ({
      label: String(one),
      detail: one === schema?.default ? 'default' : '',
      info: schema?.description ?? '',
      apply: String(one),
    }));
}

function isNested({ type }: Schema): boolean {
  return type === 'object' || type === 'array';
}

function isBelow(path: readonly (string | number)[], parent: readonly (string | number)[]): boolean {
  return parent.every((part, at) => path[at] === part);
}

/** Finds fields that the schema does not have, values of another type, and required fields that are missing. */
export function problemsBySchema(schema: Schema, document: OutlineDocument): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  for (const line of document.lines) {
    const { path, key, keyFrom, keyTo } = line;
    // The fields of metadata are those of every kind, and schemas of custom resources do not list them.
    if (path[0] === 'metadata') continue;
    const parent = schemaAt(schema, path.slice(0, -1));
    const own = schemaAt(schema, path);
    if (key !== undefined && own === undefined && isClosed(parent)) {
      problems.push({
        from: keyFrom,
        to: keyTo,
        message: `${path.slice(0, -1).join('.') || document.kind} has no field ${key}`,
      });
      continue;
    }
    const message = own === undefined ? undefined : wrongValue(own, line);
    if (message !== undefined)
      problems.push({
        from: line.valueFrom,
        to: Math.max(line.valueFrom + line.value.length, line.valueFrom),
        message,
      });
    if (own !== undefined && line.value === '') problems.push(...missingFields(own, line, document));
  }
  return problems;
}

function isClosed(schema: Schema | undefined): boolean {
  if (schema === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return false;
  return schema.properties !== undefined && schema.additionalProperties === undefined;
}

function missingFields(schema: Schema, line: OutlineLine, document: OutlineDocument): readonly SchemaProblem[] {
  const { required = [] } = schema;
  const depth = line.path.length;
  const present = new Set(
    document.lines.filter(({ path }) => path.length > depth && isBelow(path, line.path)).map(({ path }) => path[depth]),
  );
  // A key without any field yet is still being typed.
  if (present.size === 0) return [];
  return required
    .filter((name) => !present.has(name))
    .map((name) => ({ from: line.keyFrom, to: line.keyTo, message: `${line.path.join('.')} needs the field ${name}` }));
}

function wrongValue(schema: Schema, { value, key }: OutlineLine): string | undefined {
  if (value === '' || /^[{[&*!|>]/.test(value)) return undefined;
  const isQuoted = /^["']/.test(value);
  const text = unquoted(value);
  const name = key ?? 'the item';
  if (schema.enum !== undefined && !schema.enum.some((one) => String(one) === text))
    return `${name} must be one of ${schema.enum.join(', ')}`;
  if (schema['x-kubernetes-int-or-string'] === true) return undefined;
  const isNumber = !isQuoted && /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text);
  const isInteger = !isQuoted && /^[-+]?\d+$/.test(text);
  const isBoolean = !isQuoted && /^(?:true|false)$/i.test(text);
  if (schema.type === 'integer' && !isInteger) return `${name} must be an integer`;
  if (schema.type === 'number' && !isNumber) return `${name} must be a number`;
  if (schema.type === 'boolean' && !isBoolean) return `${name} must be true or false`;
  if (schema.type === 'string' && (isNumber || isBoolean)) return `${name} must be a string: put it in quotes`;
  if ((schema.type === 'object' || schema.type === 'array') && !/^(?:null|~)$/.test(text))
    return `${name} must be ${schema.type === 'array' ? 'a list' : 'an object'}`;
  if (isNumber && schema.minimum !== undefined && Number(text) < schema.minimum)
    return `${name} must be ${schema.minimum} or more`;
  if (isNumber && schema.maximum !== undefined && Number(text) > schema.maximum)
    return `${name} must be ${schema.maximum} or less`;
  return undefined;
}
