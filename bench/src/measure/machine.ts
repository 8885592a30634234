import { cpus, totalmem } from 'node:os';

/** Where figures come from: without it they mean nothing. */
export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  /** GiB. */
  readonly memory: number;
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
    date: now.toISOString(),
  };
}
