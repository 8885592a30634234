/** Does the work for every item, so many at the same time. The work must not throw. */
export async function inTurns<T>(atOnce: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const turn = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, turn));
}
