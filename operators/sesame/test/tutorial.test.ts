// The tutorial runs as written, with a real Envoy.
import { test } from 'node:test';
import { runTutorial, tutorialSkip } from '@capstan/testing/tutorial';
import { missingEnvoy, realFolder } from './real/envoy.ts';

test('the tutorial runs as written', { skip: missingEnvoy() || tutorialSkip(), timeout: 300_000 }, (t) =>
  runTutorial({ page: 'sesame.md', env: { CAPSTAN_REAL: realFolder() }, after: (end) => t.after(end) }),
);
