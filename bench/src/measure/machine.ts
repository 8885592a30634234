import { spawnSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

/** Where figures come from: without it they mean nothing. */
export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  /** GiB. */
  readonly memory: number;
  /** The load of the minute before the run, without the bench itself. */
  readonly load: number;
  /** True if the load was above 4 before the run: other programs were at work, and the figures are no measurement. */
  readonly isBusy: boolean;
  /** The commit that was measured, with `+` if files differ from it; `unknown` outside of a checkout. */
  readonly commit: string;
  readonly date: string;
}

/** Describes this machine. Call it before the run, so that the load is that of other programs. */
export function machine(now: Date): Machine {
  const [first] = cpus();
  const load = Number((loadavg()[0] ?? 0).toFixed(1));
  return {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpu: first?.model.trim() || 'unknown',
    cores: cpus().length,
    memory: Number((totalmem() / 2 ** 30).toFixed(1)),
    load,
    isBusy: load > BUSY_LOAD,
    commit: commit(),
    date: now.toISOString(),
  };
}

const BUSY_LOAD = 4;

function commit(): string {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' });
  const head = git('rev-parse', '--short=12', 'HEAD');
  if (head.status !== 0) return 'unknown';
  const isChanged = git('status', '--porcelain', '--untracked-files=no').stdout !== '';
  return `${head.stdout.trim()}${isChanged ? '+' : ''}`;
}
