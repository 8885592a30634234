// Mutants that no test kills, with the reason. Most of them change no result that can be observed.
export interface Survivor {
  readonly file: string;
  /** As `npm run mutate -- cores` prints it. */
  readonly id: string;
  readonly reason: string;
}

export const SURVIVORS: readonly Survivor[] = [];
