// How much a test does. `npm test` runs long simulations, kills and generated sequences with few seeds, so that it takes
// minutes; `npm test -- --full` (and .ci/full) runs all of them.

/** Whether everything is to run, however long it takes. */
export const isFullRun = process.env['CAPSTAN_FULL'] === 'true';

/** How many seeds, rounds or cases: a few usually, all in a full run. A number in the variable counts before both. */
export function runs(usual: number, full: number, variable?: string): number {
  const given = variable === undefined ? undefined : process.env[variable];
  return given === undefined ? (isFullRun ? full : usual) : Number(given);
}
