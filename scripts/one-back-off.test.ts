// The project has one exponential back-off with one rule of jitter, in packages/kube/src/client/back-off.ts. A wait that doubles by hand,
// or that is spread by a rule of its own, fails here; the few that are no back-off are listed with the reason.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesOfWorkspace, root } from './workspace-files.ts';

const RULE = 'packages/kube/src/client/back-off.ts';

/** A factor that is raised to a count, and a variable that is multiplied up to a limit or by itself. */
const GROWS = [
  /\* (?:2|[a-z_]+) \*\* \(?[a-z]/i,
  /Math\.min\((?:[\d.]+ \* \w+|\w+ \* [\d.]+),/,
  /Math\.min\(\w+, (?:[\d.]+ \* \w+|\w+ \* [\d.]+)\)/,
  /\b\w*(?:wait|delay|pause|retry|backoff)\w* (?:\*=|<<=)/i,
  /\b\w*(?:wait|delay|pause|retry|backoff)\w* = \w*(?:wait|delay|pause|retry|backoff)\w* \* /i,
];

/** Randomness that is a part of a time: a share that is added or taken off. */
const SPREADS = [/\([\d.]+ [-+] [^()]*\brandom\(\)/, /(?:_MS|Ms) \* random\(\)/];

const ALLOWED: Readonly<Record<string, string>> = {
  'packages/apiserver/src/http/list-pieces.ts': 'a number of items, not a wait',
  'packages/apiserver/src/watch/watch.ts': 'the length of a watch, as a kube-apiserver draws it',
  'packages/console/src/client/logic/event-source.ts': 'it runs in a browser, which does not load the libraries',
  'packages/node/src/replica-set/replica-set-controller.ts': 'a number of pods, not a wait',
  'packages/testing/src/fuzz/run-target.ts': 'a number of inputs, not a wait',
  'packages/reconcile/src/events/recorder.ts': 'the first retry of an Event at random within its period, as client-go',
  'packages/reconcile/src/leadership/leader-election.ts':
    'the period in which candidates look at a lease, as client-go',
};

const sources = filesOfWorkspace().filter(
  (file) =>
    /^(?:packages|operators|apps)\/[^/]+\/src\/.*\.(?:ts|mjs)$/.test(file) && !/\.test(?:-support)?\.ts$/.test(file),
);

const matches = (patterns: readonly RegExp[], text: string) =>
  text.split('\n').some((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line) && patterns.some((pattern) => pattern.test(line)));

test('only one function computes growing waits, and one rule spreads them', () => {
  const found = sources.filter((file) => matches([...GROWS, ...SPREADS], readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(found.toSorted(), [RULE, ...Object.keys(ALLOWED)].toSorted());
});

test('a second back-off is recognised in the forms in which one is written', () => {
  const forms = [
    'const wait = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);',
    'const pause = FIRST_MS * FACTOR ** tries;',
    'wait = Math.min(2 * wait, LONGEST_MS);',
    'wait = Math.min(LONGEST_MS, wait * 1.5);',
    'pauseMs *= FACTOR;',
    'retryMs = retryMs * 2;',
    'await sleep(clock, wait * (1 + JITTER * random()), signal);',
    'const delay = base * (0.5 + random() / 2);',
    'return RETRY_MS * random();',
  ];
  for (const form of forms) assert.ok(matches([...GROWS, ...SPREADS], form), form);
  assert.ok(!matches([...GROWS, ...SPREADS], 'const wait = backOff(failures, BACK_OFF, random);'));
});
