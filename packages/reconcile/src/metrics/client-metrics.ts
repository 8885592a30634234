import type { RequestObservation } from '@capstan/kube/cluster';
import type { Registry } from './registry.ts';

export interface ClientMetrics {
  /** For ClientOptions.observe. */
  request(observation: RequestObservation): void;
  /** How long a request waited for a limit on this side. */
  limited(verb: string, host: string, seconds: number): void;
}

/** Requests to API servers, under client-go's names. */
export function clientMetrics(registry: Registry): ClientMetrics {
  const labels = ['verb', 'host'] as const;
  const total = registry.counter({
    name: 'rest_client_requests_total',
    help: 'Requests to API servers, by how they were answered; `<error>` is no answer.',
    labels: ['code', 'method', 'host'],
  });
  const retries = registry.counter({
    name: 'rest_client_request_retries_total',
    help: 'Requests that were sent again, by how they were answered then.',
    labels: ['code', 'verb', 'host'],
  });
  const duration = registry.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long a request takes.',
    labels,
    buckets: SECONDS,
  });
  const limited = registry.histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'How long a request waits for a limit on this side.',
    labels,
    buckets: SECONDS,
  });
  const sent = registry.histogram({
    name: 'rest_client_request_size_bytes',
    help: 'Size of what is sent.',
    labels,
    buckets: BYTES,
  });
  const received = registry.histogram({
    name: 'rest_client_response_size_bytes',
    help: 'Size of what is received.',
    labels,
    buckets: BYTES,
  });
  return {
    request({ method, host, code, seconds, requestBytes, responseBytes, retry }) {
      const of = { verb: method, host };
      total.of({ code: String(code), method, host }).inc();
      duration.of(of).observe(seconds);
      if (retry > 0) retries.of({ code: String(code), ...of }).inc();
      if (requestBytes !== undefined) sent.of(of).observe(requestBytes);
      if (responseBytes !== undefined) received.of(of).observe(responseBytes);
    },
    limited: (verb, host, seconds) => limited.of({ verb, host }).observe(seconds),
  };
}

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const BYTES = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
