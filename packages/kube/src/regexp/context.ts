import type { Assertion } from './syntax.ts';

/** The neighbour of a position: the edge of the text, a newline, a word character, or another character. */
export type Side = 0 | 1 | 2 | 3;
export const EDGE: Side = 0;
export const LINE: Side = 1;
export const IN_WORD: Side = 2;
export const OTHER: Side = 3;

export function sideOf(code: number): Side {
  if (code === 0x0a) return LINE;
  const isWord =
    (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
  return isWord ? IN_WORD : OTHER;
}

/** Whether an assertion holds between two neighbours. */
export function holdsBetween(assertion: Assertion, before: Side, after: Side): boolean {
  switch (assertion) {
    case 'text-start':
      return before === EDGE;
    case 'text-end':
      return after === EDGE;
    case 'line-start':
      return before === EDGE || before === LINE;
    case 'line-end':
      return after === EDGE || after === LINE;
    case 'word':
      return (before === IN_WORD) !== (after === IN_WORD);
    case 'not-word':
      return (before === IN_WORD) === (after === IN_WORD);
  }
}
