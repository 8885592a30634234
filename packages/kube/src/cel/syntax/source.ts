/** A problem at an offset of the text. */
export interface Issue {
  readonly at: number;
  readonly message: string;
}

const MAX_ISSUES = 100;
const MAX_SNIPPET = 16_384;

/** Formats issues as CEL does, each with its line and a mark below its position. */
export function formatIssues(text: string, issues: readonly Issue[]): string {
  const lines = text.split(/\n/);
  const placed = issues.slice(0, MAX_ISSUES).map(({ at, message }) => {
    const before = text.slice(0, at).split('\n');
    return { line: before.length, column: Array.from(before.at(-1) ?? '').length, message };
  });
  placed.sort((a, b) => a.line - b.line || a.column - b.column);
  const shown = placed.map(({ line, column, message }) => {
    const source = (lines[line - 1] ?? '').replaceAll('\t', ' ');
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
    if (source.length > MAX_SNIPPET) return head;
    const characters = Array.from(source);
    // Put wide marks below characters outside ASCII, which are often displayed wide, so that the mark stays in place.
    const dots = characters.slice(0, column).map((char) => (char > '\u007f' ? '\uff0e' : '.'));
    const mark = (characters[column] ?? '') > '\u007f' ? '\uff3e' : '^';
    return `${head}\n | ${source}\n | ${dots.join('')}${mark}`;
  });
  if (issues.length > MAX_ISSUES) shown.push(`${issues.length - MAX_ISSUES} more errors were truncated`);
  return shown.join('\n');
}
