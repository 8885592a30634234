// Mutants of a file by its syntax tree: each is one typical slip at one place. Types, imports, and the texts of errors are left alone, because a
// test that notices them would repeat the code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

export interface Mutant {
  /** From the root of the workspace. */
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly to: string;
  readonly line: number;
  /** The slip: the line without blanks around it, then the original and the replacement. It survives edits of other lines. */
  readonly id: string;
}

const ROOT = new URL('../../', import.meta.url).pathname;

/** Returns all mutants of the files, in order. */
export function mutantsOf(files: readonly string[]): readonly Mutant[] {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-mutants-'));
  const config = join(folder, 'tsconfig.json');
  const paths = files.map((file) => join(ROOT, file));
  // The syntax is enough: types and imports need not be found.
  const compilerOptions = { noLib: true, noResolve: true, types: [], allowImportingTsExtensions: true, noEmit: true };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: paths }));
  const api = new API({ cwd: folder });
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProjects()[0];
    return files.flatMap((file, index) => {
      const source = project?.program.getSourceFile(paths[index] ?? '');
      if (source === undefined) throw new Error(`${file} cannot be parsed`);
      return mutantsIn(file, source);
    });
  } finally {
    api.close();
    rmSync(folder, { recursive: true });
  }
}

interface Change {
  readonly start: number;
  readonly end: number;
  readonly to: string;
}

function mutantsIn(file: string, source: SourceFile): Mutant[] {
  const { text } = source;
  const found: Mutant[] = [];
  const visit = (node: Node): void => {
    if (SKIPPED.has(node.kind) || isType(node)) return;
    for (const { start, end, to } of changesOf(node, source)) {
      const line = text.slice(0, start).split('\n').length;
      const shown = (text.split('\n')[line - 1] ?? '').trim();
      const part = (piece: string) => (piece.length > 80 ? `${piece.slice(0, 77)}...` : piece).replaceAll(/\s+/g, ' ');
      found.push({ file, start, end, to, line, id: `${shown} | ${part(text.slice(start, end))} -> ${part(to)}` });
    }
    if (!isComparison(node, source)) node.forEachChild(visit);
  };
  visit(source);
  return found;
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

function isComparison(node: Node, source: SourceFile): boolean {
  if (node.kind !== SyntaxKind.ConditionalExpression) return false;
  const { whenTrue, whenFalse } = node as Parts;
  return [whenTrue, whenFalse].every((part) => COMPARISON.test(part.getText(source)));
}

/** The comparison of a sort, as in `a < b ? -1 : 1`. Another positive number, and another order of equal values, change no result. */
const COMPARISON = /^-?1$/;

function changesOf(node: Node, source: SourceFile): Change[] {
  const { text } = source;
  const startOf = (part: Node) => part.getStart(source);
  const textOf = (part: Node) => text.slice(startOf(part), part.end);
  const replaced = (part: Node, to: string): Change => ({ start: startOf(part), end: part.end, to });
  const parts = node as Parts;
  switch (node.kind) {
    case SyntaxKind.BinaryExpression: {
      const sign = textOf(parts.operatorToken);
      const to = OPERATORS.get(sign);
      // A text that is put together is for people, more often than not.
      const isText = sign === '+' && /['"`]/.test(textOf(node));
      if (sign === '??') return [replaced(node, `(${textOf(parts.left)})!`)];
      return to === undefined || isText ? [] : [replaced(parts.operatorToken, to)];
    }
    case SyntaxKind.PrefixUnaryExpression:
      return parts.operator === SyntaxKind.ExclamationToken ? [replaced(node, textOf(parts.operand))] : [];
    case SyntaxKind.ConditionalExpression:
      if (isComparison(node, source))
        return [replaced(parts.whenTrue, textOf(parts.whenFalse)), replaced(parts.whenFalse, textOf(parts.whenTrue))];
      return [replaced(parts.condition, 'true'), replaced(parts.condition, 'false')];
    case SyntaxKind.IfStatement:
    case SyntaxKind.WhileStatement: {
      const isLoop = node.kind === SyntaxKind.WhileStatement;
      return isLoop
        ? [replaced(parts.expression, 'false')]
        : [replaced(parts.expression, 'true'), replaced(parts.expression, 'false')];
    }
    case SyntaxKind.TrueKeyword:
      return [replaced(node, 'false')];
    case SyntaxKind.FalseKeyword:
      return [replaced(node, 'true')];
    case SyntaxKind.NumericLiteral:
      return [replaced(node, `(${textOf(node)} + 1)`)];
    case SyntaxKind.ExpressionStatement:
      return [replaced(node, ';')];
    case SyntaxKind.CallExpression: {
      const called = parts.expression;
      if (called.kind !== SyntaxKind.PropertyAccessExpression) return [];
      const name = textOf(called.name);
      const other = METHODS.get(name);
      if (other !== undefined) return [replaced(called.name, other)];
      return DROPPED.has(name) ? [{ start: called.expression.end, end: node.end, to: '' }] : [];
    }
    default:
      return [];
  }
}
