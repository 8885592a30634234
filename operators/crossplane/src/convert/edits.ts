// Changes to a text by place. Everything between them stays byte for byte.

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The part of the text from `from` to `to` with the edits made; they must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[], from = 0, to: number = text.length): string {
  let result = '';
  let at = from;
  // Two insertions at one place keep their order.
  for (const edit of edits.toSorted((left, right) => left.start - right.start)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at, to);
}

/** How many characters stand before the place in its line. */
export function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}

/** The place after the end of the line, and whether there is one. */
export function lineEnd(text: string, offset: number): { at: number; hasBreak: boolean } {
  const found = text.indexOf('\n', offset);
  return found < 0 ? { at: text.length, hasBreak: false } : { at: found + 1, hasBreak: true };
}

/** The line breaks of a text. */
export function breakOf(text: string): string {
  return /\r\n/.test(text) ? '\r\n' : '\n';
}
