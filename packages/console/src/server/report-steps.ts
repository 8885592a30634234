// Earlier bodies of reports that have time steps. A report is followed from its first request on: after changes it is evaluated again, and
// a body that differs in the part that the operator names is a step.
import { type Clock, equal, formatTime } from '@capstan/kube';
import type { StepsAnswer } from '../api-types.ts';
import type { ConsoleReport } from './source.ts';

export interface ReportSteps {
  /** Takes the present body in, and returns the answer for a step; without `at` the present one. */
  answer(asked: AskedReport, body: unknown, at: string | undefined): unknown;
  /** Objects changed. */
  changed(): void;
  close(): void;
}

interface AskedReport {
  readonly report: ConsoleReport;
  readonly key: string;
}

interface Followed extends AskedReport {
  readonly steps: Step[];
}

interface Step {
  /** RFC 3339. */
  readonly at: string;
  readonly part: unknown;
  readonly body: unknown;
}

const MAX_FOLLOWED = 8;
const MAX_STEPS = 20;
const REST_MS = 500;

export function createReportSteps(clock: Clock, reports: () => readonly ConsoleReport[]): ReportSteps {
  const followed = new Map<string, Followed>();
  let cancel: (() => void) | undefined;

  function take(one: Followed, body: unknown): void {
    const part = one.report.stepOf?.(body);
    const last = one.steps.at(-1);
    if (last !== undefined && equal(last.part, part)) {
      one.steps[one.steps.length - 1] = { ...last, body };
      return;
    }
    one.steps.push({ at: formatTime(clock.now()), part, body });
    one.steps.splice(0, one.steps.length - MAX_STEPS);
  }

  /** A step before the first request is known only where its report was followed: the pages of all keys are, as many as fit. */
  async function followAll(signal: AbortSignal): Promise<void> {
    for (const report of reports()) {
      if (report.stepKeys === undefined) continue;
      const body = await report.body('', signal).catch(() => undefined);
      if (body?.state !== 'value') continue;
      for (const key of report.stepKeys(body.value)) {
        const name = `${report.name}/${key}`;
        if (followed.size < MAX_FOLLOWED && !followed.has(name)) followed.set(name, { report, key, steps: [] });
      }
    }
  }

  async function look(): Promise<void> {
    const gone = new AbortController();
    await followAll(gone.signal);
    for (const [name, one] of followed) {
      try {
        const body = await one.report.body(one.key, gone.signal);
        if (body.state === 'none') followed.delete(name);
        else if (body.state === 'value') take(one, body.value);
      } catch {
        // The page reports the error of its own request.
      }
    }
  }

  return {
    answer({ report, key }, body, at) {
      const name = `${report.name}/${key}`;
      const one: Followed = followed.get(name) ?? { report, key, steps: [] };
      // Set again, so that the map is in the order of the last requests.
      followed.delete(name);
      followed.set(name, one);
      for (const oldest of followed.keys()) if (followed.size > MAX_FOLLOWED) followed.delete(oldest);
      take(one, body);
      const found = at === undefined ? one.steps.length - 1 : one.steps.findIndex((step) => step.at === at);
      const shown = one.steps[found] ?? one.steps.at(-1);
      const before = one.steps[(found < 0 ? one.steps.length : found + 1) - 2];
      const steps: StepsAnswer<unknown> = {
        steps: one.steps.map((step) => step.at),
        step: shown?.at ?? '',
        ...(before !== undefined && { before: before.body }),
      };
      return { ...(shown?.body as object), ...steps };
    },
    changed() {
      if (cancel !== undefined || !reports().some(({ stepOf }) => stepOf !== undefined)) return;
      const timer = clock.after(REST_MS, () => {
        cancel = undefined;
        void look();
      });
      cancel = () => timer.cancel();
    },
    close() {
      cancel?.();
      followed.clear();
    },
  };
}
