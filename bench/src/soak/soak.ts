// `npm run soak`: all operators on several clusters under edits and faults, with samples and checks all the time. A cycle takes about a
// minute: edits and faults, then peace until everything has settled, then the checks of a settled world.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@capstan/testing';
import { drawPlot } from '../report/plot.ts';
import type { Area } from './areas/area.ts';
import { cablesArea } from './areas/cables.ts';
import { createCertificates } from './areas/certificates.ts';
import { discoveryArea } from './areas/discovery.ts';
import { ingressArea } from './areas/ingress.ts';
import { kafkaArea } from './areas/kafka.ts';
import { packagesArea } from './areas/packages.ts';
import { podsArea } from './areas/pods.ts';
import { createFaults } from './faults.ts';
import { answerTime, guardObjects, searchLogs, writesAtRest } from './invariants.ts';
import type { SoakOptions } from './options.ts';
import { createRecorder, type Recorder } from './samples.ts';
import { type Stage, startStage } from './stage.ts';
import { startTraffic } from './traffic.ts';
import { formatVerdicts, judge } from './verdict.ts';

/**
 * The caches of all programs fill in this time, their heaps are compacted once, and grow again to the size of the work. The minutes are
 * counted from its end.
 */
const WARM_UP_MS = 180_000;
const SAMPLE_MS = 2000;
const CHURN_MS = 35_000;
const EDIT_MS = 300;
/** Caches may be stale for 50 s behind a link that forwards nothing, and weights wait for a fresh sync after a drain. */
const SETTLE_LIMIT_MS = 180_000;

