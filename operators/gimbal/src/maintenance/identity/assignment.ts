/**
 * The cheapest way to pair rows with columns, where each may also stay alone, and every other way that costs the same.
 * Costs are whole numbers; undefined: the two cannot be a pair.
 */
export interface AssignmentInput {
  readonly rows: number;
  readonly columns: number;
  cost(row: number, column: number): number | undefined;
  /** The cost of leaving a row, or a column, unpaired. */
  rowAlone(row: number): number;
  columnAlone(column: number): number;
}

/** By column: the rows that it is paired with in some cheapest way; undefined among them: alone in one of these. */
export function cheapestPairs(input: AssignmentInput): (number | undefined)[][] {
  const { rows, columns } = input;
  const size = rows + columns;
  // Row i alone is the pair (i, columns + i); column j alone is the pair (rows + j, j).
  const costOf = (row: number, column: number): number => {
    if (row < rows && column < columns) return input.cost(row, column) ?? IMPOSSIBLE;
    if (row < rows) return column - columns === row ? input.rowAlone(row) : IMPOSSIBLE;
    if (column < columns) return row - rows === column ? input.columnAlone(column) : IMPOSSIBLE;
    return 0;
  };
  const { rowOf, isTight } = hungarian(size, costOf);
  const columnOf = Array.from({ length: size }, () => 0);
  for (const [column, row] of rowOf.entries()) columnOf[row] = column;

  // A pair is part of some cheapest way if it lies on a circle of pairs that cost nothing more.
  const next = (row: number) => rowOf.filter((_row, column) => column !== columnOf[row] && isTight(row, column));
  const reached = Array.from({ length: size }, (_row, from) => {
    const seen = new Set<number>();
    const open = [from];
    for (let row = open.pop(); row !== undefined; row = open.pop())
      for (const other of next(row).filter((one) => !seen.has(one))) {
        seen.add(other);
        open.push(other);
      }
    return seen;
  });
  return Array.from({ length: columns }, (_column, column) => {
    const now = rowOf[column] ?? 0;
    const all = Array.from({ length: size }, (_row, row) => row).filter(
      (row) => row === now || (isTight(row, column) && costOf(row, column) < IMPOSSIBLE && reached[now]?.has(row)),
    );
    return all.map((row) => (row < rows ? row : undefined));
  });
}

const IMPOSSIBLE = 2 ** 40;
const filled = <T>(length: number, value: T): T[] => Array.from({ length }, () => value);

/** The Hungarian method with potentials: O(n³), for the few rules and entries that are not found again at first sight. */
function hungarian(size: number, cost: (row: number, column: number) => number) {
  const rowPotential = filled(size + 1, 0);
  const columnPotential = filled(size + 1, 0);
  // Counted from 1: 0 is the column that the search begins in.
  const matched = filled(size + 1, 0);
  for (let row = 1; row <= size; row++) {
    matched[0] = row;
    const from = filled(size + 1, 0);
    const least = filled(size + 1, Number.MAX_SAFE_INTEGER);
    const used = filled<boolean>(size + 1, false);
    let column = 0;
    do {
      used[column] = true;
      const at = matched[column] as number;
      let delta = Number.MAX_SAFE_INTEGER;
      let best = 0;
      for (let other = 1; other <= size; other++) {
        if (used[other]) continue;
        const reduced = cost(at - 1, other - 1) - (rowPotential[at] as number) - (columnPotential[other] as number);
        if (reduced < (least[other] as number)) {
          least[other] = reduced;
          from[other] = column;
        }
        if ((least[other] as number) < delta) {
          delta = least[other] as number;
          best = other;
        }
      }
      for (let other = 0; other <= size; other++) {
        if (used[other]) {
          rowPotential[matched[other] as number] = (rowPotential[matched[other] as number] as number) + delta;
          columnPotential[other] = (columnPotential[other] as number) - delta;
        } else least[other] = (least[other] as number) - delta;
      }
      column = best;
    } while (matched[column] !== 0);
    while (column !== 0) {
      const previous = from[column] as number;
      matched[column] = matched[previous] as number;
      column = previous;
    }
  }
  const isTight = (row: number, column: number) =>
    cost(row, column) - (rowPotential[row + 1] as number) - (columnPotential[column + 1] as number) === 0;
  return { rowOf: matched.slice(1).map((row) => row - 1), isTight };
}
