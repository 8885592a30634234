// Several reconcilers of one kind write their parts of one status, often because of the same change. Their writes are guarded by the
// version that they were computed from, so of those that go out together all but one would be refused, read the object and be repeated:
// four writes would be sixteen requests. So they go out one after the other, each based on the result of the one before.

/** Runs the work after earlier work on the same key has ended; its argument is whether it had to wait. */
export type Turns = <T>(id: string, work: (hasWaited: boolean) => Promise<T>) => Promise<T>;

export function createTurns(): Turns {
  /** The last one in each line. */
  const last = new Map<string, Promise<void>>();
  return async (id, work) => {
    const before = last.get(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    last.set(id, promise);
    try {
      await before;
      return await work(before !== undefined);
    } finally {
      if (last.get(id) === promise) last.delete(id);
      resolve();
    }
  };
}
