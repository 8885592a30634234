import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTerminationMessage } from './termination-message.ts';

function after(...chunks: string[]): string {
  const words = createTerminationMessage();
  for (const chunk of chunks) words.hear(Buffer.from(chunk));
  return words.text();
}

test('last words are all that was said, if it was little', () => {
  assert.equal(after(), '');
  assert.equal(after('one\nt', 'wo\n'), 'one\ntwo');
});

test('the last words are the last 80 lines and the last 2048 bytes', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`);
  assert.equal(after(`${lines.join('\n')}\n`), lines.slice(-80).join('\n'));
  assert.equal(after(`${'a'.repeat(2000)}\n`, `${'b'.repeat(1000)}\n`), `${'a'.repeat(1046)}\n${'b'.repeat(1000)}`);
  assert.equal(after('c'.repeat(5000)), 'c'.repeat(2048));
});
