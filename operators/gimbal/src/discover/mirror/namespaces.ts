/** Which namespaces (or projects) are checked. */
export interface NamespaceFilter {
  /** Globs; none: all. */
  readonly include: readonly string[];
  /** Globs; they win over `include`. */
  readonly exclude: readonly string[];
}

/** `*` stands for any characters, `?` for one. */
export function namespaceFilter({ include, exclude }: NamespaceFilter): (namespace: string) => boolean {
  const included = include.map(globOf);
  const excluded = exclude.map(globOf);
  return (namespace) =>
    (included.length === 0 || included.some((glob) => glob.test(namespace))) &&
    !excluded.some((glob) => glob.test(namespace));
}

function globOf(text: string): RegExp {
  const pattern = text
    .split(/([*?])/)
    .map((part) => (part === '*' ? '.*' : part === '?' ? '.' : RegExp.escape(part)))
    .join('');
  return new RegExp(`^${pattern}$`, 's');
}
