// The errors of an applied value by its type: Kubernetes refuses to own values that it cannot place. All other errors are the business of
// validation.
import { isObject, type JsonObject } from '../json/copy.ts';
import type { ListMapType, MapType, ScalarType, SetType, TypeSchema } from './type-schema.ts';

/** In structured merge's words, with the path; undefined when there is nothing. */
export function typedProblem(type: TypeSchema, value: unknown): string | undefined {
  const problems: string[] = [];
  check(type, value, '', problems);
  return problems.length > 1 ? `errors:${problems.map((one) => `\n  ${one}`).join('')}` : problems[0];
}

function check(type: TypeSchema, value: unknown, path: string, problems: string[]): void {
  if (value === null || value === undefined) return;
  switch (type.shape) {
    case 'map':
      if (isObject(value)) checkFields(type, value, path, problems);
      else problems.push(`${path}: expected map, got ${shown(value)}`);
      break;
    case 'list-map':
    case 'set':
      if (Array.isArray(value)) checkItems(type, value, path, problems);
      else problems.push(`${path}: expected list, got ${shown(value)}`);
      break;
    case 'atomic':
      if (type.inside && isObject(value)) checkFields(type.inside, value, path, problems);
      else if (type.inside) problems.push(`${path}: expected map, got ${shown(value)}`);
      else if (type.item && Array.isArray(value)) {
        const item = type.item();
        for (const [index, one] of value.entries()) check(item, one, `${path}[${index}]`, problems);
      } else if (type.item) problems.push(`${path}: expected list, got ${shown(value)}`);
      break;
    case 'scalar': {
      const problem = scalarProblem(type.of, value);
      if (problem !== undefined) problems.push(`${path}: ${problem}`);
      break;
    }
    case 'deduced':
  }
}

function scalarProblem(of: ScalarType['of'], value: unknown): string | undefined {
  const isScalar = typeof value !== 'object';
  if (of === 'numeric') {
    return typeof value === 'number' ? undefined : `expected numeric (int or float), got ${goType(value)}`;
  }
  if (of === 'string') {
    return typeof value === 'string'
      ? undefined
      : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
  }
  if (of === 'boolean') return typeof value === 'boolean' ? undefined : `expected boolean, got ${shown(value)}`;
  return isScalar ? undefined : `expected any scalar, got ${shown(value)}`;
}

function goType(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}

/** As Go would write the value in a program. */
function goSyntax(value: unknown): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isObject(value)) return typeof value === 'string' ? JSON.stringify(value) : String(value);
  const parts = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${parts.join(', ')}}`;
}

function checkFields(type: MapType, value: JsonObject, path: string, problems: string[]): void {
  const undeclared: string[] = [];
  for (const key of Object.keys(value)) {
    const below = type.field(key)?.type ?? type.element;
    if (below === undefined) undeclared.push(`${path}.${key}: field not declared in schema`);
    else check(below, value[key], `${path}.${key}`, problems);
  }
  // Kubernetes stops at the first, wherever that comes in Go's order, which is chance.
  problems.push(...undeclared.slice(0, 1));
}

function checkItems(type: ListMapType | SetType, list: readonly unknown[], path: string, problems: string[]): void {
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const element = type.shape === 'set' ? setElement(item) : keyedElement(type, item);
    if ('problem' in element) {
      problems.push(`${path}: element ${index}: ${element.problem}`);
      return;
    }
    if (seen.has(element.name)) problems.push(`${path}: duplicate entries for key ${element.name}`);
    seen.add(element.name);
    check(type.item(), item, `${path}${element.name}`, problems);
  }
}

type Element = { name: string } | { problem: string };

function setElement(item: unknown): Element {
  if (item === null) return { problem: "associative list without keys has an element that's an explicit null" };
  if (Array.isArray(item)) return { problem: 'not supported: associative list with lists as elements' };
  if (isObject(item)) return { problem: "associative list without keys has an element that's a map type" };
  return { name: `[=${JSON.stringify(item)}]` };
}

function keyedElement({ keys, item: itemType }: ListMapType, item: unknown): Element {
  if (item === null) return { problem: 'associative list with keys may not have a null element' };
  if (!isObject(item)) return { problem: 'associative list with keys may not have non-map elements' };
  const type = itemType();
  const parts = keys.flatMap((key) => {
    const value = item[key] ?? (type.shape === 'map' ? type.field(key)?.default : undefined);
    return value === undefined ? [] : [`${key}=${JSON.stringify(value)}`];
  });
  if (parts.length === 0) {
    const names = keys.map((key) => JSON.stringify(key)).join(' ');
    return {
      problem: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    };
  }
  return { name: `[${parts.join(',')}]` };
}

// Go prints the content of its own wrapper of the value.
function shown(value: unknown): string {
  return Array.isArray(value) ? `&{[${value.map(String).join(' ')}]}` : `&{${String(value)}}`;
}
