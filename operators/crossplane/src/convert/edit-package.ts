// The smallest change to a package's text: a key is renamed and lines are added, so that comments, order and style stay. The result is
// undefined if the text does not have the necessary shape (it has a merge key, for example). The caller checks the meaning of the result in
// any case.
import { isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode, type Scalar, type YAMLMap } from 'yaml';
import type { PackageChange } from './convert-package.ts';
import { breakOf, columnOf, type Edit, lineEnd } from './edits.ts';

type ParsedPair = Pair<ParsedNode, ParsedNode | null>;

export function packageEdits(text: string, node: YAMLMap.Parsed, change: PackageChange): Edit[] | undefined {
  const spec = node.get('spec', true) as ParsedNode | undefined;
  if (!isMap(spec)) return undefined;
  const map = spec;
  const own = pairOf(map, 'controllerConfigRef');
  const rival = pairOf(map, 'runtimeConfigRef');
  if (own === undefined) return undefined;
  const reference =
    rival === undefined
      ? renameReference(text, own, change.reference)
      : [...(dropPair(text, map, own) ?? [FAILED]), ...(referenceEdits(text, rival, change.reference) ?? [FAILED])];
  // The anchor stays: fields are added beside it.
  const anchor = rival ?? own;
  const added = [...policyEdits(text, map, anchor, change), ...secretEdits(text, map, anchor, change)];
  const edits = [...added, ...(reference ?? [FAILED])];
  return edits.includes(FAILED) ? undefined : edits;
}

/** Marks an edit that cannot be made in place. */
const FAILED: Edit = { start: -1, end: -1, text: '' };

function pairOf(map: YAMLMap.Parsed, key: string): ParsedPair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function renameReference(text: string, pair: ParsedPair, reference: PackageChange['reference']): Edit[] | undefined {
  const inside = referenceEdits(text, pair, reference);
  return inside && [replaced(pair.key, styled(pair.key, 'runtimeConfigRef')), ...inside];
}

/** Returns the edits that give a reference its new content. */
function referenceEdits(
  text: string,
  { value }: ParsedPair,
  reference: PackageChange['reference'],
): Edit[] | undefined {
  if (value === null) return undefined;
  if (isAlias(value)) return [replaced(value, flowMap(reference))];
  if (!isMap(value)) return undefined;
  const map = value;
  const name = pairOf(map, 'name');
  if (name?.value === undefined || name.value === null) return undefined;
  const edits: Edit[] = [];
  const missing: [string, string][] = [];
  for (const key of ['apiVersion', 'kind', 'name'] as const) {
    const there = pairOf(map, key);
    if (there === undefined) missing.push([key, reference[key]]);
    else if (!isScalar(there.value) || there.value.value !== reference[key]) {
      if (!there.value) return undefined;
      edits.push(replaced(there.value, styled(there.value, reference[key])));
    }
  }
  return [...edits, ...insertBefore(text, map, name, missing)];
}

/** New fields before one that is there, in its style. */
function insertBefore(text: string, map: YAMLMap.Parsed, pair: ParsedPair, fields: [string, string][]): Edit[] {
  const start = pair.key.range[0];
  const column = columnOf(text, start);
  const line = text.slice(start - column, start);
  // In a list or behind a brace something else than spaces stands before the key.
  const isAlone = line.trim() === '';
  const break_ = `${breakOf(text)}${' '.repeat(column)}`;
  const separator = map.flow ? (isAlone ? `,${break_}` : ', ') : break_;
  const lines = fields.map(([key, value]) => `${styled(pair.key, key)}: ${styled(pair.key, value)}${separator}`);
  return fields.length === 0 ? [] : [{ start, end: start, text: lines.join('') }];
}

function dropPair(text: string, map: YAMLMap.Parsed, pair: ParsedPair): Edit[] | undefined {
  const index = map.items.indexOf(pair);
  const [next, before] = [map.items[index + 1], map.items[index - 1]];
  const end = pair.value?.range[1] ?? pair.key.range[1];
  if (map.flow) {
    if (next !== undefined) return [{ start: pair.key.range[0], end: next.key.range[0], text: '' }];
    const start = before?.value?.range[1];
    return start === undefined ? undefined : [{ start, end, text: '' }];
  }
  const column = columnOf(text, pair.key.range[0]);
  const start = pair.key.range[0] - column;
  // Behind a dash the line holds more than the pair: the next key takes its place.
  if (text.slice(start, pair.key.range[0]).trim() !== '')
    return next === undefined ? undefined : [{ start: pair.key.range[0], end: next.key.range[0], text: '' }];
  return [{ start, end: text[end - 1] === '\n' ? end : lineEnd(text, end).at, text: '' }];
}

