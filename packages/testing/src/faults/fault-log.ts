// The injected faults with their time and place, for failure reports.
import type { ApiRequest } from '@capstan/kube';

export interface InjectedFault {
  /** Milliseconds since the epoch, by the simulation's clock. */
  at: number;
  fault: string;
  /** Method, path and query: never a body. */
  target: string;
  detail?: string;
}

/** One line a fault, with times relative to `start`. */
export function formatFaults(faults: readonly InjectedFault[], start: number): string {
  return faults
    .map(({ at, fault, target, detail }) => {
      const seconds = ((at - start) / 1000).toFixed(3).padStart(10);
      return `${seconds} s  ${fault.padEnd(18)} ${target}${detail === undefined ? '' : ` (${detail})`}`;
    })
    .join('\n');
}

/** Method and path, for messages. */
export function requestLine(request: ApiRequest): string {
  return `${request.method} ${request.path}`;
}

/** Method, path and query, for the log. */
export function targetOf(request: ApiRequest): string {
  const query = new URLSearchParams(request.query).toString();
  return `${requestLine(request)}${query === '' ? '' : `?${query}`}`;
}
