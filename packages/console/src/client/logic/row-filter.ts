// The filter language of the explorer: words that must all be found, and terms `is:`, `kind:`, `ns:`, `cluster:`, `operator:`, `reads:`.

export type FilterField = (typeof FIELDS)[number];

export interface FilterTerm {
  /** Undefined for a plain word. */
  readonly field?: FilterField;
  readonly value: string;
}

const FIELDS = ['is', 'kind', 'ns', 'cluster', 'operator', 'reads'] as const;

export function parseFilter(q: string): readonly FilterTerm[] {
  return q
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word): FilterTerm => {
      const colon = word.indexOf(':');
      const field = FIELDS.find((one) => one === word.slice(0, colon));
      return field === undefined ? { value: word } : { field, value: word.slice(colon + 1) };
    });
}

export function formatFilter(terms: readonly FilterTerm[]): string {
  return terms.map(({ field, value }) => (field === undefined ? value : `${field}:${value}`)).join(' ');
}

export function hasTerm(q: string, field: FilterField, value: string): boolean {
  return parseFilter(q).some((term) => term.field === field && term.value === value);
}

/** Adds a term, or removes it if it is there. One field has one value: rows match all terms. */
export function toggleTerm(q: string, field: FilterField, value: string): string {
  const terms = parseFilter(q);
  const others = terms.filter((term) => term.field !== field);
  return formatFilter(hasTerm(q, field, value) ? others : [...others, { field, value }]);
}

export interface FilteredRow {
  readonly id: string;
  readonly world: string;
  readonly kind: string;
  readonly key: string;
  readonly state: string;
  readonly operator?: string;
  readonly reason: string;
  readonly message: string;
}

/** Matches rows that are in the page; undefined for a filter that only the server can answer. */
export function localFilter(q: string): ((row: FilteredRow) => boolean) | undefined {
  const terms = parseFilter(q);
  if (terms.some(({ field }) => field === 'reads')) return undefined;
  return (row) => terms.every((term) => matches(row, term));
}

function matches(row: FilteredRow, { field, value }: FilterTerm): boolean {
  if (field === undefined) return `${row.id} ${row.reason} ${row.message}`.toLowerCase().includes(value.toLowerCase());
  if (field === 'is') return value === 'unready' ? row.state !== 'ready' && row.state !== 'none' : row.state === value;
  if (field === 'kind') return row.kind.toLowerCase().startsWith(value.toLowerCase());
  if (field === 'ns') return row.key.startsWith(`${value}/`);
  if (field === 'cluster') return (row.world === '' ? '-' : row.world) === value;
  return row.operator === value;
}
