export interface VisibleRows {
  readonly first: number;
  /** After the last one. */
  readonly end: number;
  /** The height of the rows before the first one. */
  readonly above: number;
  readonly below: number;
}

const SPARE_ROWS = 8;

/** Selects the rows that are in view, and a few beyond each edge. */
export function visibleRows(count: number, rowHeight: number, scrollTop: number, viewHeight: number): VisibleRows {
  const inView = Math.ceil(Math.max(0, viewHeight) / rowHeight);
  const top = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), count - inView));
  const first = Math.max(0, top - SPARE_ROWS);
  const end = Math.min(count, top + inView + SPARE_ROWS);
  return { first, end, above: first * rowHeight, below: (count - end) * rowHeight };
}
