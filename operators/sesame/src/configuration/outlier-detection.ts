// Outlier detection is the same for a service of an HTTPProxy and in the configuration: here are its rules and defaults.
import { parseDuration } from '@capstan/kube/values';
import { type ProblemReason, shown } from './problem.ts';

/** As HTTPProxies and the configuration have it. */
export interface OutlierDetectionSpec {
  readonly disabled?: boolean | undefined;
  readonly consecutiveServerErrors?: number | undefined;
  readonly splitExternalLocalOriginErrors?: boolean | undefined;
  readonly consecutiveLocalOriginFailures?: number | undefined;
  readonly interval?: string | undefined;
  readonly baseEjectionTime?: string | undefined;
  readonly maxEjectionTime?: string | undefined;
  readonly maxEjectionPercent?: number | undefined;
}

/** Envoy's own, except the percentage: with 10 % a service of a few endpoints would never leave one out. */
export const OUTLIER_DEFAULTS = {
  consecutiveServerErrors: 5,
  consecutiveLocalOriginFailures: 5,
  interval: '10s',
  baseEjectionTime: '30s',
  maxEjectionTime: '300s',
  maxEjectionPercent: 50,
} as const;

export interface OutlierProblem {
  readonly field: keyof OutlierDetectionSpec;
  readonly reason: ProblemReason;
  readonly message: string;
}

export function outlierProblems(spec: OutlierDetectionSpec): OutlierProblem[] {
  const problems: OutlierProblem[] = [];
  const add = (field: OutlierProblem['field'], reason: ProblemReason, message: string) =>
    problems.push({ field, reason, message });
  for (const field of ['consecutiveServerErrors', 'consecutiveLocalOriginFailures'] as const) {
    const value = spec[field];
    if (value !== undefined && !(value >= 1 && value <= 4_294_967_295))
      add(field, 'OutOfRange', `must be from 1 to 4294967295 (${value}); correct it, or remove it for the default`);
  }
  const { maxEjectionPercent: percent } = spec;
  if (percent !== undefined && !(percent >= 1 && percent <= 100))
    add('maxEjectionPercent', 'OutOfRange', `must be from 1 to 100 (${percent}); correct it, or set disabled`);
  if (spec.consecutiveLocalOriginFailures !== undefined && spec.splitExternalLocalOriginErrors !== true)
    add(
      'consecutiveLocalOriginFailures',
      'Conflict',
      'needs splitExternalLocalOriginErrors: true, which counts failed connections by themselves; set it, or remove this field',
    );
  for (const field of ['interval', 'baseEjectionTime', 'maxEjectionTime'] as const) {
    const value = spec[field];
    const ms = value === undefined ? undefined : durationMs(value);
    if (value !== undefined && !(ms !== undefined && ms > 0))
      add(field, 'InvalidValue', `must be a duration above zero (${shown(value)}); write one such as 30s`);
  }
  const base = durationMs(spec.baseEjectionTime ?? OUTLIER_DEFAULTS.baseEjectionTime) ?? 0;
  const most = durationMs(spec.maxEjectionTime ?? OUTLIER_DEFAULTS.maxEjectionTime) ?? 0;
  if (problems.length === 0 && base > most)
    add(
      spec.maxEjectionTime === undefined ? 'baseEjectionTime' : 'maxEjectionTime',
      'Conflict',
      `must not leave baseEjectionTime (${base / 1000}s) above maxEjectionTime (${most / 1000}s); raise maxEjectionTime, or lower baseEjectionTime`,
    );
  return problems;
}

function durationMs(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}
