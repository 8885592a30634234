/** The results of the work of one side, by key. */
export type Work = ReadonlyMap<string, string>;

/** Throws if the sides of a measurement did not end with the same results: their times are no comparison then. */
export function assertSameWork(sides: readonly { readonly name: string; readonly work: Work }[]): void {
  const [first, ...others] = sides;
  if (first === undefined) return;
  for (const other of others) {
    const keys = new Set([...first.work.keys(), ...other.work.keys()]);
    const differing = [...keys].filter((key) => first.work.get(key) !== other.work.get(key));
    const [key] = differing;
    if (key === undefined) continue;
    const shown = (work: Work) => work.get(key) ?? 'nothing';
    throw new Error(
      `${first.name} and ${other.name} did different work (${differing.length} of ${keys.size} results): ${key} is ${shown(first.work)} and ${shown(other.work)}`,
    );
  }
}
