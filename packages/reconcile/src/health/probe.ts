import type { Clock, Logger } from '@capstan/kube/cluster';
import { type CheckResult, type Checks, runChecks } from './checks.ts';

export interface ProbeAnswer {
  status: number;
  body: string;
}

/**
 * Answers a probe as the API server does: `ok` and 200 when every check passes, a line for each check and 500 otherwise.
 * `?verbose` always lists the checks, `?exclude=NAME` leaves one out, and `path/NAME` asks for one alone.
 */
export async function answerProbe(
  name: string,
  only: string | undefined,
  query: URLSearchParams,
  checks: Checks,
  clock: Clock,
  logger: Logger,
): Promise<ProbeAnswer> {
  const all: Checks = { ping: () => true, ...checks };
  const excluded = new Set(query.getAll('exclude'));
  const chosen = Object.entries(all).filter(([check]) => (only === undefined ? !excluded.has(check) : check === only));
  if (chosen.length === 0 && only !== undefined) return { status: 404, body: `there is no check ${only}\n` };
  const results = await runChecks(Object.fromEntries(chosen), clock, logger);
  const isOk = results.every((result) => result.isOk);
  if (isOk && !query.has('verbose')) return { status: 200, body: 'ok' };
  const unknown = [...excluded].filter((check) => !(check in all));
  const lines = [
    ...results.map(line),
    ...[...excluded].filter((check) => check in all).map((check) => `[+]${check} excluded: ok`),
    ...unknown.map((check) => `warn: there is no check ${check} to exclude`),
    `${name} check ${isOk ? 'passed' : 'failed'}`,
  ];
  return { status: isOk ? 200 : 500, body: `${lines.join('\n')}\n` };
}

function line({ name, isOk, reason }: CheckResult): string {
  if (isOk) return `[+]${name} ok${reason === undefined ? '' : `: ${reason}`}`;
  return `[-]${name} failed: ${reason}`;
}
