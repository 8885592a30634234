// From the tarball in an empty folder to a cluster that is ready; the download of dependencies is not counted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { installTarball, packProgram } from './built.ts';

const ROUNDS = { full: 3, tiny: 1 };

export const laptop: Part = {
  name: 'laptop',
  summary: 'from the tarball in an empty folder to a running cluster',
  async measure(scale) {
    const { folder, tarball } = await packProgram();
    try {
      // Fills npm's cache.
      installTarball(tarball, join(folder, 'first'));
      const seconds: number[] = [];
      for (let round = 0; round < ROUNDS[scale]; round++) {
        const home = join(folder, `round-${round}`);
        mkdirSync(home);
        const start = performance.now();
        installTarball(tarball, home);
        const args = [join(home, 'node_modules/.bin/capstan'), 'up', '--listen', ':0', '-o', 'json'];
        const up = spawn(process.execPath, args, { cwd: home, stdio: ['ignore', 'pipe', 'ignore'] });
        for await (const line of createInterface({ input: up.stdout })) if (line.includes('"ready"')) break;
        seconds.push((performance.now() - start) / 1000);
        up.kill('SIGTERM');
        await once(up, 'exit');
      }
      return [result({ name: 'from the tarball to a running cluster', unit: 's', rounds: seconds, below: 15 })];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
