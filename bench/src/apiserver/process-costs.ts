// The cost of another process, as the system counts it. Linux reports everything under /proc; elsewhere there is the memory only, and
// figures that need the rest are left out.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const IS_LINUX = process.platform === 'linux';

/** MB of memory that the processes have in use. */
export function residentMegabytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0);
}

function residentOf(pid: number): number {
  const kilobytes = IS_LINUX
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return (Number(kilobytes) * 1024) / 1e6;
}

/** MB of that which is its own and no file's; undefined where the system does not tell. */
export function anonymousMegabytes(pid: number): number | undefined {
  if (!IS_LINUX) return undefined;
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kilobytes === undefined ? undefined : (Number(kilobytes) * 1024) / 1e6;
}

/** Milliseconds of processor time of all their threads that are still there; undefined where the system does not tell. */
export function processorMilliseconds(pids: readonly number[]): number | undefined {
  if (!IS_LINUX) return undefined;
  const threads = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`),
  );
  return threads.reduce((sum, thread) => sum + schedule(thread).ran, 0);
}

/** Milliseconds that its main thread has been ready while the cores were others'; 0 where the system does not tell. */
export function waitedForCoreBy(pid: number): number {
  return mainThreadOf(pid).waited;
}

/** Milliseconds that its main thread has run, and waited for a core; 0 where the system does not tell. */
export function mainThreadOf(pid: number): Schedule {
  return IS_LINUX ? schedule(`/proc/${pid}`) : { ran: 0, waited: 0 };
}

export interface Schedule {
  readonly ran: number;
  readonly waited: number;
}

function schedule(folder: string): Schedule {
  try {
    const [ran, waited] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ');
    return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 };
  } catch {
    // A thread that has just ended, or a kernel without these statistics.
    return { ran: 0, waited: 0 };
  }
}
