// A probe over time: checks periodically, and changes its result only after as many equal checks in a row as its thresholds say.
import { type Clock, type Probe, sleep } from '@capstan/kube';
import type { CheckResult } from './check.ts';

export interface ProberOptions {
  probe: Probe;
  clock: Clock;
  /** One look; must end soon after its signal is aborted. */
  check(signal: AbortSignal): Promise<CheckResult>;
  /** Called whenever the mind changes, and once at the first certainty. */
  decided(isWell: boolean, why: CheckResult): void;
  /** Called for every look that found something wrong. */
  failed?(why: string): void;
  signal: AbortSignal;
}

/** Runs until the signal is aborted. */
export async function runProber({ probe, clock, check, decided, failed, signal }: ProberOptions): Promise<void> {
  const { initialDelaySeconds = 0, periodSeconds, timeoutSeconds, successThreshold, failureThreshold } = probe;
  let mind: boolean | undefined;
  let streak = 0;
  let last: boolean | undefined;
  try {
    if (initialDelaySeconds > 0) await sleep(clock, initialDelaySeconds * 1000, signal);
    for (;;) {
      const why = await limited(check, clock, (timeoutSeconds || 1) * 1000, signal);
      if (signal.aborted) return;
      const isWell = why === undefined;
      if (why !== undefined) failed?.(why);
      streak = isWell === last ? streak + 1 : 1;
      last = isWell;
      if (streak >= (isWell ? successThreshold || 1 : failureThreshold || 3) && mind !== isWell) {
        mind = isWell;
        decided(isWell, why);
      }
      await sleep(clock, (periodSeconds || 10) * 1000, signal);
    }
  } catch {
    // Stopped while waiting.
  }
}

async function limited(
  check: ProberOptions['check'],
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const limit = new AbortController();
  const timer = clock.after(ms, () => limit.abort());
  try {
    return await check(AbortSignal.any([limit.signal, signal]));
  } finally {
    timer.cancel();
  }
}
