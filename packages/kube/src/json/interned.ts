const NAMES: Record<string, string> = Object.create(null) as Record<string, string>;

/**
 * The same text, of which the process keeps one copy however often it was read or put together: V8 has one of each text that was used as
 * the name of a field, and gives it up with the last user. For keys and names that are kept for long; it costs a tenth of a microsecond.
 */
export function interned(text: string): string {
  return NAMES[text] ?? text;
}

/** Shorter ones are interned by the parser; long ones are seldom equal. */
const SHORTEST = 11;
const LONGEST = 64;

/** Interns the texts of a parsed value, which itself stays as it is, but for fields that differ from object to object. */
export function internTexts(value: unknown, except: ReadonlySet<string>): void {
  if (typeof value === 'string') {
    if (value.length >= SHORTEST && value.length <= LONGEST) interned(value);
  } else if (Array.isArray(value)) {
    for (const item of value) internTexts(item, except);
  } else if (typeof value === 'object' && value !== null) {
    for (const field in value) {
      if (!except.has(field)) internTexts((value as Readonly<Record<string, unknown>>)[field], except);
    }
  }
}
