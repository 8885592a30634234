// Random clients against random changes: the state of a client never breaks, and ends as the store is.
import { test } from 'node:test';
import { runs } from '@capstan/testing';
import { playClient } from './state-machine.test-support.ts';

const STEPS = 200;

/** Seeds that once failed, each with the mistake that it found. */
const KEPT: Readonly<Record<number, string>> = {
  17: 'a refused response brought back a name that the client had dropped',
  53: 'hosts were sent although the client had dropped their routes',
  594: 'an edit of a bad resource while it was refused led to the blame of others',
  632: 'routes waited for endpoints that the client refused',
  2355: 'a removal waited for routes that were left out',
  4188: 'routes waited for a cluster that was left out',
  4644: 'a secret that a client refused was sent to it for ever',
  1468: 'routes waited for endpoints that were left out',
  4223: 'a client that began again with nothing was not sent what it had before',
};

for (const [seed, title] of Object.entries(KEPT))
  test(`kept: ${title}`, () => playClient({ seed: Number(seed), steps: STEPS }));

test('a client that answers anything, or nothing, ends with what the store has', () => {
  const first = runs(1, 1, 'CAPSTAN_FUZZ_SEED');
  for (let seed = first; seed < first + runs(10_000, 1_000_000, 'CAPSTAN_FUZZ_INPUTS') / STEPS; seed += 1) {
    try {
      playClient({ seed, steps: STEPS, hasRestarts: seed % 2 === 0 });
    } catch (error) {
      throw new Error(`CAPSTAN_FUZZ_SEED=${seed} CAPSTAN_FUZZ_INPUTS=${STEPS}: ${String(error)}`, { cause: error });
    }
  }
});
