// A YAML stream as packages carry it: documents between `---` lines. It is split by line before it is parsed, so that a
// stream of a hundred megabytes costs the memory of its largest document, and so that parsing can let other work of the
// event loop run between two documents. A line that begins with `---` ends a document wherever it stands: YAML allows
// no block of text that holds one.
import { setImmediate } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { PackageErrors } from '../errors.ts';
import { valueOfYaml } from './yaml-text.ts';

export interface YamlLimits {
  /** The limit of the whole stream. Default 200 MiB. */
  readonly maxBytes?: number;
  /** The limit of one document. Default 16 MiB; the largest CRDs have about one. */
  readonly maxDocumentBytes?: number;
  /** Documents that are not empty. Default 20 000. */
  readonly maxDocuments?: number;
}

export interface YamlDocument {
  /** In the stream, from 1. */
  readonly line: number;
  readonly value: unknown;
}

/** Parses one document; `place` names it in errors. Throws PackageError. */
export type DocumentParser = (text: string, place: string) => Promise<unknown>;

/** The documents that hold anything; those of blanks and comments alone are passed over. Throws PackageError. */
export async function* readYamlStream(
  chunks: AsyncIterable<Uint8Array>,
  limits: YamlLimits = {},
  parse: DocumentParser = async (text, place) => parseYaml(text, place),
): AsyncGenerator<YamlDocument> {
  const { maxDocuments = 20_000 } = limits;
  let count = 0;
  for await (const { line, text } of splitDocuments(chunks, limits)) {
    if (++count > maxDocuments) throw PackageErrors.TooLarge('package.yaml', `${maxDocuments} documents`);
    yield { line, value: await parse(text, `package.yaml, line ${line}`) };
    await setImmediate();
  }
}

/** One document; throws PackageError. */
export function parseYaml(text: string, place: string): unknown {
  const parsed = valueOfYaml(text);
  if ('problem' in parsed) throw PackageErrors.BadYaml(place, parsed.problem);
  return parsed.value;
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
      // The text behind the dashes belongs to the document that they open.
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
