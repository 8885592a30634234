// Keys and signatures are made by worker threads, which the virtual clock cannot see: to it, a program that waits for one
// looks like a program that waits for time, and a minute would pass before the key is there. So a busy program gets a
// moment of real time to go on by itself, and further ones as long as threads are at work, which the processor time tells that
// the process uses besides this thread. One that is still busy then waits for the clock indeed, and is not waited for again
// until it has been idle.

const MOMENT_MS = 250;
/** How much of a moment is processor time when a thread is at work, on a machine that has others to serve too. */
const AT_WORK = 0.2;
/** Enough for any key; whatever takes longer is not a key. */
const PATIENCE_MS = 20_000;
const POLL_MS = 2;

/** For a clock's `outside`: whether a busy program has gone on while time stood still. */
export function createWorkerRest(isBusy: () => boolean): () => Promise<boolean> {
  let waitsForTime = false;
  return async () => {
    if (!isBusy()) {
      waitsForTime = false;
      return false;
    }
    if (waitsForTime) return false;
    const end = performance.now() + PATIENCE_MS;
    while (isBusy() && performance.now() < end && (await goesOn(isBusy)));
    waitsForTime = isBusy();
    return !waitsForTime;
  };
}

/** Waits for a moment, or until it is no longer busy; whether threads were at work. */
async function goesOn(isBusy: () => boolean): Promise<boolean> {
  const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
  const start = performance.now();
  while (isBusy() && performance.now() - start < MOMENT_MS)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const others = microseconds(process.cpuUsage(all)) - microseconds(process.threadCpuUsage(own));
  return others / 1000 > AT_WORK * (performance.now() - start);
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}
