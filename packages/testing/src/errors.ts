// Every error that the test tools raise themselves.

export function reentrantClock(): Error {
  return new Error(
    'The virtual clock was asked to run while it is running: call advance and runUntilIdle from the test only, one after the other.',
  );
}

export function endlessYields(turns: number, now: number): Error {
  return new Error(
    `The virtual clock waited ${turns} turns at ${instant(now)} for the code under test to rest, and it still yields: look for a loop around clock.yield() that nothing ends.`,
  );
}

export function endlessTimers(fired: number, now: number): Error {
  return new Error(
    `The virtual clock fired ${fired} timers at ${instant(now)} without time passing: look for a timer of 0 ms that sets itself again.`,
  );
}

function instant(now: number): string {
  return new Date(now).toISOString();
}
