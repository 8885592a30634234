// `sesame migrate config` on a long file, start-up included: the program is started as a user starts it.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execPath } from 'node:process';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';

const SIZES = { full: { lines: 500, warmUp: 2, rounds: 15 }, tiny: { lines: 40, warmUp: 1, rounds: 1 } };
const PROGRAM = resolve(import.meta.dirname, '../../../apps/capstan/src/programs/sesame.mjs');

export const migration: Part = {
  name: 'migration',
  summary: 'the migration of a configuration file of 500 lines',
  async measure(scale) {
    const { lines, warmUp, rounds } = SIZES[scale];
    const folder = await mkdtemp(join(tmpdir(), 'sesame-migration-'));
    try {
      const file = join(folder, 'sesame.yaml');
      await writeFile(file, fileOf(lines));
      const samples: number[] = [];
      for (let round = 0; round < warmUp + rounds; round++) {
        const elapsed = await migrate(file);
        if (round >= warmUp) samples.push(elapsed);
      }
      return [
        result({
          name: `sesame migrate config, ${lines} lines, start-up included`,
          unit: 'ms',
          rounds: samples,
          ...(scale === 'full' ? { below: 300 } : {}),
        }),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Every kind of value, and many headers with comments. */
function fileOf(lines: number): string {
  const head = [
    '# The configuration of Sesame.',
    'debug: false',
    'accesslog-format: json',
    'json-fields:',
    '  - "@timestamp"',
    '  - method',
    'tls:',
    '  minimum-protocol-version: 1.3',
    'timeouts:',
    '  request-timeout: 30s',
    'policy:',
    '  request-headers:',
    '    set:',
  ];
  const rest = Array.from({ length: Math.max(0, lines - head.length) }, (_, index) =>
    index % 5 === 0 ? `      # Header ${index}.` : `      X-Header-${index}: value-${index}`,
  );
  return `${[...head, ...rest].join('\n')}\n`;
}

function migrate(file: string): Promise<number> {
  const elapsed = stopwatch();
  return new Promise((done, fail) => {
    const child = spawn(execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, 'migrate', 'config', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', fail);
    child.on('exit', (code) =>
      code === 0 ? done(elapsed()) : fail(new Error(`sesame migrate config ended with ${code}`)),
    );
  });
}
