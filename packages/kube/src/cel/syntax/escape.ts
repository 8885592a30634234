// Names of properties in expressions. Characters that an identifier cannot have are escaped, and so are CEL's reserved words.

const RESERVED = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return var ' +
    'void while'
  ).split(' '),
);
const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** Returns the identifier of a property, or undefined if it has none and rules cannot see it. */
export function escapeProperty(name: string): string | undefined {
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[.\-/]/g, (part) => ESCAPES[part] as string);
}
