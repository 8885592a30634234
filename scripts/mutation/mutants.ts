// Mutants of a file by its syntax tree: each is one typical slip at one place. Types, imports, and the texts of errors are left alone, because a
// test that notices them would repeat the code. All mutants of a file are put into one text, and `$mutant(number)` there decides which one is
// active: so that a program with thousands of mutants is loaded once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

export interface Mutant {
  /** From the root of the workspace. */
  readonly file: string;
  readonly line: number;
  /** The slip: the line without blanks around it, then the original and the replacement. It survives edits of other lines. */
  readonly id: string;
}

export interface MutatedFile {
  readonly file: string;
  /** TypeScript, with all its mutants; the numbers count from `first`. */
  readonly text: string;
  readonly first: number;
  readonly mutants: readonly Mutant[];
}

const ROOT = new URL('../../', import.meta.url).pathname;

/** Returns the files with all their mutants. The numbers of mutants begin with 1 and go on from file to file. */
export function mutate(files: readonly string[]): readonly MutatedFile[] {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-mutants-'));
  const config = join(folder, 'tsconfig.json');
  const paths = files.map((file) => join(ROOT, file));
  // The syntax is enough: types and imports need not be found.
  const compilerOptions = { noLib: true, noResolve: true, types: [], allowImportingTsExtensions: true, noEmit: true };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: paths }));
  const api = new API({ cwd: folder });
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProjects()[0];
    let first = 1;
    return files.map((file, index) => {
      const source = project?.program.getSourceFile(paths[index] ?? '');
      if (source === undefined) throw new Error(`${file} cannot be parsed`);
      const mutated = mutateFile(file, source, first);
      first += mutated.mutants.length;
      return mutated;
    });
  } finally {
    api.close();
    rmSync(folder, { recursive: true });
  }
}

function mutateFile(file: string, source: SourceFile, first: number): MutatedFile {
  const { text } = source;
  const mutants: Mutant[] = [];
  const emit = (node: Node, parent: Node): string => {
    const start = node.getStart(source);
    if (SKIPPED.has(node.kind) || isType(node)) return text.slice(start, node.end);
    let own = '';
    let at = start;
    node.forEachChild((child) => {
      const begins = child.getStart(source);
      own += text.slice(at, begins) + emit(child, node);
      at = child.end;
    });
    own += text.slice(at, node.end);
    let mutated = '';
    for (const { to, label } of changesOf(node, parent, source)) {
      const line = text.slice(0, start).split('\n').length;
      const shown = (text.split('\n')[line - 1] ?? '').trim();
      mutants.push({ file, line, id: `${shown} | ${label}` });
      const active = `$mutant(${first + mutants.length - 1})`;
      mutated += to === '' ? `if (!${active}) ` : `${active} ? (${to}) : `;
    }
    if (mutated === '') return own;
    // The outer braces keep an `else` that follows at its own condition.
    return node.kind === SyntaxKind.ExpressionStatement ? `{ ${mutated}{ ${own} } }` : `(${mutated}(${own}))`;
  };
  const parts: string[] = [];
  let at = 0;
  source.forEachChild((child) => {
    const begins = child.getStart(source);
    parts.push(text.slice(at, begins), emit(child, source));
    at = child.end;
  });
  return { file, text: parts.join('') + text.slice(at), first, mutants };
}

const SKIPPED = new Set<SyntaxKind>([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.ThrowStatement,
]);

const isType = ({ kind }: Node) => kind >= SyntaxKind.FirstTypeNode && kind <= SyntaxKind.LastTypeNode;

const OPERATORS = new Map(
  Object.entries({
    '===': '!==',
    '!==': '===',
    '<': '<=',
    '<=': '<',
    '>': '>=',
    '>=': '>',
    '&&': '||',
    '||': '&&',
    '+': '-',
    '-': '+',
    '*': '/',
    '/': '*',
    '%': '*',
    '+=': '-=',
    '-=': '+=',
  }),
);

const METHODS = new Map(Object.entries({ some: 'every', every: 'some', min: 'max', max: 'min' }));
/** Calls that return their object when they are left out. */
const DROPPED = new Set(['filter', 'toSorted', 'toReversed', 'slice', 'trim', 'toLowerCase']);

/** A node with the parts that the changes read; which of them it has depends on its kind. */
type Parts = Node & {
  readonly left: Node;
  readonly right: Node;
  readonly operatorToken: Node;
  readonly operator: SyntaxKind;
  readonly operand: Node;
  readonly condition: Node;
  readonly whenTrue: Node;
  readonly whenFalse: Node;
  readonly expression: Node & Parts;
  readonly name: Node;
};

