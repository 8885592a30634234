// A YAML file whose values are asked for by path, and which can tell the line of each when one is wrong.
import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigErrors } from '../../errors.ts';

export type Path = readonly (string | number)[];

export interface YamlSource {
  /** For messages. */
  readonly file: string;
  /** Undefined when absent, null or empty. */
  string(path: Path): string | undefined;
  boolean(path: Path): boolean | undefined;
  strings(path: Path): string[];
  /** How many entries the list at this path has; 0 when it is absent or null. */
  length(path: Path): number;
  has(path: Path): boolean;
  keys(path: Path): string[];
  /** Whatever is there, as JSON. */
  value(path: Path): unknown;
  wrong(path: Path, problem: string): Error;
}

/** Throws a ConfigError with the file and the line when the text is not YAML. */
export function readYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  // Pretty errors quote the line at fault, which may hold a token.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw ConfigErrors.NotYaml(file, lines.linePos(error.pos[0]).line, problemOf(error.message));

  const nodeAt = (path: Path): unknown => (path.length === 0 ? document.contents : document.getIn(path, true));
  const lineOf = (path: Path): number | undefined => {
    // The nearest thing above that exists: what is missing has no line of its own.
    for (let end = path.length; end >= 0; end--) {
      const node = nodeAt(path.slice(0, end));
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return undefined;
  };
  const wrong = (path: Path, problem: string) => ConfigErrors.BadField(file, lineOf(path), textOf(path), problem);
  const value = (path: Path): unknown => {
    const node = nodeAt(path);
    return isNode(node) ? (node.toJS(document) as unknown) : undefined;
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

// What follows a colon or a quote in the parser's messages is text of the file.
function problemOf(message: string): string {
  return message.split(/[:"]/)[0]?.trim() || 'it is not YAML';
}

function textOf(path: Path): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? 'the file' : text.replace(/^\./, '');
}
