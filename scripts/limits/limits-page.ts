// docs/limits.md, from the table of limits and the values in the code.
import { AREAS, type Limit, type Unit } from './limit-table.ts';

/** Reads a file of the tree by its path from the root. */
export type ReadFile = (path: string) => string;

export function limitsPage(read: ReadFile): string {
  const parts = AREAS.map(({ title, limits }) => {
    const rows = limits.map((limit) => {
      const value = shown(valueOf(limit, read(limit.file)), limit.unit);
      return `| ${limit.limits} | ${value} | ${limit.beyond} | \`${limit.name}\` in ${limit.file} |`;
    });
    return `## ${title}\n\n| limit of | value | beyond it | constant |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Limits

Generated from the code by \`npm run generate:limits\`. Nobody can occupy more than this with bytes from outside. Differences from Kubernetes are in
[embedded-differences.md](embedded-differences.md); [testing.md](testing.md#fuzzing) tells how the parsers are tested.

${parts.join('\n')}`;
}

/** The number that a constant, or the default of an option, has in a text. */
export function valueOf({ file, name }: Pick<Limit, 'file' | 'name'>, text: string): number {
  const [owner = '', field] = name.split('.');
  const source = field === undefined ? text : (new RegExp(`const ${owner}\\b[^{]*\\{([^}]*)\\}`).exec(text)?.[1] ?? '');
  const wanted = field ?? owner;
  // A constant ends with a semicolon, an option with a comma or a brace.
  const found = new RegExp(`(?:const ${wanted}(?:: \\w+)? = ([^;]+);|\\b${wanted}(?: =|:) ([\\d_][^,};]*))`).exec(
    source,
  );
  const expression = found?.[1] ?? found?.[2];
  const value = expression === undefined ? Number.NaN : evaluated(expression, text);
  if (!Number.isFinite(value)) throw new Error(`${file} has no number ${name}`);
  return value;
}

/** Sums of products of powers; names are constants of the same text. */
function evaluated(expression: string, text: string): number {
  const sum = expression.split('+').map((product) => {
    const powers = product.split(/(?<!\*)\*(?!\*)/).map((power) => {
      const [base = '', exponent = '1'] = power.split('**').map((part) => part.trim());
      return numberOf(base, text) ** numberOf(exponent, text);
    });
    return powers.reduce((result, power) => result * power, 1);
  });
  return sum.reduce((result, product) => result + product, 0);
}

function numberOf(part: string, text: string): number {
  if (/^[\d_]+$/.test(part)) return Number(part.replaceAll('_', ''));
  const definition = new RegExp(`const ${part} = ([^;]+);`).exec(text)?.[1];
  return definition === undefined ? Number.NaN : evaluated(definition, text);
}

function shown(value: number, unit: Unit): string {
  if (unit === 'bytes') return bytes(value);
  if (unit === 'ms') return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
  const number = value.toLocaleString('en-US');
  return unit === 'count' ? number : `${number} ${unit}`;
}

function bytes(value: number): string {
  for (const [unit, size] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (value >= size && value % (size / 4) === 0) return `${value / size} ${unit}`;
  }
  return `${value.toLocaleString('en-US')} bytes`;
}
