// Comments of the file, carried to the new places of their keys. A comment belongs to the key or list item below it or on its line; one of
// a section goes to the first written field of that section; comments without a place stand at the end.
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
import type { FileContent } from '../configuration/file/index.ts';

/** Adds the comments of a file to the document of the resource, whose fields lie below `spec`. */
export function carryComments(text: string, content: FileContent, document: Document): void {
  const lines = text.split('\n');
  const used = new Set<number>();
  const places = [...content.places].toSorted(([, left], [, right]) => left.line - right.line);
  const sectionLines = [...content.sections.values()];
  const counter = new LineCounter();
  const file = parseDocument(text, { lineCounter: counter });
  for (const [field, { key, line }] of places) {
    const pair = pairAt(document, field);
    if (pair === undefined) continue;
    for (const { item, line: itemLine } of itemsOf(file, key, pair.value, counter)) {
      // On the line of the key they are its own.
      if (itemLine === line) continue;
      const above = commentAbove(lines, itemLine, used);
      const trailing = used.has(-itemLine) ? undefined : trailingComment(lines[itemLine - 1] ?? '');
      used.add(-itemLine);
      const before = isScalar(item) || trailing === undefined ? above : [...above, trailing];
      if (before.length > 0) item.commentBefore = before.join('\n');
      if (isScalar(item) && trailing !== undefined) item.comment = trailing;
    }
    const above = sectionLines
      .filter((section) => key.startsWith(`${section.key}.`))
      .flatMap((section) => commentAbove(lines, section.line, used));
    const own = [...above, ...commentAbove(lines, line, used)];
    if (own.length > 0 && isScalar(pair.key)) pair.key.commentBefore = own.join('\n');
    const trailing = trailingComment(lines[line - 1] ?? '');
    if (trailing === undefined || used.has(-line)) continue;
    used.add(-line);
    if (isScalar(pair.value)) pair.value.comment = trailing;
    else if (isScalar(pair.key)) pair.key.commentBefore = [...own, trailing].join('\n');
  }
  const left = lines.flatMap((line, index) =>
    used.has(index) || !line.trimStart().startsWith('#') ? [] : [line.trim().slice(1)],
  );
  if (left.length > 0) document.comment = [' Further comments of the file:', ...left].join('\n');
}

/** The items of a list of the resource, each with its line in the file; none when the lists are not the same. */
function itemsOf(
  file: Document,
  key: string,
  value: Node | null,
  counter: LineCounter,
): { readonly item: Node; readonly line: number }[] {
  const given = file.getIn(key.split('.'), true);
  if (!isSeq(given) || !isSeq(value) || given.items.length !== value.items.length) return [];
  return value.items.flatMap((item, index) => {
    const source = given.items[index];
    if (!isNode(item) || !isNode(source) || !source.range) return [];
    return [{ item, line: counter.linePos(source.range[0]).line }];
  });
}

/** The lines of comment directly above a line, each used once. */
function commentAbove(lines: readonly string[], line: number, used: Set<number>): string[] {
  const found: string[] = [];
  for (let index = line - 2; index >= 0; index--) {
    const text = (lines[index] ?? '').trim();
    if (!text.startsWith('#') || used.has(index)) break;
    used.add(index);
    found.unshift(text.slice(1));
  }
  return found;
}

/** The comment at the end of a line: a hash after a space, outside of quotes. */
function trailingComment(line: string): string | undefined {
  let quote = '';
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '#' && index > 0 && /\s/.test(line[index - 1] ?? '')) return line.slice(index + 1).trimEnd();
  }
  return undefined;
}

function pairAt(document: Document, field: string): Pair<Node, Node | null> | undefined {
  const names = ['spec', ...field.split('.')];
  let node: unknown = document.contents;
  let pair: Pair<Node, Node | null> | undefined;
  for (const name of names) {
    if (!isMap(node)) return undefined;
    pair = node.items.find((item) => isScalar(item.key) && item.key.value === name) as
      | Pair<Node, Node | null>
      | undefined;
    if (pair === undefined) return undefined;
    node = pair.value;
  }
  return pair;
}
