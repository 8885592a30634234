// From `capstan console` on the demonstration to a page that reacts, and the memory that the console costs `capstan up` while no page is open.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import type { Part } from '../bench.ts';
import { packProgram, ROOT } from '../install/built.ts';
import { IMAGE_ENVIRONMENT } from '../measure/image-environment.ts';
import { result } from '../measure/result.ts';
import { findBrowser, openBrowser } from './chromium.ts';

const SIZES = { full: { rounds: 5, pairs: 2, restMs: 90_000 }, tiny: { rounds: 1, pairs: 1, restMs: 100 } };
const MB = 1024;

export const start: Part = {
  name: 'start',
  summary: 'capstan console on the demonstration until its page reacts, and the cost of a console without a page',
  lacks: () => (findBrowser() === undefined ? 'chromium is not there: npm run setup:real -- browser' : undefined),
  async measure(scale) {
    const { rounds, pairs, restMs } = SIZES[scale];
    const isFull = scale === 'full';
    const { folder } = await packProgram();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'));
    const program = join(folder, 'package/bin/capstan.js');
    const chromium = await openBrowser();
    const usable: number[] = [];
    const costs: number[] = [];
    try {
      const up = await startUp(program, []);
      try {
        for (let round = 0; round < rounds; round++) usable.push(await usableAfter(program, up.kubeconfig, chromium));
      } finally {
        await up.stop();
      }
      for (let pair = 0; pair < pairs; pair++) {
        const kilobytes: number[] = [];
        for (const flags of [['--console=false'], []]) {
          const one = await startUp(program, flags);
          await new Promise((resolve) => setTimeout(resolve, restMs));
          kilobytes.push(one.memory());
          await one.stop();
        }
        costs.push(((kilobytes[1] ?? 0) - (kilobytes[0] ?? 0)) / MB);
      }
    } finally {
      await chromium.close();
      rmSync(folder, { recursive: true, force: true });
    }
    return [
      result({
        name: 'capstan console on the demonstration, until the page reacts',
        unit: 's',
        rounds: usable,
        ...(isFull && { atMost: 1.5 }),
        note: 'from the start of the built program: its address is opened at once in a browser that runs',
      }),
      result({
        name: 'memory that the console costs capstan up with no page open',
        unit: 'MB',
        rounds: costs,
        ...(isFull && { atMost: 5 }),
        note: 'proportional set size of the demonstration with and without it, at rest',
      }),
    ];
  },
};

interface RunningUp {
  readonly kubeconfig: string;
  /** Kilobytes. */
  memory(): number;
  stop(): Promise<void>;
}

async function startUp(program: string, flags: readonly string[]): Promise<RunningUp> {
  const data = mkdtempSync(join(tmpdir(), 'capstan-bench-console-'));
  const args = ['up', '--demo', '--listen', '127.0.0.1:0', '--data', data, '-o', 'json', ...flags];
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...IMAGE_ENVIRONMENT },
  });
  await lineOf(child, (line) => (line.includes('"event":"ready"') ? line : undefined));
  return {
    kubeconfig: join(data, 'kubeconfig'),
    memory() {
      const [, text = '0'] =
        /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid ?? 0}/smaps_rollup`, 'utf8')) ?? [];
      return Number(text);
    },
    async stop() {
      await ended(child);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Seconds from the start of the program until the search of the page, which needs the page's own code, opens by a key. */
async function usableAfter(program: string, kubeconfig: string, chromium: Browser): Promise<number> {
  const page = await (await chromium.newContext()).newPage();
  const begun = performance.now();
  const child = spawn(process.execPath, [program, 'console', '--kubeconfig', kubeconfig, '--context', 'capstan'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await page.goto(await lineOf(child, (line) => (line.startsWith('http') ? line.trim() : undefined)));
    // The overview is there, with its operators; kinds that still load are marked.
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    return (performance.now() - begun) / 1000;
  } finally {
    await page.context().close();
    await ended(child);
  }
}

function lineOf(child: ChildProcess, pick: (line: string) => string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new TypeError('the program was started without a pipe');
    createInterface(child.stdout).on('line', (line) => {
      const found = pick(line);
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the program ended with ${code}`)));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGINT');
  await once(child, 'exit');
}