function policyEdits(text: string, map: YAMLMap.Parsed, ref: ParsedPair, { packagePullPolicy }: PackageChange): Edit[] {
  if (packagePullPolicy === undefined) return [];
  const there = pairOf(map, 'packagePullPolicy');
  if (there !== undefined)
    return there.value ? [replaced(there.value, styled(there.value, packagePullPolicy))] : [FAILED];
  return [addField(text, map, ref, 'packagePullPolicy', () => styled(ref.key, packagePullPolicy))];
}

function secretEdits(
  text: string,
  map: YAMLMap.Parsed,
  ref: ParsedPair,
  { packagePullSecrets }: PackageChange,
): Edit[] {
  if (packagePullSecrets.length === 0) return [];
  const there = pairOf(map, 'packagePullSecrets');
  const items = packagePullSecrets.map((name) => `{${styled(ref.key, 'name')}: ${styled(ref.key, name)}}`);
  if (there === undefined) {
    return [
      addField(text, map, ref, 'packagePullSecrets', (indent) => {
        if (map.flow) return `[${items.join(', ')}]`;
        return packagePullSecrets.map((name) => `${breakOf(text)}${indent}  - name: ${name}`).join('');
      }),
    ];
  }
  if (!isSeq(there.value)) return [FAILED];
  const list = there.value;
  const last = list.items.at(-1);
  if (list.flow === true || last === undefined) {
    if (!list.flow) return [FAILED];
    const at = last?.range[1] ?? list.range[0] + 1;
    return [{ start: at, end: at, text: (last === undefined ? '' : ', ') + items.join(', ') }];
  }
  const dash = ' '.repeat(columnOf(text, list.range[0]));
  const lines = packagePullSecrets.map((name) => `${dash}- name: ${name}${breakOf(text)}`);
  return [newLines(text, endOfContent(text, last.range[1]), lines.join(''))];
}

/** A field after `package`, where a reader searches for it; before the reference when there is none. */
function addField(
  text: string,
  map: YAMLMap.Parsed,
  ref: ParsedPair,
  key: string,
  valueWith: (indent: string) => string,
): Edit {
  const after = pairOf(map, 'package');
  if (map.flow || after?.value === undefined || after.value === null) {
    if (!map.flow) return FAILED;
    const [edit = FAILED] = insertRaw(text, map, ref, `${styled(ref.key, key)}: ${valueWith('')}`);
    return edit;
  }
  const indent = ' '.repeat(columnOf(text, after.key.range[0]));
  const value = valueWith(indent);
  const field = `${indent}${key}:${value.startsWith('\n') || value.startsWith('\r') ? '' : ' '}${value}${breakOf(text)}`;
  return newLines(text, endOfContent(text, after.value.range[1]), field);
}

function insertRaw(text: string, map: YAMLMap.Parsed, pair: ParsedPair, field: string): Edit[] {
  const [edit] = insertBefore(text, map, pair, [['', '']]);
  if (edit === undefined) return [];
  const separator = edit.text.slice(edit.text.indexOf(','));
  return [{ ...edit, text: field + separator }];
}

/** A block value ends behind its line break, so text that is added there already begins a line. */
function endOfContent(text: string, end: number): number {
  return text[end - 1] === '\n' ? end - 1 : end;
}

function newLines(text: string, offset: number, lines: string): Edit {
  const { at, hasBreak } = lineEnd(text, offset);
  return { start: at, end: at, text: hasBreak ? lines : breakOf(text) + lines.replace(/\r?\n$/, '') };
}

function replaced({ range }: { range: readonly [number, number, number] }, text: string): Edit {
  return { start: range[0], end: range[1], text };
}

/** Quoted as the other is. All values here are plain words. */
function styled(other: ParsedNode, word: string): string {
  if (!isScalar(other)) return word;
  const { type } = other as Scalar;
  if (type === 'QUOTE_DOUBLE') return JSON.stringify(word);
  return type === 'QUOTE_SINGLE' ? `'${word}'` : word;
}

function flowMap(fields: PackageChange['reference']): string {
  const { apiVersion, kind, name } = fields;
  return `{apiVersion: ${apiVersion}, kind: ${kind}, name: ${name}}`;
}
