// Counts patterns in comments that make a reader read twice (docs/style.md, "Sentences"). The ceilings in comment-ceilings.json only go
// down: `npm run check` fails above them, and `npm run format` lowers them to the present counts.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOfWorkspace, root } from './workspace-files.ts';

/** A pattern that comments avoid. */
export const PATTERNS = {
  '"what" as a noun': /\bwhat\b(?![^.]*\?)/i,
  'a sentence starts with "What"': /(?:^|[.:;!?] )What\b(?![^.]*\?)/,
  'a sentence starts with "Of"': /(?:^|[.:;!?] )Of\b/,
  '"says" or "said"': /\b(?:says|said)\b/i,
} as const;

export type Pattern = keyof typeof PATTERNS;
export type Counts = Record<Pattern, number>;

/** Returns the text of each comment line of a source file, without the comment's marks. */
export function commentLines(source: string): string[] {
  const found: string[] = [];
  let isInBlock = false;
  for (const line of source.split('\n')) {
    const text = line.trim();
    if (isInBlock || text.startsWith('/*')) {
      found.push(
        text
          .replace(/^\/?\*+\/?/, '')
          .replace(/\*\/$/, '')
          .trim(),
      );
      isInBlock = !text.endsWith('*/');
      continue;
    }
    const comment = /(?:^|\s)\/\/ (.*)$/.exec(withoutStrings(line));
    if (comment?.[1] !== undefined) found.push(line.slice(line.length - comment[1].length).trim());
  }
  return found;
}

/** Blanks out quoted text, so that an address or a message is not taken for a comment. The length stays the same. */
function withoutStrings(line: string): string {
  const start = line.search(/^\s*\/\//);
  if (start !== -1) return line;
  return line.replaceAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, (text) => '_'.repeat(text.length));
}

/** Counts the comment lines in which each pattern occurs. */
export function countPatterns(lines: readonly string[]): Counts {
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return Object.fromEntries(Object.entries(PATTERNS).map(([name, pattern]) => [name, count(pattern)])) as Counts;
}

/** Returns a message for each pattern that occurs more often than its ceiling allows. */
export function aboveCeilings(counts: Counts, ceilings: Counts): string[] {
  return (Object.keys(PATTERNS) as Pattern[]).flatMap((name) =>
    counts[name] > ceilings[name]
      ? [
          `comments: ${name} occurs ${counts[name]} times (at most ${ceilings[name]}); name the subject, as docs/style.md shows`,
        ]
      : [],
  );
}

/** Checks all comments of the workspace, and lowers the ceilings where `fix` is given. Returns false if a ceiling is exceeded. */
export function checkComments(fix: boolean): boolean {
  const file = join(root, 'scripts', 'comment-ceilings.json');
  const ceilings = JSON.parse(readFileSync(file, 'utf8')) as Counts;
  const sources = filesOfWorkspace().filter((path) => /\.(?:ts|tsx|mjs)$/.test(path) && !path.includes('/gen/'));
  const counts = countPatterns(sources.flatMap((path) => commentLines(readFileSync(join(root, path), 'utf8'))));
  const problems = aboveCeilings(counts, ceilings);
  for (const problem of problems) console.error(problem);
  if (fix) {
    const lower = (Object.keys(PATTERNS) as Pattern[]).map((name) => [name, Math.min(counts[name], ceilings[name])]);
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
  }
  return problems.length === 0;
}
