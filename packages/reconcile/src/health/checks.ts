import { type Clock, type Logger, reasonOf } from '@capstan/kube/cluster';
import { within } from '../within.ts';

/** True when all is well; otherwise what is not, in a few words that anybody may read. What it throws is logged and not shown. */
export type Check = (signal: AbortSignal) => true | string | Promise<true | string>;

export type Checks = Readonly<Record<string, Check>>;

export interface CheckResult {
  name: string;
  isOk: boolean;
  /** Why not. */
  reason?: string;
}

/** A check that hangs counts as failed after this. */
const LIMIT_MS = 5_000;

/** Runs all checks at once; the results are in the order of the checks. */
export function runChecks(checks: Checks, clock: Clock, logger: Logger): Promise<CheckResult[]> {
  return Promise.all(Object.entries(checks).map(([name, check]) => runCheck(name, check, clock, logger)));
}

async function runCheck(name: string, check: Check, clock: Clock, logger: Logger): Promise<CheckResult> {
  try {
    const result = await within(clock, LIMIT_MS, undefined, async (signal) => check(signal));
    return result === true ? { name, isOk: true } : { name, isOk: false, reason: reasonOf(result) };
  } catch (error) {
    logger.warn('a health check threw', { check: name, error });
    return { name, isOk: false, reason: 'reason withheld, see the log' };
  }
}
