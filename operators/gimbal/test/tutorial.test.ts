// The tutorial runs as written: three clusters, and discoverers as processes.
import { test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';

test('the tutorial runs as written', { skip: tutorialSkip(), timeout: 300_000 }, (t) =>
  runTutorial({ page: 'gimbal.md', after: (end) => t.after(end) }),
);
