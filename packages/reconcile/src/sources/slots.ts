/** A limit on what is under way at the same time, first come, first served. */
export interface Slots {
  /** Resolves with the function that gives the slot back. When the signal is aborted first, no slot is taken. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();
  const release = () => {
    const [next] = waiting;
    if (next === undefined) {
      free++;
      return;
    }
    waiting.delete(next);
    next();
  };
  const once = (give: () => void) => {
    let isGiven = false;
    return () => {
      if (!isGiven) give();
      isGiven = true;
    };
  };
  return {
    async take(signal) {
      if (signal.aborted) return () => {};
      if (free > 0) {
        free--;
        return once(release);
      }
      return new Promise((resolve) => {
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve(once(release));
        };
        const leave = () => {
          waiting.delete(enter);
          resolve(() => {});
        };
        waiting.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
