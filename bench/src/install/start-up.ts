// The cost of a command before it does anything: the processor time of the built program, with its compile cache filled.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '@capstan/apiserver';
import { systemClock } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { packProgram, ROOT } from './built.ts';

const ROUNDS = { full: 9, tiny: 2 };

export const startUp: Part = {
  name: 'start-up',
  summary: 'processor time of capstan version and capstan status',
  async measure(scale) {
    const { folder } = await packProgram();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'));
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0 });
    try {
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
      const program = join(folder, 'package/bin/capstan.js');
      const tmp = mkdtempSync(join(folder, 'tmp-'));
      const rounds = async (command: string) => {
        const values: number[] = [];
        for (let round = -1; round < ROUNDS[scale]; round++)
          values.push(await cpuOf([program, command], kubeconfig, tmp));
        // The first fills the cache.
        return values.slice(1);
      };
      return [
        result({ name: 'processor time of capstan version', unit: 'ms', rounds: await rounds('version'), below: 80 }),
        result({ name: 'processor time of capstan status', unit: 'ms', rounds: await rounds('status'), below: 300 }),
      ];
    } finally {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Returns the processor time of the program and its children, as the shell counts it. */
async function cpuOf(args: readonly string[], kubeconfig: string, tmp: string): Promise<number> {
  const script = 'TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null 2>/dev/null';
  const child = spawn('bash', ['-c', script, process.execPath, ...args], {
    env: { ...process.env, KUBECONFIG: kubeconfig, TMPDIR: tmp },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await new Promise((resolve) => child.once('close', resolve));
  return printed
    .trim()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds) * 1000, 0);
}
