// Memory while a large image is pulled. Its registry runs in another process, so that only our own memory is measured.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRegistrySource } from '@capstan/crossplane';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';

const SIZES = { full: { bytes: 200 * 2 ** 20, rounds: 3 }, tiny: { bytes: 2 ** 20, rounds: 1 } };

export const largeImage: Part = {
  name: 'large-image',
  summary: 'memory and time for an image of 200 MB whose every layer is searched for the package',
  async measure(scale) {
    const { bytes, rounds } = SIZES[scale];
    const registry = await startRegistryProcess(bytes);
    const folder = await mkdtemp(join(tmpdir(), 'capstan-bench-'));
    try {
      // A small one first, so that code and connections are there before anything is measured.
      await pull(registry.images.small, join(folder, 'warm'), registry.address);
      let round = 0;
      const measured = await roundsOf(rounds, () =>
        pull(registry.images.large, join(folder, `cold-${round++}`), registry.address),
      );
      return [
        result({
          name: `large image: memory while ${bytes / 2 ** 20} MB are pulled`,
          unit: 'MB more',
          rounds: measured.map(({ more }) => more / 2 ** 20),
          ...(scale === 'full' ? { below: 100 } : {}),
        }),
        result({ name: 'large image: time', unit: 's', rounds: measured.map(({ ms }) => ms / 1000) }),
      ];
    } finally {
      registry.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const POLL_MS = 10;

async function pull(image: string, cacheDir: string, registry: string): Promise<{ more: number; ms: number }> {
  const source = createRegistrySource({ cacheDir, registry });
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, POLL_MS);
  try {
    const ms = await millisecondsOf(async () => {
      const found = await source.pull(image, { secrets: [], signal: new AbortController().signal });
      if ('fault' in found) throw new Error(found.fault);
    });
    return { more: Math.max(most, process.memoryUsage.rss()) - before, ms };
  } finally {
    clearInterval(watching);
  }
}

interface RegistryProcess {
  readonly address: string;
  readonly images: { readonly small: string; readonly large: string };
  stop(): void;
}

async function startRegistryProcess(bytes: number): Promise<RegistryProcess> {
  const script = join(import.meta.dirname, 'large-registry-process.ts');
  const child = spawn(process.execPath, [script, String(bytes)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`the registry ended with ${code}`)));
  });
  return { ...(JSON.parse(line) as Omit<RegistryProcess, 'stop'>), stop: () => void child.kill() };
}
