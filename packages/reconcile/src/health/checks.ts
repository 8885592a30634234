import { type Clock, type Logger, reasonOf } from '@capstan/kube/cluster';
import { within } from '../within.ts';

/** The result of a check: true or a detail to show if it passed; otherwise the problem, in a few words. */
export type CheckOutcome = true | string | { readonly detail: string };

/** Any client may read its result. An error that it throws is logged and not shown. */
export type Check = (signal: AbortSignal) => CheckOutcome | Promise<CheckOutcome>;

export type Checks = Readonly<Record<string, Check>>;

export interface CheckResult {
  name: string;
  isOk: boolean;
  /** Why not; or, where all is well, a detail. */
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
    if (result === true) return { name, isOk: true };
    if (typeof result === 'object') return { name, isOk: true, reason: result.detail };
    return { name, isOk: false, reason: reasonOf(result) };
  } catch (error) {
    logger.warn('a health check threw', { check: name, error });
    return { name, isOk: false, reason: 'reason withheld, see the log' };
  }
}
