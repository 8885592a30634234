// A converted ControllerConfig as text: the nodes of the old document, with their comments and their style, in their new
// places. Where that cannot be done (an alias would come before its anchor) the values are written without them.
import { equal, isJsonObject, type JsonObject } from '@capstan/kube';
import { Document, isMap, isScalar, isSeq, type Node, Pair, parseDocument, type Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { YAML_OPTIONS } from './documents.ts';
import { breakOf, columnOf } from './edits.ts';
import { CONTROLLER_CONFIG_FIELDS, placeOf } from './to-runtime-config.ts';

export interface WrittenConfig {
  /** For the place of the old node. */
  readonly text: string;
  readonly keepsComments: boolean;
}

export function writeRuntimeConfig(
  text: string,
  old: YAMLMap.Parsed,
  document: Document,
  value: JsonObject,
): WrittenConfig {
  const [start, end] = old.range;
  if (old.flow) return { text: jsonText(text.slice(start, end), value), keepsComments: true };
  const column = columnOf(text, start);
  const style = styleOf(text, old);
  const rich = attempt(() => stringify(rebuilt(old, document, value), style));
  const isGood =
    rich !== undefined &&
    equal(
      attempt(() => parseDocument(rich, YAML_OPTIONS).toJS() as unknown),
      value,
    );
  const plain = isGood ? rich : stringify(value, style);
  const endsLine = text[end - 1] === '\n';
  const lines = (endsLine ? plain : plain.replace(/\n$/, '')).replaceAll(/\n(?=[^\n])/g, `\n${' '.repeat(column)}`);
  return { text: breakOf(text) === '\n' ? lines : lines.replaceAll('\n', '\r\n'), keepsComments: isGood };
}

interface Style {
  readonly indent: number;
  readonly indentSeq: boolean;
}

function stringify(value: unknown, { indent, indentSeq }: Style): string {
  return new Document(value, YAML_OPTIONS).toString({ indent, indentSeq, lineWidth: 0, flowCollectionPadding: false });
}

/** How far the document indents, and whether it indents lists. */
function styleOf(text: string, map: YAMLMap.Parsed): Style {
  const style = { indent: 2, indentSeq: true };
  const column = columnOf(text, map.range[0]);
  for (const { value } of map.items) {
    if (isMap(value) && !value.flow && value.range) {
      style.indent = Math.max(columnOf(text, value.range[0]) - column, 1);
      break;
    }
  }
  visitLists(text, map, (isIndented) => {
    style.indentSeq = isIndented;
  });
  return style;
}

function visitLists(text: string, map: YAMLMap.Parsed, found: (isIndented: boolean) => void): void {
  for (const { key, value } of map.items) {
    if (isMap(value)) visitLists(text, value, found);
    else if (isSeq(value) && !value.flow && value.range)
      found(columnOf(text, value.range[0]) > columnOf(text, key.range[0]));
  }
}

/** The new value as nodes, built from the old ones wherever they mean the same. */
function rebuilt(old: YAMLMap.Parsed, document: Document, value: JsonObject): Node {
  const origins = new Map<string, Pair>();
  const spec = old.get('spec', true);
  const note = (map: unknown, path: readonly (string | number)[]) => {
    if (!isMap(map)) return;
    for (const pair of map.items) {
      if (!isScalar(pair.key)) continue;
      const below = [...path, String(pair.key.value)];
      origins.set(below.join('/'), pair);
      // The fields of spec go to places of their own.
      if (map !== old || pair.key.value !== 'spec') note(pair.value, below);
    }
  };
  note(old, []);
  const left: Pair[] = [];
  if (isMap(spec)) {
    // The parser gives a comment on the first field to the whole.
    const first = spec.items[0]?.key;
    if (spec.commentBefore && isScalar(first) && !first.commentBefore) {
      first.commentBefore = spec.commentBefore;
      spec.commentBefore = null;
    }
    for (const pair of spec.items) {
      const field = isScalar(pair.key) ? String(pair.key.value) : '';
      if (!CONTROLLER_CONFIG_FIELDS.includes(field)) left.push(pair);
      else {
        const place = placeOf(field);
        if (valueAt(value, place) === undefined) left.push(pair);
        origins.set(place.join('/'), pair);
        if (field === 'metadata') note(pair.value, place);
      }
    }
  }
  const root = nodeOf(value, '');
  // Keep the comments on fields that moved elsewhere.
  const comments = left.map(({ key }) => (isScalar(key) ? key.commentBefore : undefined)).filter(Boolean);
  if (comments.length > 0) root.comment = [root.comment, ...comments].filter(Boolean).join('\n');
  return root;

  function nodeOf(part: unknown, path: string): Node {
    const origin = origins.get(path)?.value as Node | null | undefined;
    if (origin && equal(jsOf(origin), part)) return origin;
    if (Array.isArray(part)) {
      const list = new YAMLSeq();
      const items = isSeq(origin) ? (origin.items as Node[]) : [];
      list.items = part.map(
        (item: unknown, index) => items.find((one) => equal(jsOf(one), item)) ?? nodeOf(item, `${path}/${index}`),
      );
      return list;
    }
    if (isJsonObject(part)) {
      const map = new YAMLMap();
      for (const [key, content] of inOrderOf(origin, part)) {
        const below = path === '' ? key : `${path}/${key}`;
        const node = keyNode(key, origins.get(below));
        // An empty line at the beginning of a map would be one behind its key.
        if (map.items.length === 0) node.spaceBefore = false;
        map.items.push(new Pair(node, nodeOf(content, below)));
      }
      copyComments(origin, map);
      return map;
    }
    const scalar = document.createNode(part) as Node;
    copyComments(origin, scalar);
    return scalar;
  }

  function jsOf(node: Node): unknown {
    return node.toJS(document) as unknown;
  }

  function keyNode(key: string, pair: Pair | undefined): Scalar {
    const node = document.createNode(key) as unknown as Scalar;
    // The text above the first key stays in place: the text before the node is not touched.
    if (isScalar(pair?.key) && pair !== old.items[0]) {
      copyComments(pair.key, node);
      if (pair.key.spaceBefore) node.spaceBefore = true;
    }
    return node;
  }
}

/** Returns the old entries in their order, then the new ones. */
function inOrderOf(origin: Node | null | undefined, part: JsonObject): [string, unknown][] {
  if (!isMap(origin)) return Object.entries(part);
  const places = new Map(origin.items.map(({ key }, index) => [isScalar(key) ? String(key.value) : '', index]));
  const placeIn = (key: string) => places.get(key) ?? places.size;
  return Object.entries(part).toSorted(([left], [right]) => placeIn(left) - placeIn(right));
}

function copyComments(from: Node | null | undefined, to: Node): void {
  if (from?.commentBefore) to.commentBefore = from.commentBefore;
  if (from?.comment) to.comment = from.comment;
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let part = value;
  for (const key of path) {
    if (Array.isArray(part)) part = part[Number(key)] as unknown;
    else part = isJsonObject(part) ? part[key] : undefined;
  }
  return part;
}

/** In the style of JSON that was found: on one line, or indented as it was. */
function jsonText(old: string, value: JsonObject): string {
  const [, indent] = /^[{]\r?\n([ \t]+)/.exec(old) ?? [];
  if (indent === undefined) return JSON.stringify(value);
  const closing = /([ \t]*)[}]$/.exec(old)?.[1] ?? '';
  const own = indent.slice(closing.length) || '  ';
  const text = JSON.stringify(value, undefined, own).replaceAll('\n', `\n${closing}`);
  return breakOf(old) === '\n' ? text : text.replaceAll('\n', '\r\n');
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
