// Samples of the programs that run all the time: memory, files and sockets by /proc, the rest by their metrics and by the time of an answer.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { RunningProgram } from './programs.ts';
import type { Series } from './verdict.ts';

/** The figures with the rise that is noise. */
const FIGURES = {
  memory: { by: 'median', unit: 'MB', noise: 8 },
  'open files': { by: 'peak', unit: 'files', noise: 3 },
  sockets: { by: 'peak', unit: 'sockets', noise: 3 },
  'heap in use': { by: 'median', unit: 'MB', noise: 8 },
  'active handles': { by: 'peak', unit: 'handles', noise: 4 },
  'queue depth': { by: 'median', unit: 'items', noise: 3 },
  'event-loop delay': { by: 'median', unit: 'ms', noise: 50 },
  'time of an answer': { by: 'median', unit: 'ms', noise: 50 },
} as const;
export type Figure = keyof typeof FIGURES;

export interface Recorder {
  readonly series: readonly Series[];
  /** Takes one sample of each program. Returns the problems of programs that gave none. */
  sample(minute: number, programs: readonly RunningProgram[]): Promise<readonly string[]>;
  add(program: string, figure: Figure, minute: number, value: number): void;
}

export function createRecorder(): Recorder {
  const all = new Map<string, Series & { points: { minute: number; value: number }[] }>();
  const add: Recorder['add'] = (program, figure, minute, value) => {
    const key = `${program} ${figure}`;
    const series = all.get(key) ?? { program, figure, ...FIGURES[figure], points: [] };
    series.points.push({ minute, value });
    all.set(key, series);
  };
  return {
    get series() {
      return [...all.values()];
    },
    add,
    async sample(minute, programs) {
      const problems: string[] = [];
      for (const { name, pid, metrics, ended } of programs) {
        if (ended !== undefined) {
          problems.push(`${name} ${ended}`);
          continue;
        }
        for (const [figure, value] of ofProcess(pid)) add(name, figure, minute, value);
        if (metrics === undefined) continue;
        const text = await scrape(metrics);
        if (text === undefined) problems.push(`${name} does not answer requests for its metrics`);
        else for (const [figure, value] of ofMetrics(text)) add(name, figure, minute, value);
      }
      return problems;
    },
  };
}

function ofProcess(pid: number): [Figure, number][] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const files = readdirSync(`/proc/${pid}/fd`);
  const isSocket = (file: string) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${file}`).startsWith('socket:');
    } catch {
      return false;
    }
  };
  return [
    ['memory', (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6],
    ['open files', files.length],
    ['sockets', files.filter(isSocket).length],
  ];
}

const SCRAPE_LIMIT_MS = 20_000;

async function scrape(address: string): Promise<string | undefined> {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(SCRAPE_LIMIT_MS) });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the figures of the metrics of a program. */
export function ofMetrics(text: string): [Figure, number][] {
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    );
  return [
    ['heap in use', sum('nodejs_heap_size_used_bytes') / 1e6],
    ['active handles', sum('nodejs_active_resources')],
    ['queue depth', sum('workqueue_depth')],
    ['event-loop delay', sum('nodejs_eventloop_lag_mean_seconds') * 1000],
  ];
}
