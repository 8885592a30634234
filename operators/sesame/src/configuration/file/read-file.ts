// Reads a configuration file as strictly as upstream does, but reports everything at once and at its place.
import type { JsonObject } from '@capstan/kube/values';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { valueAt, withValueAt } from '../fields.ts';
import { shown } from '../problem.ts';
import { FILE_KEYS, type FileKey, KEYS_BELOW } from './file-keys.ts';
import type { FileProblem } from './file-problem.ts';
import { nearest } from './nearest.ts';
import { isList, type ShapeType } from './struct-shapes.ts';

export interface Place {
  /** The key in the file. */
  readonly key: string;
  readonly line: number;
  readonly column: number;
}

export interface FileContent {
  /** The content of the file, as fields of the resource. */
  readonly spec: JsonObject;
  /** Where each field stands. */
  readonly places: ReadonlyMap<string, Place>;
  /** Sections and their places, for comments. */
  readonly sections: ReadonlyMap<string, Place>;
  /** The keys that stay flags, by their names. */
  readonly flags: ReadonlyMap<string, string>;
  readonly problems: readonly FileProblem[];
}

export interface ReadFileOptions {
  /** Unknown keys are dropped with a warning. */
  readonly isLenient?: boolean;
}

export function readConfigurationFile(text: string, options: ReadFileOptions = {}): FileContent {
  const reader = new FileReader(text, options);
  reader.read();
  return reader;
}

class FileReader implements FileContent {
  spec: JsonObject = {};
  readonly places = new Map<string, Place>();
  readonly sections = new Map<string, Place>();
  readonly flags = new Map<string, string>();
  readonly problems: FileProblem[] = [];
  readonly #text: string;
  readonly #options: ReadFileOptions;
  readonly #lines = new LineCounter();
  #document: Document | undefined;
  /** Values as they stand in the file. */
  readonly #written = new Map<string, unknown>();
  /** Maps whose keys are being merged into another one. */
  readonly #merged = new Set<YAMLMap>();

  constructor(text: string, options: ReadFileOptions) {
    this.#text = text;
    this.#options = options;
  }

