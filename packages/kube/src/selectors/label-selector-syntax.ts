// The grammar of label selectors, with kube-apiserver's error messages:
//
//   selector    = [ requirement { "," requirement } ]
//   requirement = ["!"] key | key ("=" | "==" | "!=" | ">" | "<") [value] | key ("in" | "notin") "(" [values] ")"
//
// `in` and `notin` are words of the grammar only where an operator is due: `in in (in)` is valid. Values may be empty, in
// sets too: `(a,,b)` holds the empty value.

import { validateQualifiedName } from '../names.ts';
import { type LabelOperator, type LabelTerm, termProblem } from './label-term.ts';

/** Returns the terms in the order of the text, or the problem of an invalid text. */
export function parseLabelTerms(text: string): { terms: LabelTerm[] } | { problem: string } {
  const tokens: Tokens = { list: tokenize(text), next: 0 };
  const terms: LabelTerm[] = [];
  try {
    if (peek(tokens) === END) return { terms };
    for (;;) {
      if (!isWord(peek(tokens)) && peek(tokens) !== '!') {
        const expected = terms.length === 0 ? "!, identifier, or 'end of string'" : "identifier after ','";
        refuse(`found '${peek(tokens)}', expected: ${expected}`);
      }
      terms.push(requirement(tokens));
      const after = take(tokens);
      if (after === END) return { terms };
      if (after !== ',') refuse(`found '${after}', expected: ',' or 'end of string'`);
    }
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.message };
    throw error;
  }
}

/** Carries a message from the depth of the grammar to parseLabelTerms, and no further. */
class Refusal extends Error {}

interface Tokens {
  readonly list: readonly string[];
  next: number;
}

const END = '';
const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
};

function tokenize(text: string): string[] {
  // A zero byte ends the text, as it does on the server.
  const [readable = ''] = text.split('\0', 1);
  return readable.match(/==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+/g) ?? [];
}

function requirement(tokens: Tokens): LabelTerm {
  try {
    return validated(readRequirement(tokens));
  } catch (error) {
    if (error instanceof Refusal) refuse(`unable to parse requirement: ${error.message}`);
    throw error;
  }
}

function validated(term: LabelTerm): LabelTerm {
  const problem = termProblem(term);
  return problem === undefined ? term : refuse(problem);
}

function readRequirement(tokens: Tokens): LabelTerm {
  let key = take(tokens);
  const negated = key === '!';
  if (negated) key = take(tokens);
  if (!isWord(key)) refuse(`found '${key}', expected: identifier`);
  const problems = validateQualifiedName(key);
  if (problems.length > 0) refuse(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`);
  if (negated) {
    // The server reads on after `!key` only to the next comma; an operator there is none of its own.
    return { key, operator: 'DoesNotExist', values: [] };
  }
  if (peek(tokens) === END || peek(tokens) === ',') return { key, operator: 'Exists', values: [] };
  const word = take(tokens);
  const operator = Object.hasOwn(OPERATORS, word) ? OPERATORS[word] : undefined;
  if (operator === undefined) return refuse(`found '${word}', expected: in, notin, =, ==, !=, gt, lt`);
  return { key, operator, values: word === 'in' || word === 'notin' ? valueSet(tokens) : exactValue(tokens) };
}

function exactValue(tokens: Tokens): string[] {
  if (peek(tokens) === END || peek(tokens) === ',') return [''];
  const value = take(tokens);
  return isWord(value) ? [value] : refuse(`found '${value}', expected: identifier`);
}

function valueSet(tokens: Tokens): string[] {
  const open = take(tokens);
  if (open !== '(') refuse(`found '${open}' expected: '('`);
  const first = peek(tokens);
  if (!isWord(first) && first !== ',' && first !== ')') refuse(`found '${first}', expected: ',', ')' or identifier`);
  const values = new Set<string>();
  // Between two separators there is one word, or nothing: the empty value.
  for (;;) {
    const found = peek(tokens);
    if (isWord(found)) values.add(take(tokens));
    else if (found === ',' || found === ')') values.add('');
    else refuse(`found '${found}', expected: ',', or identifier`);
    const separator = take(tokens);
    if (separator === ')') return [...values].toSorted();
    if (separator !== ',') refuse(`found '${separator}', expected: ',' or ')'`);
  }
}

function isWord(token: string): boolean {
  return token !== END && !/^[=!(),<>]/.test(token);
}

function peek(tokens: Tokens): string {
  return tokens.list[tokens.next] ?? END;
}

function take(tokens: Tokens): string {
  return tokens.list[tokens.next++] ?? END;
}

function refuse(problem: string): never {
  throw new Refusal(problem);
}
