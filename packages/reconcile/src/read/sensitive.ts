// Which strings of a run came from sensitive kinds. Digests key them; derivations pass the knowledge on with their value.

/** A derivation's value that contains strings of sensitive objects, with those strings. */
export interface Marked {
  readonly $value: unknown;
  readonly $sensitive: readonly string[];
}

export function isMarked(value: unknown): value is Marked {
  return typeof value === 'object' && value !== null && '$sensitive' in value;
}

/** Strings shorter than this are no secrets by themselves, and would mark too much else (`true`, `tls`). */
const MIN_LENGTH = 3;

/** Collects the strings in what a read of a sensitive object gave. */
export function collectSensitive(value: unknown, into: Set<string>): void {
  if (typeof value === 'string') {
    if (value.length >= MIN_LENGTH) into.add(value);
  } else if (Array.isArray(value)) {
    for (const item of value) collectSensitive(item, into);
  } else if (typeof value === 'object' && value !== null) {
    // Of a whole object only its data is sensitive; its names and labels are not.
    const { kind, data, stringData } = value as { kind?: unknown; data?: unknown; stringData?: unknown };
    if (kind === 'Secret') {
      collectSensitive(data, into);
      collectSensitive(stringData, into);
    } else for (const item of Object.values(value)) collectSensitive(item, into);
  }
}
