// A YAML file whose values are read by path. An error for a value names its line.
import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigErrors } from '../../errors.ts';

export type Path = readonly (string | number)[];

export interface YamlSource {
  /** The file name for messages. */
  readonly file: string;
  /** Undefined when absent, null or empty. */
  string(path: Path): string | undefined;
  boolean(path: Path): boolean | undefined;
  strings(path: Path): string[];
  /** Returns the number of entries of the list at this path; 0 if it is absent or null. */
  length(path: Path): number;
  has(path: Path): boolean;
  keys(path: Path): string[];
  /** Returns the value at this path as JSON. */
  value(path: Path): unknown;
  wrong(path: Path, problem: string): Error;
}

/** Throws a ConfigError with the file and the line when the text is not YAML. */
export function readYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  // Disable pretty errors and warnings: they quote lines and keys, which may hold a token.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw ConfigErrors.NotYaml(file, lines.linePos(error.pos[0]).line, problemOf(error.message));

  const nodeAt = (path: Path): unknown => (path.length === 0 ? document.contents : document.getIn(path, true));
  const lineOf = (path: Path): number | undefined => {
    // Use the nearest parent that exists, because a missing value has no line.
    for (let end = path.length; end >= 0; end--) {
      const node = nodeAt(path.slice(0, end));
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return undefined;
  };
  const wrong = (path: Path, problem: string) => ConfigErrors.BadField(file, lineOf(path), textOf(path), problem);
  const value = (path: Path): unknown => {
    const node = nodeAt(path);
    if (!isNode(node)) return undefined;
    try {
      return node.toJS(document) as unknown;
    } catch {
      // The parser notices aliases without an anchor, and too many of them, only here. Its message may quote a secret.
      throw wrong(path, 'has an alias that cannot be resolved (write the value itself)');
    }
  };

  function scalar(path: Path, type: 'string' | 'boolean', problem: string): unknown {
    const found = value(path) ?? undefined;
    if (found === undefined || typeof found === type) return found;
    throw wrong(path, problem);
  }

  const source: YamlSource = {
    file,
    wrong,
    value,
    has: (path) => (value(path) ?? undefined) !== undefined,
    string: (path) => {
      const found = scalar(path, 'string', 'should be a text (put it in quotes)');
      return typeof found === 'string' && found !== '' ? found : undefined;
    },
    boolean: (path) => {
      const found = scalar(path, 'boolean', 'should be true or false');
      return typeof found === 'boolean' ? found : undefined;
    },
    strings: (path) => {
      return Array.from({ length: source.length(path) }, (_, index) => {
        const found = value([...path, index]);
        if (typeof found !== 'string') throw wrong([...path, index], 'should be a text (put it in quotes)');
        return found;
      });
    },
    length: (path) => {
      const node = nodeAt(path);
      if ((value(path) ?? undefined) === undefined) return 0;
      if (!isSeq(node)) throw wrong(path, 'should be a list');
      return node.items.length;
    },
    keys: (path) => {
      const node = nodeAt(path);
      if ((value(path) ?? undefined) === undefined) return [];
      if (!isMap(node)) throw wrong(path, 'should be a mapping');
      return node.items.map((pair) => String(pair.key));
    },
  };
  if (document.contents !== null && source.has([])) source.keys([]);
  return source;
}

// Removes the part of the parser's message after a colon or a quote, which is text of the file.
function problemOf(message: string): string {
  return message.split(/[:"]/)[0]?.trim() || 'it is not YAML';
}

function textOf(path: Path): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? 'the file' : text.replace(/^\./, '');
}
