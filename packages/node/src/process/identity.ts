// Which process a number means. Numbers are used again, so a process is known by its number together with the moment at
// which it started, and nothing is ever ended that does not have both.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface ProcessIdentity {
  pid: number;
  /** In whatever unit the system reports it; equal for the same process only. */
  startedAt: string;
}

/** Undefined when there is no such process, or when the system does not tell. */
export async function identityOf(pid: number): Promise<ProcessIdentity | undefined> {
  const startedAt = process.platform === 'linux' ? await linuxStart(pid) : await psStart(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await identityOf(identity.pid))?.startedAt === identity.startedAt;
}

/** Clock ticks since the boot, and which boot. A process that has ended and not been collected counts as gone. */
async function linuxStart(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The name, in parentheses, may hold any character; the fields after it are regular.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${boot.trim()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

async function psStart(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
