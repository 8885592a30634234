// An object as lines of YAML, each with its path, so that the page can name the field manager of a line.

export interface YamlLine {
  readonly indent: number;
  /** `- ` for the first line of an item. */
  readonly dash: boolean;
  readonly key?: string;
  /** Undefined where the value follows in the next lines. */
  readonly value?: string;
  readonly type: 'string' | 'number' | 'word' | 'none';
  /** `spec.rules[0].host`, as field managers' paths are written. */
  readonly path: string;
  /** The first part of the path. */
  readonly section: string;
}

export function yamlLines(object: unknown): readonly YamlLine[] {
  const lines: YamlLine[] = [];
  append(lines, object, '', 0);
  return lines;
}

export function yamlText(lines: readonly YamlLine[]): string {
  return lines.map((line) => `${lineText(line)}\n`).join('');
}

export function lineText({ indent, dash, key, value }: YamlLine): string {
  const space = ' '.repeat(indent * 2 - (dash ? 2 : 0));
  const parts = [key === undefined ? undefined : `${quoted(key)}:`, value].filter((part) => part !== undefined);
  return `${space}${dash ? '- ' : ''}${parts.join(' ')}`;
}

function append(lines: YamlLine[], value: unknown, path: string, indent: number, dash = false): void {
  if (Array.isArray(value)) {
    value.forEach((item: unknown, at) => {
      const inner = `${path}[${at}]`;
      if (isNested(item)) append(lines, item, inner, indent + 1, true);
      else lines.push({ indent: indent + 1, dash: true, ...scalar(item), path: inner, section: sectionOf(inner) });
    });
    return;
  }
  let isFirst = dash;
  for (const [key, item] of Object.entries((value ?? {}) as Record<string, unknown>)) {
    if (item === undefined) continue;
    const inner = path === '' ? key : `${path}.${key}`;
    const head = { indent, dash: isFirst, key, path: inner, section: sectionOf(inner) };
    isFirst = false;
    if (!isNested(item)) {
      lines.push({ ...head, ...scalar(item) });
      continue;
    }
    lines.push({ ...head, type: 'none' });
    append(lines, item, inner, Array.isArray(item) ? indent : indent + 1);
  }
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function scalar(value: unknown): Pick<YamlLine, 'value' | 'type'> {
  if (typeof value === 'string') return { value: quoted(value), type: 'string' };
  if (typeof value === 'number') return { value: String(value), type: 'number' };
  if (Array.isArray(value)) return { value: '[]', type: 'word' };
  if (typeof value === 'object' && value !== null) return { value: '{}', type: 'word' };
  return { value: String(value), type: 'word' };
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./@-]*(?::[A-Za-z0-9_./@-]+)*$/;
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n|~)$/i;

/** Quotes text that YAML would read as another type or that has characters with a meaning. JSON strings are valid YAML. */
function quoted(text: string): string {
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text);
}

function sectionOf(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? '';
}

/** Replaces the keys of list items, as `[{"type":"Ready"}]`, with the index that the item has in the object. */
export function indexedPath(object: unknown, path: string): string {
  let value = object;
  let found = '';
  for (const [part] of path.matchAll(/\[\{.*?\}\]|\[\d+\]|\.?[^.[]+/g)) {
    if (!part.startsWith('[{')) {
      found += part;
      value = property(value, part.startsWith('[') ? part.slice(1, -1) : part.replace(/^\./, ''));
      continue;
    }
    const at = indexOfItem(value, part.slice(1, -1));
    if (at < 0) return path;
    found += `[${at}]`;
    value = property(value, String(at));
  }
  return found;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function indexOfItem(list: unknown, key: string): number {
  if (!Array.isArray(list)) return -1;
  try {
    const wanted = Object.entries(JSON.parse(key) as Record<string, unknown>);
    return list.findIndex((item: unknown) => wanted.every(([name, value]) => property(item, name) === value));
  } catch {
    return -1;
  }
}

/** Finds the manager of a line: of its path, or the only one of the paths below it. */
export function managerOfPath(
  owners: readonly { readonly path: string; readonly manager: string }[],
): (path: string) => string | undefined {
  const byPath = new Map<string, string>();
  const below = new Map<string, Set<string>>();
  for (const { path, manager } of owners) {
    byPath.set(path, manager);
    for (const parent of parentsOf(path)) {
      const managers = below.get(parent) ?? new Set();
      below.set(parent, managers.add(manager));
    }
  }
  return (path) => {
    const exact = byPath.get(path) ?? byPath.get(path.replace(/\[\d+\]/g, ''));
    if (exact !== undefined) return exact;
    const managers = below.get(path);
    if (managers?.size === 1) return managers.values().next().value;
    // A field manager may own a whole list or map.
    const owner = parentsOf(path).findLast((parent) => byPath.has(parent));
    return managers === undefined && owner !== undefined ? byPath.get(owner) : undefined;
  };
}

function parentsOf(path: string): readonly string[] {
  const found: string[] = [];
  for (let at = 1; at < path.length; at++) if (path[at] === '.' || path[at] === '[') found.push(path.slice(0, at));
  return found;
}
