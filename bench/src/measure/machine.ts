import { cpus, loadavg, totalmem } from 'node:os';

/** Where figures come from: without it they mean nothing. */
export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  /** GiB. */
  readonly memory: number;
  /** Of the last minute, the bench included: well above one means that others were at work too, and figures are worse for it. */
  readonly load: number;
  readonly date: string;
}

export function machine(now: Date): Machine {
  const [first] = cpus();
  return {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpu: first?.model.trim() || 'unknown',
    cores: cpus().length,
    memory: Number((totalmem() / 2 ** 30).toFixed(1)),
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
    date: now.toISOString(),
  };
}
