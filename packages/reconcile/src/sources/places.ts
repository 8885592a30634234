/** A limited number of places: work that finds none waits, first come, first served. */
export interface Places {
  /** Resolves to a function that releases the place, as soon as there is one; to undefined when the signal is aborted before. */
  enter(signal: AbortSignal): Promise<(() => void) | undefined>;
}

export function createPlaces(count: number): Places {
  let free = Math.max(1, count);
  const waiting = new Set<() => void>();

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) free++;
    else next();
  }

  return {
    async enter(signal) {
      if (signal.aborted) return undefined;
      if (free > 0) {
        free--;
        return leave;
      }
      const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
      const give = () => settle(leave);
      const giveUp = () => settle(undefined);
      const settle = (answer: typeof leave | undefined) => {
        waiting.delete(give);
        signal.removeEventListener('abort', giveUp);
        resolve(answer);
      };
      waiting.add(give);
      signal.addEventListener('abort', giveUp, { once: true });
      return promise;
    },
  };
}
