/** The keys of each unit. Most units have one: a text takes a fraction of the memory of a set. */
export interface UnitKeys {
  readonly size: number;
  units(): Iterable<string>;
  has(unit: string): boolean;
  /** In order. */
  of(unit: string): readonly string[];
  add(unit: string, key: string): void;
  delete(unit: string, key: string): void;
}

export function createUnitKeys(): UnitKeys {
  const all = new Map<string, string | readonly string[]>();
  const of = (unit: string): readonly string[] => {
    const keys = all.get(unit) ?? [];
    return typeof keys === 'string' ? [keys] : keys;
  };
  return {
    get size() {
      return all.size;
    },
    units: () => all.keys(),
    has: (unit) => all.has(unit),
    of,
    add(unit, key) {
      const keys = of(unit);
      if (keys.length === 0) all.set(unit, key);
      else if (!keys.includes(key)) all.set(unit, [...keys, key].toSorted());
    },
    delete(unit, key) {
      const left = of(unit).filter((one) => one !== key);
      const [first] = left;
      if (first === undefined) all.delete(unit);
      else all.set(unit, left.length === 1 ? first : left);
    },
  };
}