  read(): void {
    const documents = parseAllDocuments(this.#text, {
      lineCounter: this.#lines,
      uniqueKeys: true,
      prettyErrors: false,
    });
    const list = Array.isArray(documents) ? documents : [];
    const [document, second] = list;
    if (document === undefined) return;
    this.#document = document;
    for (const { message, pos } of list.flatMap(({ errors }) => errors))
      this.#report('error', pos[0], '', syntaxMessage(message));
    if (second !== undefined)
      this.#report('error', second.range?.[0] ?? 0, '', 'there is a second document; a configuration file has one');
    // The text after a syntax error has another meaning than the user intended; a duplicate key is understood.
    if (document.errors.some(({ code }) => code !== 'DUPLICATE_KEY')) return;
    const { contents } = document;
    if (contents === null || (isScalar(contents) && contents.value === null)) return;
    if (isMap(contents)) this.#section(contents.items, '');
    else this.#report('error', contents.range?.[0] ?? 0, '', 'must be a map of keys; write key: value');
    this.#repair();
  }

  #section(pairs: readonly Pair<Node, Node | null>[], path: string): void {
    for (const pair of pairs) {
      const name = isScalar(pair.key) ? String(pair.key.value) : '';
      const at = path === '' ? name : `${path}.${name}`;
      const offset = pair.key.range?.[0] ?? 0;
      const value = this.#resolved(pair.value);
      if (name === '<<' && isMap(value)) {
        this.#merge(value, path, offset);
        continue;
      }
      const key = Object.hasOwn(FILE_KEYS, at) ? FILE_KEYS[at] : undefined;
      if (key !== undefined) this.#leaf(at, key, value, offset);
      else if (KEYS_BELOW.has(at) || at === 'server') this.#subsection(at, value, offset);
      else this.#unknown(at, path, name, offset);
    }
  }

  /** The keys of another map. One that contains itself has no end. */
  #merge(value: YAMLMap, path: string, offset: number): void {
    if (this.#merged.has(value)) {
      this.#report('error', offset, path, 'the map is merged into itself (<<); remove the merge');
      return;
    }
    this.#merged.add(value);
    this.#section(value.items as Pair<Node, Node | null>[], path);
    this.#merged.delete(value);
  }

  #subsection(at: string, value: Node | null, offset: number): void {
    this.sections.set(at, { key: at, ...this.#position(offset) });
    if (isNull(value)) return;
    if (isMap(value)) this.#section(value.items as Pair<Node, Node | null>[], at);
    else this.#report('error', offset, at, 'must be a map of keys; write its keys below it');
  }

  #unknown(at: string, parent: string, name: string, offset: number): void {
    const found = nearest(name, KEYS_BELOW.get(parent) ?? []) ?? elsewhere(name);
    this.#reportUnknown(at, offset, found === undefined ? 'remove it' : `did you mean ${found}?`);
  }

  #reportUnknown(at: string, offset: number, hint: string): void {
    if (this.#options.isLenient === true) this.#report('warning', offset, at, 'is not a known key and is dropped');
    else this.#report('error', offset, at, `is not a known key; ${hint}`);
  }

  #leaf(at: string, key: FileKey, node: Node | null, offset: number): void {
    if (key.deprecated !== undefined) this.#report('warning', offset, at, `is deprecated; ${key.deprecated}`);
    if (isNull(node)) return;
    const read = this.#value(key, node, at);
    if (read === undefined) return;
    const value = key.toField === undefined ? read : key.toField(read);
    if (key.flag !== undefined) {
      this.flags.set(key.flag, String(value));
      return;
    }
    const field = key.field ?? '';
    const existing = this.places.get(field);
    if (existing !== undefined) {
      if (key.isAlias === true) return;
      // A key that is there twice is an error already.
      if (existing.key !== at) this.#report('warning', offset, at, `is used instead of ${existing.key}`);
    }
    this.spec = withValueAt(this.spec, field, value);
    this.#written.set(field, read);
    this.places.set(field, { key: at, ...this.#position(offset) });
  }

  /** The value in the type of its key: a version 1.2 is a text here, whatever YAML takes it for. */
  #value({ type, shape }: FileKey, node: Node, at: string): unknown {
    const offset = node.range?.[0] ?? 0;
    const wrong = (expected: string) => {
      this.#report('error', offset, at, `must be ${expected} (${this.#shown(node)}); correct it`);
      return undefined;
    };
    switch (type) {
      case 'string':
        return isScalar(node) ? textOf(node) : wrong('a text');
      case 'boolean':
        return (isScalar(node) ? truthOf(node) : undefined) ?? wrong('true or false');
      case 'integer':
        if (!isScalar(node) || !Number.isSafeInteger(node.value)) return wrong('a whole number');
        // YAML 1.1 reads it as an octal number, as Go's decoder does, and YAML 1.2 as a decimal one.
        if (/^[-+]?0\d/.test(node.source ?? '')) return wrong('a whole number without a leading zero');
        return Math.abs(Number(node.value)) > MAX_INTEGER ? wrong('a number of 32 bits') : node.value;
      case 'number':
        return isScalar(node) && typeof node.value === 'number' ? node.value : wrong('a number');
      case 'strings': {
        if (!isSeq(node)) return wrong('a list');
        const items = node.items.map((item) => this.#resolved(item as Node));
        const texts = items.flatMap((item) => (isScalar(item) && item.value !== null ? [textOf(item)] : []));
        return texts.length === items.length ? texts : wrong('a list of texts');
      }
      case 'texts': {
        if (!isMap(node)) return wrong('a map');
        const pairs = (node.items as Pair<Node, Node | null>[]).map(
          (pair) => [pair.key, this.#resolved(pair.value)] as const,
        );
        const texts = pairs.flatMap(([name, value]) =>
          isScalar(name) && (value === null || isScalar(value))
            ? [[textOf(name), isNull(value) ? '' : textOf(value)] as const]
            : [],
        );
        return texts.length === pairs.length ? Object.fromEntries(texts) : wrong('a map of texts');
      }
      case 'struct':
        return this.#struct(shape ?? {}, node, at);
    }
  }

  /** Like Contour's decoder, this refuses keys that the struct does not have. */
  #struct(type: ShapeType, given: Node | null, at: string): unknown {
    const node = this.#resolved(given);
    const offset = node?.range?.[0] ?? 0;
    const wrong = (expected: string) => {
      this.#report('error', offset, at, `must be ${expected} (${this.#shown(node)}); correct it`);
      return undefined;
    };
    if (type === 'string') return isScalar(node) ? textOf(node) : wrong('a text');
    if (type === 'boolean') return (isScalar(node) ? truthOf(node) : undefined) ?? wrong('true or false');
    if (isList(type))
      return isSeq(node)
        ? node.items.map((item, index) => this.#struct(type[0], item as Node, `${at}[${index}]`))
        : wrong('a list');
    if (!isMap(node)) return wrong('a map of keys');
    const result: Record<string, unknown> = {};
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const name = isScalar(pair.key) ? String(pair.key.value) : '';
      const key = Object.hasOwn(type, name) ? type[name] : undefined;
      const place = pair.key.range?.[0] ?? 0;
      if (key === undefined) {
        const found = Object.keys(type).find((each) => each.toLowerCase() === name.toLowerCase());
        const near = found ?? nearest(name, new Set(Object.keys(type)));
        this.#reportUnknown(`${at}.${name}`, place, near === undefined ? 'remove it' : `did you mean ${near}?`);
      } else if (!isNull(this.#resolved(pair.value)))
        result[key.field] = this.#struct(key.type, pair.value, `${at}.${name}`);
    }
    for (const { field, absent } of Object.values(type)) if (absent !== undefined) result[field] ??= absent;
    return result;
  }

  /** Meanings that the file has and the resource has not. */
  #repair(): void {
    for (const version of ['minimumProtocolVersion', 'maximumProtocolVersion']) {
      const field = `envoy.listener.tls.${version}`;
      if (valueAt(this.spec, field) !== '1.1') continue;
      this.spec = withValueAt(this.spec, field, '1.2');
      this.#reportAt(field, 'is no longer supported ("1.1") and is used as 1.2');
    }
    for (const field of ['rateLimitService.extensionService', 'tracing.extensionService', 'globalExtAuth.extensionRef'])
      this.#checkReference(field);
    for (const group of ['rateLimitService', 'tracing']) {
      const field = `${group}.extensionService`;
      const service = valueAt(this.spec, field);
      if (group === 'rateLimitService' && valueAt(this.spec, group) !== undefined && (service ?? '') === '') {
        // Without a service the section has never had an effect.
        this.spec = withValueAt(this.spec, group, undefined);
      } else if (typeof service === 'string' && service !== '' && !service.includes('/')) {
        this.spec = withValueAt(this.spec, field, `default/${service}`);
        this.#reportAt(field, `has no namespace (${shown(service)}) and is used as default/${service}`);
      }
    }
    for (const field of ['httpproxy.fallbackCertificate', 'envoy.clientCertificate']) {
      const { name = '', namespace = '' } = (valueAt(this.spec, field) ?? {}) as { name?: string; namespace?: string };
      if (valueAt(this.spec, field) === undefined) continue;
      const trimmed = { name: name.trim(), namespace: namespace.trim() };
      this.spec = withValueAt(this.spec, field, trimmed.name === '' && trimmed.namespace === '' ? undefined : trimmed);
    }
  }

  /** A reference is NAME or NAMESPACE/NAME; Contour would silently drop the text after a second slash. */
  #checkReference(field: string): void {
    const value = valueAt(this.spec, field);
    const text = typeof value === 'string' ? value : undefined;
    const name = (value as { name?: unknown } | undefined)?.name;
    const written = text ?? (typeof name === 'string' ? name : '');
    const slashes = written.split('/').length - 1;
    const place = this.places.get(field);
    if (place === undefined || slashes <= (text === undefined ? 0 : 1)) return;
    const message = `must be NAMESPACE/NAME (${shown(text ?? this.#written.get(field))}); correct it`;
    this.problems.push({ severity: 'error', ...place, message });
    // The rules of the resource would report it once more.
    this.spec = withValueAt(this.spec, field, undefined);
  }

  #resolved(node: Node | null): Node | null {
    if (!isAlias(node)) return node;
    const found = node.resolve(this.#document as Document) as Node | undefined;
    if (found === undefined)
      this.#report(
        'error',
        node.range?.[0] ?? 0,
        '',
        `there is no anchor &${node.source} above (*${node.source}); define it, or write the value`,
      );
    return found ?? null;
  }

  /** A value as it is written: a number may be another one than YAML takes it for. */
  #shown(node: Node | null): string {
    if (isScalar(node) && typeof node.value !== 'string' && node.source) return node.source.slice(0, 80);
    try {
      return shown(node?.toJS(this.#document as Document));
    } catch {
      // Its aliases would be too many values.
      const [from, to] = node?.range ?? [0, 0];
      return shown(this.#text.slice(from, to));
    }
  }

  #position(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }

  #report(severity: FileProblem['severity'], offset: number, key: string, message: string): void {
    this.problems.push({ severity, ...this.#position(offset), key, message });
  }

  #reportAt(field: string, message: string): void {
    const place = this.places.get(field);
    if (place !== undefined) this.problems.push({ severity: 'warning', ...place, message });
  }
}

/** Numbers of the file are of 32 bits in Contour. */
const MAX_INTEGER = 4_294_967_295;

function isNull(node: Node | null): node is null {
  return node === null || (isScalar(node) && node.value === null);
}

/** The text as it stands in the file: Go's decoder keeps `1.2` and `0x1f` as they are written. */
function textOf({ value, source }: Scalar): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}

function truthOf({ value, source = '', type }: Scalar): boolean | undefined {
  if (typeof value === 'boolean') return value;
  // YAML 1.1 forms, which upstream's decoder takes for a boolean.
  if (type !== 'PLAIN') return undefined;
  if (/^(y|yes|on)$/i.test(source)) return true;
  return /^(n|no|off)$/i.test(source) ? false : undefined;
}

/** The same key in another section. */
function elsewhere(name: string): string | undefined {
  return Object.keys(FILE_KEYS).find((path) => path.split('.').at(-1) === name);
}

function syntaxMessage(message: string): string {
  const text = message.split('\n')[0] ?? message;
  if (/Map keys must be unique/.test(text)) return 'the key is there twice; remove one of them';
  if (/Tabs are not allowed/i.test(text)) return 'there is a tab in the indentation; use spaces';
  return `the YAML cannot be read: ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}