/** Runs a soak. Returns the problems; a sound soak has none. The signal ends it early, with all its programs. */
export async function soak(
  options: SoakOptions,
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-soak-'));
  let stage: Stage | undefined;
  try {
    stage = await startStage(folder, report, signal);
    return await run(stage, options, report, signal);
  } finally {
    await stage?.close();
    mkdirSync(options.out, { recursive: true });
    rmSync(join(options.out, 'logs'), { recursive: true, force: true });
    renameOrDrop(join(folder, 'logs'), join(options.out, 'logs'));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(
  stage: Stage,
  options: SoakOptions,
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { hub, members } = stage;
  const problems = createProblems(report);
  const certificates = await createCertificates(30);
  const areas: readonly Area[] = [
    kafkaArea(hub, certificates),
    ingressArea(hub, certificates),
    discoveryArea(hub, members),
    cablesArea(hub, members),
    packagesArea(hub),
    podsArea({ capstan: hub, ...members }),
  ];
  const edited = areas.filter(({ edit, name }) => edit !== undefined && name !== 'cables');
  for (const area of areas) await area.prepare?.();
  const traffic = await startTraffic(hub);
  if (traffic.missing !== undefined) report(`No traffic: ${traffic.missing}`);
  const recorder = createRecorder();
  const start = performance.now() + WARM_UP_MS;
  const minute = () => (performance.now() - start) / 60_000;
  const isOver = () => signal.aborted || minute() >= options.minutes;
  const watching = watch(stage, areas, recorder, minute, isOver, problems.add);
  const random = createRandom(options.seed);
  const faults = createFaults(stage);
  const logs = searchLogs(() => certificates.canaries);
  let edits = 0;
  try {
    while (!isOver()) {
      const until = performance.now() + CHURN_MS;
      const churn = async () => {
        while (performance.now() < until && !signal.aborted) {
          // Cables settle slowly: a change of the driver in each second would never come to rest.
          const area = random.chance(0.02) ? areas[3] : random.pick(edited);
          await area?.edit?.(random);
          edits++;
          await sleep(EDIT_MS);
        }
      };
      const attack = async () => {
        const choices = random.fork(`faults ${edits}`);
        while (performance.now() < until && !signal.aborted) report(`${at(minute())} ${await faults.cause(choices)}`);
      };
      await Promise.all([churn(), attack()]);
      await faults.heal();
      const begun = performance.now();
      const left = await settle(areas, signal, (waiting) => report(`${at(minute())} waiting: ${waiting.join('; ')}`));
      problems.add(left.map((problem) => `not settled after ${SETTLE_LIMIT_MS / 1000} s: ${problem}`));
      if (left.length === 0) problems.add(await writesAtRest(hub));
      problems.add(logs(stage.logs()));
      report(
        `${at(minute())} settled after ${((performance.now() - begun) / 1000).toFixed(1)} s; ${edits} edits, ${traffic.answered} requests, ${problems.found().length} problems`,
      );
    }
  } finally {
    await traffic.stop();
    await watching.catch((error: unknown) => problems.add([`the checks ended: ${String(error)}`]));
  }
  problems.add([...traffic.failures].map(([reason, count]) => `${count} requests through Envoy failed: ${reason}`));
  const verdicts = recorder.series.map((series) => judge(series, options.minutes));
  problems.add(verdicts.filter(({ isFlat }) => !isFlat).map(({ program, figure }) => `${figure} of ${program} grows`));
  report(formatVerdicts(verdicts));
  save(recorder, options, problems.found());
  return problems.found();
}

/** Samples and checks rules that hold under faults, until the end. */
async function watch(
  { hub, server, steady }: Stage,
  areas: readonly Area[],
  recorder: Recorder,
  minute: () => number,
  isOver: () => boolean,
  add: (problems: readonly string[]) => void,
): Promise<void> {
  const guarded = guardObjects(hub);
  while (!isOver()) {
    const next = sleep(SAMPLE_MS);
    const answer = await answerTime(hub);
    const now = minute();
    // Samples of the warm-up are not part of any window.
    if (now >= 0) recorder.add(server.name, 'time of an answer', now, answer);
    add(await recorder.sample(now, steady));
    add(await guarded());
    for (const area of areas) add((await area.broken?.()) ?? []);
    await next;
  }
}

const REPORT_MS = 30_000;

async function settle(
  areas: readonly Area[],
  signal: AbortSignal,
  report: (waiting: readonly string[]) => void,
): Promise<readonly string[]> {
  const deadline = performance.now() + SETTLE_LIMIT_MS;
  let reportAt = performance.now() + REPORT_MS;
  for (;;) {
    const left: string[] = [];
    for (const area of areas) left.push(...(await area.unsettled()));
    if (left.length === 0 || signal.aborted || performance.now() > deadline) return left;
    if (performance.now() > reportAt) {
      report(left);
      reportAt += REPORT_MS;
    }
    await sleep(500);
  }
}

/** Collects problems, each once. */
function createProblems(report: (line: string) => void) {
  const found = new Set<string>();
  return {
    found: () => [...found],
    add(problems: readonly string[]) {
      for (const problem of problems) {
        if (found.has(problem)) continue;
        found.add(problem);
        report(`PROBLEM: ${problem}`);
      }
    },
  };
}

function save(recorder: Recorder, { out, minutes, seed }: SoakOptions, problems: readonly string[]): void {
  mkdirSync(out, { recursive: true });
  for (const [figure, group] of Map.groupBy(recorder.series, (series) => series.figure)) {
    const lines = group.map(({ program, points }) => ({
      label: program,
      points: points.filter((point) => point.minute >= 0).map((point) => ({ x: point.minute, y: point.value })),
    }));
    const [first] = group;
    const title = `soak: ${figure}`;
    const svg = drawPlot({ title, xLabel: 'minutes', yLabel: first?.unit ?? '', scale: 'linear', lines });
    writeFileSync(join(out, `${figure.replaceAll(' ', '-')}.svg`), svg);
  }
  writeFileSync(join(out, 'soak.json'), `${JSON.stringify({ minutes, seed, problems, series: recorder.series })}\n`);
}

const at = (minute: number) => `[${minute.toFixed(1)}]`;

/** Moves a folder if it is there and on the same device. */
function renameOrDrop(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!['EXDEV', 'ENOENT'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
