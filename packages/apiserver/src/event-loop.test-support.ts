/** The longest time for which this thread was busy without going back to its event loop, in milliseconds of the processor. */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  const now = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longest = 0;
  let last = now();
  // Time of the processor, not of the wall: a machine with other work must not fail a test.
  const timer = setInterval(() => {
    const at = now();
    longest = Math.max(longest, at - last);
    last = at;
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(longest, now() - last);
}
