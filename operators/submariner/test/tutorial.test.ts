// The tutorial runs as written: a broker and three clusters, with gateways as processes and simulated cables.
import { test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';

test('the tutorial runs as written', { skip: tutorialSkip(), timeout: 420_000 }, (t) =>
  runTutorial({ page: 'submariner.md', after: (end) => t.after(end) }),
);
