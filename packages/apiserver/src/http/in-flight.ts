/** Counts what is under way, so that a flood is turned away instead of filling the memory. */
export interface InFlight {
  /** Undefined: full. Otherwise what to call, once, when the request is over. */
  enter(what: 'reads' | 'writes'): (() => void) | undefined;
}

export function createInFlight(limits: { reads: number; writes: number }): InFlight {
  const now = { reads: 0, writes: 0 };
  return {
    enter(what) {
      if (now[what] >= limits[what]) return undefined;
      now[what] += 1;
      return () => {
        now[what] -= 1;
      };
    },
  };
}
