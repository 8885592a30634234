// A recursive-descent parser for CEL: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax. Parsing stops at the first
// syntax error. Common errors have the text of cel-go's generated parser.
import type { CallExpr, Expr, MapEntry } from './ast.ts';
import { type Token, tokenize } from './lexer.ts';
import { expandGlobalMacro, expandMethodMacro, type MacroOptions } from './macros.ts';
import type { Issue } from './source.ts';

export interface Parsed {
  /** The expression is undefined if there are issues. */
  readonly expr: Expr | undefined;
  readonly issues: readonly Issue[];
}

const MAX_LENGTH = 100_000;
const MAX_DEPTH = 250;
/** The limit for a chain of selections or of operators of one level, because each adds a level to the tree. */
const MAX_CHAIN = 500;
const OPERAND =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const RESERVED = new Set(
  'as break const continue else for function if import in let loop package namespace return var void while'.split(' '),
);
const RELATIONS: readonly string[] = ['<', '<=', '>=', '>', '==', '!=', 'in'];
const MAX_INT = 2n ** 63n;

class SyntaxIssue extends Error {
  readonly issue: Issue;

  constructor(issue: Issue) {
    super(issue.message);
    this.issue = issue;
  }
}

export function parseCel(text: string, options: MacroOptions = {}): Parsed {
  const issues: Issue[] = [];
  if (text.length > MAX_LENGTH) {
    const message = `expression code point size exceeds limit: size: ${text.length}, limit ${MAX_LENGTH}`;
    return { expr: undefined, issues: [{ at: 0, message }] };
  }
  const tokens = tokenize(text, issues);
  if (issues.length > 0) return { expr: undefined, issues };
  try {
    const expr = new Parser(tokens, options, issues).whole();
    return { expr: issues.length > 0 ? undefined : expr, issues };
  } catch (error) {
    if (!(error instanceof SyntaxIssue)) throw error;
    return { expr: undefined, issues: [...issues, error.issue] };
  }
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #options: MacroOptions;
  readonly #issues: Issue[];
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], options: MacroOptions, issues: Issue[]) {
    this.#tokens = tokens;
    this.#options = options;
    this.#issues = issues;
  }

  whole(): Expr {
    const expr = this.#expr();
    const token = this.#peek();
    if (token.type !== 'end') {
      const isLast = this.#tokens[this.#position + 1]?.type === 'end';
      this.#fail(token, `${isLast ? 'extraneous' : 'mismatched'} input '${token.text}' expecting <EOF>`);
    }
    return expr;
  }

  #peek(): Token {
    return this.#tokens[this.#position] as Token;
  }

  #fail(token: Token, message: string): never {
    throw new SyntaxIssue({ at: token.at, message: `Syntax error: ${message}` });
  }

  #accept(symbol: string): Token | undefined {
    const token = this.#peek();
    if (token.text !== symbol || token.type === 'literal') return undefined;
    this.#position++;
    return token;
  }

  #expect(symbol: string): Token {
    const token = this.#accept(symbol);
    if (token) return token;
    const found = this.#peek();
    return this.#fail(found, `missing '${symbol}' at '${found.text}'`);
  }

  #expr(): Expr {
    if (++this.#depth > MAX_DEPTH) this.#tooDeep();
    const condition = this.#binary(0);
    const question = this.#accept('?');
    let expr = condition;
    if (question) {
      const yes = this.#binary(0);
      this.#expect(':');
      expr = call('_?_:_', question.at, [condition, yes, this.#expr()]);
    }
    this.#depth--;
    return expr;
  }

  // Parses operators from the loosest level to the tightest. Operators of one level associate to the left.
  #binary(level: number): Expr {
    const operators = LEVELS[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    const terms: Expr[] = [left];
    const places: number[] = [];
    for (let token = this.#peek(); token.type !== 'literal' && operators.includes(token.text); token = this.#peek()) {
      this.#position++;
      const right = this.#binary(level + 1);
      if (places.push(token.at) > MAX_CHAIN && level > 1) this.#tooDeep();
      terms.push(right);
      const name = token.text === 'in' ? '@in' : `_${token.text}_`;
      if (level > 1) left = call(name, token.at, [left, right]);
    }
    // A long chain of && or || becomes a balanced tree, so that its length does not count as depth.
    return level > 1 ? left : balanced(`_${operators[0]}_`, terms, places, 0, terms.length - 1);
  }

  #tooDeep(): never {
    throw new SyntaxIssue({ at: this.#peek().at, message: `expression recursion limit exceeded: ${MAX_DEPTH}` });
  }

  #unary(): Expr {
    const token = this.#peek();
    if (token.type !== 'symbol' || (token.text !== '!' && token.text !== '-'))
      return this.#member(this.#primary(false));
    let count = 0;
    for (; this.#accept(token.text); count++);
    const next = this.#peek();
    const isNumber = next.type === 'int' || (next.type === 'literal' && typeof next.value === 'number');
    if (token.text === '-' && isNumber && count === 1) {
      return this.#member(this.#primary(true, token.at));
    }
    const operand = this.#member(this.#primary(false));
    if (count % 2 === 0) return operand;
    return call(token.text === '!' ? '!_' : '-_', token.at, [operand]);
  }

  #primary(isNegative: boolean, signAt?: number): Expr {
    const token = this.#peek();
    this.#position++;
    switch (token.type) {
      case 'int': {
        const value = isNegative ? -token.value : token.value;
        if (value >= MAX_INT || value < -MAX_INT) this.#issues.push({ at: token.at, message: 'invalid int literal' });
        return { op: 'literal', value, at: signAt ?? token.at };
      }
      case 'literal': {
        const value = isNegative && typeof token.value === 'number' ? -token.value : token.value;
        return { op: 'literal', value, at: signAt ?? token.at };
      }
      case 'ident':
        return this.#named(token, '');
      case 'symbol':
        switch (token.text) {
          case '(': {
            const expr = this.#expr();
            this.#expect(')');
            return expr;
          }
          case '[':
            return this.#list(token);
          case '{':
            return this.#map(token);
          case '.': {
            const name = this.#peek();
            if (name.type !== 'ident') this.#fail(name, `mismatched input '${name.text}' expecting IDENTIFIER`);
            this.#position++;
            return this.#named(name, '.');
          }
          default:
            break;
        }
        return this.#fail(token, `extraneous input '${token.text}' expecting ${OPERAND}`);
      case 'end':
        return this.#fail(token, `mismatched input '<EOF>' expecting ${OPERAND}`);
    }
  }

  #named(token: Token, dot: string): Expr {
    if (RESERVED.has(token.text)) {
      if (token.text === 'in') this.#fail(token, `mismatched input 'in' expecting ${OPERAND}`);
      this.#issues.push({ at: token.at, message: `reserved identifier: ${token.text}` });
    }
    const open = this.#accept('(');
    if (!open) return { op: 'ident', name: dot + token.text, at: token.at };
    const args = this.#args(')').items;
    const global = call(dot + token.text, open.at, args);
    return expandGlobalMacro(global, this.#issues) ?? global;
  }

  #member(start: Expr): Expr {
    let expr = start;
    for (let length = 0; ; length++) {
      if (length > MAX_CHAIN) this.#tooDeep();
      const dot = this.#accept('.');
      if (dot) {
        const optional = this.#accept('?');
        const name = this.#peek();
        if (name.type !== 'ident' || name.text === 'in') {
          const isWord = /^[a-z]+$/.test(name.text);
          if (isWord) this.#fail(name, `mismatched input '${name.text}' expecting IDENTIFIER`);
          this.#fail(name, `no viable alternative at input '.${name.type === 'end' ? '' : name.text}'`);
        }
        this.#position++;
        const open = optional ? undefined : this.#accept('(');
        if (open) {
          const method: CallExpr = { ...call(name.text, open.at, this.#args(')').items), target: expr };
          expr = expandMethodMacro(method, this.#options, this.#issues) ?? method;
        } else {
          const isOptional = optional !== undefined;
          expr = { op: 'select', operand: expr, field: name.text, isTest: false, isOptional, at: dot.at };
        }
        continue;
      }
      const bracket = this.#accept('[');
      if (bracket) {
        const optional = this.#accept('?');
        const index = this.#expr();
        this.#expect(']');
        expr = call(optional ? '_[?_]' : '_[_]', bracket.at, [expr, index]);
        continue;
      }
      const struct = this.#peek();
      if (struct.text === '{' && struct.type === 'symbol') {
        const name = qualifiedName(expr);
        if (name !== undefined) {
          this.#position++;
          while (this.#peek().type !== 'end' && !this.#accept('}')) this.#position++;
          expr = { op: 'struct', name, at: struct.at };
          continue;
        }
      }
      return expr;
    }
  }

  /** Parses expressions up to a closing symbol. In lists and maps, a comma may follow the last one. */
  #args(close: string): { items: Expr[]; optional: Set<number> } {
    const items: Expr[] = [];
    const optional = new Set<number>();
    while (!this.#accept(close)) {
      if (items.length > 0) {
        const comma = this.#accept(',');
        if (!comma) {
          const found = this.#peek();
          this.#fail(
            found,
            `${found.type === 'end' ? 'mismatched' : 'extraneous'} input '${found.text}' expecting {'${close}', ','}`,
          );
        }
        if (close === ']' && this.#accept(close)) break;
      }
      if (close === ']' && this.#accept('?')) optional.add(items.length);
      items.push(this.#expr());
    }
    return { items, optional };
  }

  #list(open: Token): Expr {
    const { items, optional } = this.#args(']');
    return { op: 'list', items, optional, at: open.at };
  }

  #map(open: Token): Expr {
    const entries: MapEntry[] = [];
    while (!this.#accept('}')) {
      if (entries.length > 0) {
        this.#expect(',');
        if (this.#accept('}')) break;
      }
      const isOptional = this.#accept('?') !== undefined;
      const key = this.#expr();
      const colon = this.#expect(':');
      entries.push({ at: colon.at, key, value: this.#expr(), isOptional });
    }
    return { op: 'map', entries, at: open.at };
  }
}

const LEVELS: readonly (readonly string[])[] = [['||'], ['&&'], RELATIONS, ['+', '-'], ['*', '/', '%']];

function balanced(name: string, terms: readonly Expr[], places: readonly number[], from: number, to: number): Expr {
  if (from === to) return terms[from] as Expr;
  const middle = (from + to + 1) >> 1;
  const left = balanced(name, terms, places, from, middle - 1);
  return call(name, places[middle - 1] as number, [left, balanced(name, terms, places, middle, to)]);
}

function call(name: string, at: number, args: readonly Expr[]): CallExpr {
  return { op: 'call', name, target: undefined, args, at };
}

/** Returns `a.b.c` for nested selections, and undefined for other expressions. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.op === 'ident') return expr.name;
  if (expr.op !== 'select' || expr.isTest || expr.isOptional) return undefined;
  const base = qualifiedName(expr.operand);
  return base === undefined ? undefined : `${base}.${expr.field}`;
}
