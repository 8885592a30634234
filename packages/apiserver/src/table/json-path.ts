// kubectl's JSONPath, the part that printer columns use: fields (`.a.b`, `['a.b']`, `a\.b`), indexes and slices (`[0]`,
// `[-1:]`), `[*]`, `..name`, unions (`['a','b']`) and filters (`[?(@.type=="Ready")]`). It differs from RFC 9535, so no
// library for that would do. A path that finds nothing has no results; only one that cannot be read is an error.
import { isObject } from '../json/copy.ts';

export type JsonPath = (value: unknown) => unknown[];

type Step = (value: unknown) => unknown[];

/** Reads a path as CRDs write it (`.spec.replicas`); undefined when it is not one. */
export function compileJsonPath(text: string): JsonPath | undefined {
  const steps: Step[] = [];
  const trimmed = text.trim().replace(/^\{|\}$/g, '');
  let rest = trimmed.replace(/^[$@]/, '');
  while (rest !== '') {
    const read = readStep(rest);
    if (!read) return undefined;
    steps.push(read.step);
    rest = rest.slice(read.length);
  }
  return (value) => steps.reduce((found, step) => found.flatMap(step), [value]);
}

function readStep(rest: string): { step: Step; length: number } | undefined {
  const recursive = /^\.\.((?:\\.|[^.[\]])+|\*)/.exec(rest);
  if (recursive) return { step: descend(unescape(recursive[1] ?? '')), length: recursive[0].length };
  const wildcard = /^\.\*/.exec(rest);
  if (wildcard) return { step: children, length: 2 };
  const field = /^\.?((?:\\.|[^.[\]\\=<>!()])+)/.exec(rest);
  if (field) return { step: fieldStep(unescape(field[1] ?? '')), length: field[0].length };
  if (rest.startsWith('.[')) {
    const inner = readStep(rest.slice(1));
    return inner && { step: inner.step, length: inner.length + 1 };
  }
  if (!rest.startsWith('[')) return undefined;
  const end = closing(rest);
  if (end === undefined) return undefined;
  const step = bracketStep(rest.slice(1, end).trim());
  return step && { step, length: end + 1 };
}

const unescape = (text: string) => text.replaceAll(/\\(.)/g, '$1');

function closing(text: string): number | undefined {
  let depth = 0;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (character === '\\') index += 1;
    else if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === "'" || character === '"') quote = character;
    else if (character === '[') depth += 1;
    else if (character === ']') {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return undefined;
}

function bracketStep(inside: string): Step | undefined {
  if (inside === '*') return children;
  if (/^\?\(.*\)$/s.test(inside)) return filterStep(inside.slice(2, -1));
  if (/^(?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*")(?:\s*,\s*(?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*"))*$/.test(inside)) {
    const names = [...inside.matchAll(/'((?:\\.|[^'])*)'|"((?:\\.|[^"])*)"/g)];
    const steps = names.map((name) => fieldStep(unescape(name[1] ?? name[2] ?? '')));
    return (value) => steps.flatMap((step) => step(value));
  }
  const parts = inside.split(',').map((part) => rangeStep(part.trim()));
  if (parts.some((part) => part === undefined)) return undefined;
  return (value) => parts.flatMap((part) => part?.(value) ?? []);
}

function rangeStep(text: string): Step | undefined {
  if (/^-?\d+$/.test(text)) {
    const index = Number(text);
    return (value) => {
      if (!Array.isArray(value)) return [];
      const found: unknown = value.at(index);
      return found === undefined ? [] : [found];
    };
  }
  const match = /^(-?\d*):(-?\d*)(?::(\d+))?$/.exec(text);
  if (!match) return undefined;
  const [, from = '', to = '', by = ''] = match;
  const every = by === '' ? 1 : Number(by);
  if (every === 0) return undefined;
  return (value) => {
    if (!Array.isArray(value)) return [];
    const part: unknown[] = value.slice(from === '' ? 0 : Number(from), to === '' ? undefined : Number(to));
    return part.filter((_, index) => index % every === 0);
  };
}

function fieldStep(name: string): Step {
  return (value) => {
    if (!isObject(value) || !Object.hasOwn(value, name)) return [];
    return [value[name]];
  };
}

function children(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value)
    ? Object.keys(value)
        .sort()
        .map((key) => value[key])
    : [];
}

function descend(name: string): Step {
  const step = name === '*' ? children : fieldStep(name);
  const walk = (value: unknown): unknown[] => [...step(value), ...children(value).flatMap(walk)];
  return walk;
}

type Compare = (left: unknown, right: unknown) => boolean;

const COMPARISONS: Readonly<Record<string, Compare>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => ordered(left, right) < 0,
  '<=': (left, right) => ordered(left, right) <= 0,
  '>': (left, right) => ordered(left, right) > 0,
  '>=': (left, right) => ordered(left, right) >= 0,
};

function ordered(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  return Number.NaN;
}

function filterStep(text: string): Step | undefined {
  const match = /^(.+?)(==|!=|<=|>=|<|>)(.+)$/s.exec(text.trim());
  if (!match) {
    const exists = compileJsonPath(text);
    return exists && ((value) => listed(value).filter((one) => exists(one).length > 0));
  }
  const left = operand(match[1] ?? '');
  const right = operand(match[3] ?? '');
  const compare = COMPARISONS[match[2] ?? ''];
  if (!left || !right || !compare) return undefined;
  return (value) =>
    listed(value).filter((one) => {
      const [a] = left(one);
      const [b] = right(one);
      return a !== undefined && b !== undefined && compare(a, b);
    });
}

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : children(value));

function operand(text: string): JsonPath | undefined {
  const trimmed = text.trim();
  const quoted = /^(?:'((?:\\.|[^'])*)'|"((?:\\.|[^"])*)")$/s.exec(trimmed);
  if (quoted) return () => [unescape(quoted[1] ?? quoted[2] ?? '')];
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return () => [Number(trimmed)];
  if (trimmed === 'true' || trimmed === 'false') return () => [trimmed === 'true'];
  return trimmed.startsWith('@') || trimmed.startsWith('$') || trimmed.startsWith('.')
    ? compileJsonPath(trimmed)
    : undefined;
}
