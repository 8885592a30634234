// Durations of the API: Go's syntax, "infinity", or nothing for Envoy's default.
import { parseDuration } from '@capstan/kube';
import { accept, type Result, refuse } from '../result.ts';

/** Undefined: Envoy's default. "0s" switches a timeout off. */
export type EnvoyTimeout = string | undefined;

/** The problem, when the text is no duration. */
export function envoyTimeout(text: string | undefined): Result<EnvoyTimeout> {
  if (text === undefined || text === '') return accept(undefined);
  if (text === 'infinity' || text === 'infinite') return accept('0s');
  const ms = durationMs(text);
  if (ms === undefined)
    return refuse(`${JSON.stringify(text)} is not a duration; write one such as 30s or 1m30s, or infinity`);
  if (ms < 0) return refuse(`${JSON.stringify(text)} is negative; write a duration such as 30s, or infinity`);
  return accept(ms === 0 ? undefined : seconds(ms));
}

/** Returns a timeout of the configuration, whose durations are valid. */
export function settingTimeout(text: string | undefined): EnvoyTimeout {
  const timeout = envoyTimeout(text);
  return timeout.isOk ? timeout.value : undefined;
}

export function durationMs(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

/** As protobuf's JSON has durations. */
export function seconds(ms: number): string {
  const text = (ms / 1000).toFixed(9).replace(/\.?0+$/, '');
  return `${text}s`;
}
