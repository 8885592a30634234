import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aboveCeilings, commentLines, countPatterns } from './comment-patterns.ts';

const SOURCE = [
  '/** What goes is removed last. */',
  "const address = 'http://what/of';",
  'const at = 1; // Of a flag this says nothing.',
  '/**',
  ' * A comment of two lines.',
  ' * The server said no.',
  ' */',
  '// What would follow from this change?',
  'const what = `// What is this`;',
].join('\n');

describe('patterns of comments', () => {
  test('comments are found at the start of a line, behind code and in blocks, but not in strings', () => {
    assert.deepEqual(
      commentLines(SOURCE).filter((line) => line !== ''),
      [
        'What goes is removed last.',
        'Of a flag this says nothing.',
        'A comment of two lines.',
        'The server said no.',
        'What would follow from this change?',
      ],
    );
  });

  test('each pattern is counted once for each line, and questions are allowed', () => {
    assert.deepEqual(countPatterns(commentLines(SOURCE)), {
      '"what" as a noun': 1,
      'a sentence starts with "What"': 1,
      'a sentence starts with "Of"': 1,
      '"says" or "said"': 2,
    });
  });

  test('a count above its ceiling is reported with both numbers', () => {
    const counts = countPatterns(commentLines(SOURCE));
    assert.deepEqual(aboveCeilings(counts, counts), []);
    const problems = aboveCeilings(counts, { ...counts, '"says" or "said"': 1 });
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', /occurs 2 times \(at most 1\)/);
  });
});
