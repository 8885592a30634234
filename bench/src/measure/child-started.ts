import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Resolves when a program prints its event `started`; rejects with the end of its errors when it ends or takes too long. */
export async function childStarted(name: string, child: ChildProcess, limitMs: number): Promise<void> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new TypeError(`${name}: started without pipes`);
  let output = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-2000);
  });
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${name}: not started in time: ${output}`)), limitMs);
    createInterface(stdout).on('line', (line) => {
      if (!line.includes('"event":"started"')) return;
      clearTimeout(timer);
      resolve();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      reject(new Error(`${name}: ended with code ${code ?? 'none'} before it had started: ${output}`));
    });
  });
}
