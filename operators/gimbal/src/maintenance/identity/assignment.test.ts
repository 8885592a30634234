import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { cheapestPairs } from './assignment.ts';

type Pairing = (number | undefined)[];

/** All pairings of a small table, with their costs. */
function allPairings(costs: (number | undefined)[][], rowAlone: number[], columnAlone: number[]) {
  const found: { cost: number; pairs: Pairing }[] = [];
  const go = (column: number, pairs: Pairing, cost: number) => {
    if (column === columnAlone.length) {
      const alone = rowAlone.reduce((sum, each, row) => sum + (pairs.includes(row) ? 0 : each), 0);
      found.push({ cost: cost + alone, pairs });
      return;
    }
    go(column + 1, [...pairs, undefined], cost + (columnAlone[column] as number));
    for (const [row, line] of costs.entries()) {
      const each = line[column];
      if (each !== undefined && !pairs.includes(row)) go(column + 1, [...pairs, row], cost + each);
    }
  };
  go(0, [], 0);
  return found;
}

test('the pairs are those of all cheapest ways, and of no other', () => {
  const size = fc.record({ rows: fc.nat(4), columns: fc.nat(4) });
  const table = size.chain(({ rows, columns }) =>
    fc.record({
      costs: fc.array(fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: columns, maxLength: columns }), {
        minLength: rows,
        maxLength: rows,
      }),
      rowAlone: fc.array(fc.nat(3), { minLength: rows, maxLength: rows }),
      columnAlone: fc.array(fc.nat(3), { minLength: columns, maxLength: columns }),
    }),
  );
  fc.assert(
    fc.property(table, ({ costs, rowAlone, columnAlone }) => {
      const all = allPairings(costs, rowAlone, columnAlone);
      const least = Math.min(...all.map(({ cost }) => cost));
      const cheapest = all.filter(({ cost }) => cost === least);
      const expected = columnAlone.map((_alone, column) => new Set(cheapest.map(({ pairs }) => pairs[column])));
      const found = cheapestPairs({
        rows: costs.length,
        columns: columnAlone.length,
        cost: (row, column) => costs[row]?.[column],
        rowAlone: (row) => rowAlone[row] as number,
        columnAlone: (column) => columnAlone[column] as number,
      });
      assert.deepEqual(
        found.map((rows) => new Set(rows)),
        expected,
      );
    }),
    { numRuns: 2000 },
  );
});
