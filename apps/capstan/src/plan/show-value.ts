/** A value on one line, as JSON; shortened in the middle unless all of it is asked for. */
export function showValue(value: unknown, isWhole: boolean): string {
  const text = JSON.stringify(value) ?? 'nothing';
  if (isWhole || text.length <= MAX) return text;
  // Not in the middle of a character of two units.
  return `${text.slice(0, MAX - TAIL - 1)}…${text.slice(-TAIL)}`.toWellFormed();
}

const MAX = 72;
/** Digests and versions differ at their end. */
const TAIL = 16;
