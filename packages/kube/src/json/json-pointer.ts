// JSON Pointer (RFC 6901): `/spec/containers/0`, with `~1` for a slash and `~0` for a tilde within a name.

/** The names that lead from the root to a value; undefined when the text does not begin with a slash (or is not empty). */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  const [first, ...names] = pointer.split('/');
  return first === '' ? names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
}

export function formatPointer(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
