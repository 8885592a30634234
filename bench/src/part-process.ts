import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Bench, Part, Scale } from './bench.ts';
import type { Result } from './measure/result.ts';

/** Measures a part in a process of its own, under the same options of Node as this one. */
export async function runInProcess(bench: Bench, part: Part, scale: Scale, isPeer: boolean): Promise<Result[]> {
  const flags = [...(scale === 'tiny' ? ['--tiny'] : []), ...(isPeer ? ['--peer'] : [])];
  const args = [bench.name, '--only', part.name, '--here', '--json', ...flags];
  const child = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, 'main.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`its process ended with code ${code ?? 'none'}; what it said is above`);
  return (JSON.parse(text) as { results: Result[] }).results;
}
