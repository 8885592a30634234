// The strings of a run that came from sensitive kinds. Digests key them; derivations pass the knowledge on with their value.
// A string counts as sensitive when it is, contains, or is a piece of a string from a read of a sensitive object (a password, a line with
// the password, a password out of a file). Secrets hold base64: the decoded text counts as well, since reconcilers work with it. Counting
// too much is harmless, because the digest is merely keyed; counting too little would show an unkeyed hash of a secret.

/** A derivation's value that contains sensitive strings, with those strings. */
export interface Marked {
  readonly $value: unknown;
  readonly $sensitive: readonly string[];
}

export function isMarked(value: unknown): value is Marked {
  return typeof value === 'object' && value !== null && '$sensitive' in value;
}

/** Strings shorter than this are no secrets by themselves, and would mark too much else (`0`, `no`). */
const MIN_LENGTH = 3;
/** Pieces shorter than this are found in any long text by accident. */
const MIN_PIECE = 6;

/** Collects the strings in the value of a read of a sensitive object. */
export function collectSensitive(value: unknown, into: Set<string>): void {
  if (typeof value === 'string') {
    add(value, into);
    const decoded = decode(value);
    if (decoded !== undefined) add(decoded, into);
  } else if (Array.isArray(value)) {
    for (const item of value) collectSensitive(item, into);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of contentOf(value)) collectSensitive(part, into);
  }
}

/** The value with the sensitive strings that are in it; the value alone when there are none. */
export function marked(value: unknown, sensitive: ReadonlySet<string> | undefined): unknown {
  if (sensitive === undefined || sensitive.size === 0) return value;
  const found = new Set<string>();
  find(value, sensitive, found);
  // Sorted: an equal value must have equal marks, whatever order it was read in.
  return found.size === 0 ? value : ({ $value: value, $sensitive: [...found].toSorted() } satisfies Marked);
}

export function isSensitive(text: string, sensitive: ReadonlySet<string> | undefined): boolean {
  if (sensitive === undefined) return false;
  if (sensitive.has(text)) return true;
  for (const known of sensitive) {
    if (known.length < text.length ? text.includes(known) : text.length >= MIN_PIECE && known.includes(text))
      return true;
  }
  return false;
}

function find(value: unknown, sensitive: ReadonlySet<string>, found: Set<string>): void {
  if (typeof value === 'string') {
    if (isSensitive(value, sensitive)) found.add(value);
  } else if (value instanceof Uint8Array) {
    const text = Buffer.from(value).toString('base64');
    if (isSensitive(text, sensitive)) found.add(known(text, sensitive));
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) find(part, sensitive, found);
  }
}

/** The string that is known already, and kept elsewhere, instead of an equal one. */
function known(text: string, sensitive: ReadonlySet<string>): string {
  for (const each of sensitive) if (each === text) return each;
  return text;
}

/** Neither the names nor the labels of a whole object are sensitive; annotations may hold a copy of all the rest. */
function contentOf(value: object): readonly unknown[] {
  const { apiVersion, kind, metadata } = value as { apiVersion?: unknown; kind?: unknown; metadata?: unknown };
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata !== 'object')
    return Object.values(value);
  const { annotations } = (metadata ?? {}) as { annotations?: unknown };
  const { apiVersion: _version, kind: _kind, metadata: _metadata, type: _type, ...content } = value as Whole;
  return [annotations, ...Object.values(content)];
}

type Whole = Record<'apiVersion' | 'kind' | 'metadata' | 'type', unknown>;

function add(text: string, into: Set<string>): void {
  if (text.length >= MIN_LENGTH) into.add(text);
}

/** The text that a base64 string stands for; undefined when it is not base64, or holds bytes that are no text. */
function decode(text: string): string | undefined {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  try {
    return UTF8.decode(Buffer.from(text, 'base64'));
  } catch {
    return undefined;
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
