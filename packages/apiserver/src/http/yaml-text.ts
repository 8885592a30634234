import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { ParsedText } from './json-text.ts';

/** Parses one YAML document (JSON is YAML too). */
export function readYaml(text: string): ParsedText {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { uniqueKeys: false, lineCounter, prettyErrors: true, stringKeys: true });
  const [error] = document.errors;
  if (error) return failed(error.message, error.linePos?.[0].line);
  const twice: string[] = [];
  collect(document.contents, lineCounter, twice);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (problem) {
    return failed(problem instanceof Error ? problem.message : 'unknown');
  }
  return { value, duplicates: twice.length === 0 ? [] : [`yaml: unmarshal errors:\n${twice.join('\n')}`] };
}

function failed(message: string, line?: number): ParsedText {
  const [first = ''] = message.split('\n');
  return { value: undefined, duplicates: [], problem: `yaml: ${line === undefined ? '' : `line ${line}: `}${first}` };
}

function collect(node: Node | null, lines: LineCounter, twice: string[]): void {
  if (isSeq(node)) for (const item of node.items) collect(item as Node, lines, twice);
  if (!isMap(node)) return;
  const seen = new Set<string>();
  for (const { key, value } of node.items) {
    if (isScalar(key)) {
      const name = String(key.value);
      const { line } = lines.linePos(key.range?.[0] ?? 0);
      if (seen.has(name)) twice.push(`  line ${line}: key ${JSON.stringify(name)} already set in map`);
      seen.add(name);
    }
    collect(value as Node | null, lines, twice);
  }
}
