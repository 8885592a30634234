// A YAML stream as packages carry it: documents between `---` lines. It is split by line before it is parsed, so that a
// stream of a hundred megabytes costs the memory of its largest document, and so that parsing can let other work of the
// event loop run between two documents. A line that begins with `---` ends a document wherever it stands: YAML allows
// no block of text that holds one.
import { setImmediate } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { reasonOf } from '@capstan/kube';
import { parseDocument, type Tags } from 'yaml';
import { PackageErrors } from './errors.ts';

export interface YamlLimits {
  /** Of the whole stream. Default 200 MiB. */
  readonly maxBytes?: number;
  /** Of one document. Default 16 MiB; the largest CRDs have about one. */
  readonly maxDocumentBytes?: number;
  /** Documents that are not empty. Default 20 000. */
  readonly maxDocuments?: number;
}

export interface YamlDocument {
  /** In the stream, from 1. */
  readonly line: number;
  readonly value: unknown;
}

/** The documents that hold anything; those of blanks and comments alone are passed over. Throws PackageError. */
export async function* readYamlStream(
  chunks: AsyncIterable<Uint8Array>,
  limits: YamlLimits = {},
): AsyncGenerator<YamlDocument> {
  const { maxDocuments = 20_000 } = limits;
  let count = 0;
  for await (const { line, text } of splitDocuments(chunks, limits)) {
    if (++count > maxDocuments) throw PackageErrors.TooLarge('package.yaml', `${maxDocuments} documents`);
    yield { line, value: parseYaml(text, `package.yaml, line ${line}`) };
    await setImmediate();
  }
}

/** One document as Kubernetes' tools read it: `yes` and 0644 mean what YAML 1.1 says, and times stay texts. */
export function parseYaml(text: string, place: string): unknown {
  try {
    const document = parseDocument(text, {
      version: '1.1',
      customTags: jsonTags,
      prettyErrors: false,
      logLevel: 'error',
    });
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (error) {
    // Nesting without end exhausts the stack; that too is the document's fault.
    throw PackageErrors.BadYaml(place, error instanceof RangeError ? 'it is nested too deeply' : reasonOf(error));
  }
}

export interface DocumentText {
  /** In the stream, from 1. */
  readonly line: number;
  readonly text: string;
}

/** The texts of the documents that hold anything. Throws PackageError. */
export async function* splitDocuments(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes = 200 * 1024 ** 2, maxDocumentBytes = 16 * 1024 ** 2 }: YamlLimits = {},
  name = 'package.yaml',
): AsyncGenerator<DocumentText> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let lines: string[] = [];
  let size = 0;
  let line = 1;
  let start = 1;
  let total = 0;

  function finish(): DocumentText | undefined {
    const text = lines.join('\n');
    const found = lines.some(holdsSomething) ? { line: start, text } : undefined;
    lines = [];
    size = 0;
    return found;
  }
  function* take(text: string): Generator<DocumentText> {
    if (/^---(?:\s|$)/.test(text)) {
      const found = finish();
      if (found !== undefined) yield found;
      start = line;
      // What stands behind the dashes belongs to the document that they open.
      lines.push(`   ${text.slice(3)}`);
    } else if (/^\.\.\.(?:\s|$)/.test(text)) {
      const found = finish();
      if (found !== undefined) yield found;
      start = line + 1;
    } else if (!(text.startsWith('%') && !lines.some(holdsSomething))) {
      lines.push(text);
    }
    size += text.length + 1;
    if (size > maxDocumentBytes)
      throw PackageErrors.TooLarge(`the document at line ${start} of ${name}`, `${maxDocumentBytes} bytes`);
    line++;
  }

  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw PackageErrors.TooLarge(name, `${maxBytes} bytes`);
    rest += decode(decoder, chunk, `${name}, line ${line}`);
    if (rest.length > maxDocumentBytes)
      throw PackageErrors.TooLarge(`line ${line} of ${name}`, `${maxDocumentBytes} bytes`);
    const parts = rest.split(/\r?\n/);
    rest = parts.pop() ?? '';
    for (const part of parts) yield* take(part);
  }
  rest += decode(decoder, undefined, `${name}, line ${line}`);
  if (rest !== '') yield* take(rest);
  const found = finish();
  if (found !== undefined) yield found;
}

function decode(decoder: TextDecoder, chunk: Uint8Array | undefined, place: string): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw PackageErrors.BadYaml(place, 'it is not UTF-8');
  }
}

function holdsSomething(line: string): boolean {
  return !/^\s*(?:#.*)?$/.test(line);
}

/** Dates, sexagesimal numbers, sets and bytes of YAML 1.1: nobody means them, and none of them is JSON. */
function jsonTags(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' ||
      (!('format' in tag && tag.format === 'TIME') && !/:(?:timestamp|binary|set|omap|pairs)$/.test(tag.tag)),
  );
}
