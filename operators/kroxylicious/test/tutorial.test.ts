// Runs the tutorial as written, with simulated pods.
import { test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';

test('the tutorial runs as written', { skip: tutorialSkip(), timeout: 240_000 }, (t) =>
  runTutorial({ page: 'kroxylicious.md', after: (end) => t.after(end) }),
);