interface Change {
  /** In place of the whole node; empty for a statement that is left out. */
  readonly to: string;
  readonly label: string;
}

function changesOf(node: Node, parent: Node, source: SourceFile): Change[] {
  const isComparing = isComparison(parent, source);
  // Another positive number, and another order of equal values, change no result of a sort.
  if (isComparing && (parent as Parts).condition !== node) return [];
  return [
    ...(isCondition(node, parent) && !isComparing ? forced(node, parent, source) : []),
    ...slips(node, parent, source),
  ].filter(() => !isComparing || node.kind !== SyntaxKind.BinaryExpression);
}

/** The comparison of a sort, as in `a < b ? -1 : 1`. */
const COMPARISON = /^-?1$/;

function isComparison(node: Node, source: SourceFile): boolean {
  if (node.kind !== SyntaxKind.ConditionalExpression) return false;
  const { whenTrue, whenFalse } = node as Parts;
  return [whenTrue, whenFalse].every((part) => COMPARISON.test(part.getText(source)));
}

function isCondition(node: Node, parent: Node): boolean {
  const { condition, expression } = parent as Parts;
  if (parent.kind === SyntaxKind.ConditionalExpression) return condition === node;
  return (parent.kind === SyntaxKind.IfStatement || parent.kind === SyntaxKind.WhileStatement) && expression === node;
}

function forced(node: Node, parent: Node, source: SourceFile): Change[] {
  const label = (to: string) => `${shortened(node.getText(source))} -> ${to}`;
  const never = { to: 'false', label: label('false') };
  return parent.kind === SyntaxKind.WhileStatement ? [never] : [{ to: 'true', label: label('true') }, never];
}

function slips(node: Node, parent: Node, source: SourceFile): Change[] {
  const { text } = source;
  const start = node.getStart(source);
  const textOf = (part: Node) => part.getText(source);
  const whole = textOf(node);
  const replaced = (to: string, label = `${shortened(whole)} -> ${shortened(to)}`): Change => ({ to, label });
  const spliced = (part: Node, to: string) =>
    replaced(
      text.slice(start, part.getStart(source)) + to + text.slice(part.end, node.end),
      `${shortened(textOf(part))} -> ${shortened(to)}`,
    );
  const parts = node as Parts;
  if ((parent as Parts).name === node) return [];
  switch (node.kind) {
    case SyntaxKind.BinaryExpression: {
      const sign = textOf(parts.operatorToken);
      const to = OPERATORS.get(sign);
      // A text that is put together is for people, more often than not.
      const isText = sign === '+' && /['"`]/.test(whole);
      if (sign === '??') return [replaced(textOf(parts.left))];
      return to === undefined || isText ? [] : [spliced(parts.operatorToken, to)];
    }
    case SyntaxKind.PrefixUnaryExpression:
      return parts.operator === SyntaxKind.ExclamationToken ? [replaced(textOf(parts.operand))] : [];
    case SyntaxKind.ConditionalExpression:
      if (!isComparison(node, source)) return [];
      return [spliced(parts.whenTrue, textOf(parts.whenFalse)), spliced(parts.whenFalse, textOf(parts.whenTrue))];
    case SyntaxKind.TrueKeyword:
      return [replaced('false')];
    case SyntaxKind.FalseKeyword:
      return [replaced('true')];
    case SyntaxKind.NumericLiteral:
      // Another negative number changes no comparison of a sort.
      if (parent.kind === SyntaxKind.PrefixUnaryExpression && whole === '1') return [];
      return [replaced(`${whole} + 1`)];
    case SyntaxKind.ExpressionStatement:
      return whole.startsWith('super(') ? [] : [replaced('', `${shortened(whole)} -> nothing`)];
    case SyntaxKind.CallExpression:
      return callSlips(node, source, replaced, spliced);
    default:
      return [];
  }
}

function callSlips(
  node: Node,
  source: SourceFile,
  replaced: (to: string, label: string) => Change,
  spliced: (part: Node, to: string) => Change,
): Change[] {
  const called = (node as Parts).expression;
  // A part of an optional chain cannot stand alone.
  if (called.kind !== SyntaxKind.PropertyAccessExpression || called.getText(source).includes('?.')) return [];
  const name = called.name.getText(source);
  const other = METHODS.get(name);
  if (other !== undefined) return [spliced(called.name, other)];
  const left = called.expression.getText(source);
  return DROPPED.has(name) ? [replaced(left, `.${name}(...) -> nothing`)] : [];
}

const shortened = (text: string) => (text.length > 80 ? `${text.slice(0, 77)}...` : text).replaceAll(/\s+/g, ' ');
