// Lists of named entries, one laid over the other: the manager's entry replaces an entry of the template with the same name, in its place.
// Other entries of the manager come after the template's. No entry is there twice, because server-side apply would refuse that.

export interface Overlaid<T> {
  readonly list: readonly T[];
  /** Keys that the base had with other content. */
  readonly replaced: readonly string[];
}

/** The base with the entries laid over it by key. */
export function overlayBy<T>(
  base: readonly T[] | undefined,
  entries: readonly T[],
  keyOf: (entry: T) => string,
  isSame: (one: T, other: T) => boolean,
): Overlaid<T> {
  const over = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const list: T[] = [];
  const replaced: string[] = [];
  const seen = new Set<string>();
  for (const entry of lastOfEach(base ?? [], keyOf)) {
    const key = keyOf(entry);
    const instead = over.get(key);
    if (instead !== undefined && !isSame(entry, instead)) replaced.push(key);
    list.push(instead ?? entry);
    seen.add(key);
  }
  list.push(...lastOfEach(entries, keyOf).filter((entry) => !seen.has(keyOf(entry))));
  return { list, replaced };
}

/** Returns the last entry for each key, at the place of the first. The last one counts if a list has several. */
function lastOfEach<T>(list: readonly T[], keyOf: (entry: T) => string): T[] {
  return [...new Map(list.map((entry) => [keyOf(entry), entry])).values()];
}

/** Names as references, each once, the first place counting. */
export function references(...lists: readonly (readonly string[] | undefined)[]): { name: string }[] {
  const names = new Set(lists.flatMap((list) => list ?? []).filter((name) => name !== ''));
  return [...names].map((name) => ({ name }));
}
