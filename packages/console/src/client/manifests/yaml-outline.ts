// The structure of a YAML text while it is typed: the path of each line, found by indentation. A text that does not parse yet has an
// outline all the same. Flow collections and block scalars are values of their line.

export interface OutlineLine {
  /** Offsets in the text, of the line's content without its indentation. */
  readonly from: number;
  readonly to: number;
  /** The indentation of the key, or of the item without its dash. */
  readonly indent: number;
  readonly path: readonly (string | number)[];
  /** Undefined for an item that is a scalar. */
  readonly key?: string;
  readonly keyFrom: number;
  readonly keyTo: number;
  /** As written, without a comment; '' where the value follows in other lines or is missing. */
  readonly value: string;
  readonly valueFrom: number;
}

export interface OutlineDocument {
  readonly from: number;
  readonly to: number;
  readonly apiVersion: string;
  readonly kind: string;
  readonly lines: readonly OutlineLine[];
}

interface Level {
  readonly indent: number;
  readonly path: readonly (string | number)[];
  /** The number of items so far, of a list at this indentation. */
  items: number;
}

const ENTRY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"{}[\],&*!|>%@`-][^#]*?|-[^\s][^#]*?)\s*:(?=\s|$)/;

export function outlineOf(text: string): readonly OutlineDocument[] {
  const documents: OutlineDocument[] = [];
  let start = 0;
  let lines: OutlineLine[] = [];
  let levels: Level[] = [{ indent: -1, path: [], items: 0 }];
  let scalarIndent: number | undefined;
  const close = (end: number) => {
    const valueOf = (name: string) =>
      unquoted(lines.find(({ path }) => path.length === 1 && path[0] === name)?.value ?? '');
    documents.push({ from: start, to: end, apiVersion: valueOf('apiVersion'), kind: valueOf('kind'), lines });
  };
  let offset = 0;
  for (const line of text.split('\n')) {
    const from = offset;
    offset += line.length + 1;
    if (/^---(?:\s|$)/.test(line)) {
      close(from);
      start = offset;
      lines = [];
      levels = [{ indent: -1, path: [], items: 0 }];
      scalarIndent = undefined;
      continue;
    }
    const content = line.trim();
    if (content === '' || content.startsWith('#')) continue;
    let indent = line.length - line.trimStart().length;
    if (scalarIndent !== undefined && indent > scalarIndent) continue;
    scalarIndent = undefined;
    let rest = line.slice(indent);
    let parent = closeTo(levels, indent, rest.startsWith('- ') || rest === '-');
    while (rest.startsWith('- ') || rest === '-') {
      const path = [...parent.path, parent.items];
      parent.items++;
      const step = rest === '-' ? 2 : 2 + (rest.slice(2).length - rest.slice(2).trimStart().length);
      const item: Level = { indent, path, items: 0 };
      levels.push(item);
      rest = rest.slice(step);
      indent += step;
      if (rest !== '' && !ENTRY.test(rest) && !rest.startsWith('- '))
        lines.push({
          ...spanOf(from, indent, rest),
          path,
          keyFrom: from + indent,
          keyTo: from + indent,
          value: withoutComment(rest),
          valueFrom: from + indent,
        });
      parent = item;
    }
    const [head, name] = ENTRY.exec(rest) ?? [];
    if (head === undefined || name === undefined) continue;
    const key = unquoted(name);
    const path = [...parent.path, key];
    const value = withoutComment(rest.slice(head.length).trim());
    lines.push({
      ...spanOf(from, indent, rest),
      path,
      key,
      keyFrom: from + indent,
      keyTo: from + indent + name.length,
      value: /^[|>][+\-\d]*$/.test(value) ? '' : value,
      valueFrom: from + indent + rest.length - rest.slice(head.length).trimStart().length,
    });
    levels.push({ indent, path, items: 0 });
    if (/^[|>]/.test(value)) scalarIndent = indent;
  }
  close(text.length);
  return documents.filter(({ lines: own }, at) => own.length > 0 || at === documents.length - 1);
}

/** Ends the levels that a line of this indentation is not in; returns the one that it belongs to. */
function closeTo(levels: Level[], indent: number, isItem: boolean): Level {
  for (let last = levels.at(-1); last !== undefined && levels.length > 1; last = levels.at(-1)) {
    // The items of a list may have the indentation of its key.
    const isKeyOfList = isItem && last.indent === indent && typeof last.path.at(-1) === 'string';
    if (last.indent < indent || isKeyOfList) break;
    levels.pop();
  }
  return levels.at(-1) ?? { indent: -1, path: [], items: 0 };
}

/** Returns the path of the object or list that a line of this indentation, at this offset, would belong to. */
export function parentAt(document: OutlineDocument, offset: number, indent: number): readonly (string | number)[] {
  const before = document.lines.filter(({ from }) => from < offset);
  for (let at = before.length - 1; at >= 0; at--) {
    const line = before[at];
    if (line === undefined) continue;
    if (line.indent === indent && line.key !== undefined) return line.path.slice(0, -1);
    if (line.indent < indent) return line.key === undefined || line.value !== '' ? line.path.slice(0, -1) : line.path;
  }
  return [];
}

function spanOf(from: number, indent: number, rest: string) {
  return { from: from + indent, to: from + indent + rest.trimEnd().length, indent };
}

function withoutComment(value: string): string {
  if (/^["']/.test(value)) return value;
  return value.replace(/(?:^|\s)#.*$/, '').trim();
}

export function unquoted(value: string): string {
  if (value.length > 1 && value.startsWith("'") && value.endsWith("'")) return value.slice(1, -1).replaceAll("''", "'");
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
