// Keys and signatures are created by worker threads, which the virtual clock cannot see: to it, a program that waits for one
// looks like a program that waits for time, and a minute would pass before the key is there. So a busy program gets a
// moment of real time to go on by itself, and further ones as long as threads are at work: they use processor time, or wait for
// a processor that others use (Linux shows that). One that is still busy then waits for the clock indeed, and is not waited for
// again until it has been idle.
import { readdirSync, readFileSync } from 'node:fs';

const MOMENT_MS = 250;
/** How much of a moment is processor time when a thread is at work, on a machine that has others to serve too. */
const AT_WORK = 0.2;
/** Enough for any key; whatever takes longer is not a key. */
const PATIENCE_MS = 20_000;
const POLL_MS = 2;
/** How often threads are checked. */
const IDLE_CHECK_MS = 25;

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
  let [checks, running] = [0, 0];
  while (isBusy() && performance.now() - start < MOMENT_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (performance.now() - start < checks * IDLE_CHECK_MS) continue;
    checks++;
    if (hasRunningThread()) running++;
  }
  const others = microseconds(process.cpuUsage(all)) - microseconds(process.threadCpuUsage(own));
  return running * 2 > checks || others / 1000 > AT_WORK * (performance.now() - start);
}

/** Whether a thread besides this one runs, or would if it had a processor; false where that cannot be seen. */
function hasRunningThread(): boolean {
  try {
    const threads = readdirSync('/proc/self/task').filter((id) => id !== String(process.pid));
    // After the name, which is in parentheses and may hold anything, comes the state.
    return threads.some((id) => /\) R [^)]*$/.test(readFileSync(`/proc/self/task/${id}/stat`, 'utf8')));
  } catch {
    // Not Linux, or a thread ended meanwhile.
    return false;
  }
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}
