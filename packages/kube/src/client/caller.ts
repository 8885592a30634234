// Sends the requests of one call to the transport, waits between them, and reports each to the observer. A failed call throws an ApiError
// or a TransportError.
import { type Clock, type Random, sleep } from '../clock.ts';
import { type ApiError, TransportError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { failureOf } from './failure.ts';
import { isRetryableFailure, isRetryableResponse, type RetryPolicy, retryDelay } from './retry.ts';
import { errorOfResponse } from './status.ts';
import type { ApiRequest, ApiResponse, Transport, WatchStream } from './transport.ts';

/** The data for the metrics of a client, reported once for every request sent, including retries. */
export interface RequestObservation {
  method: ApiRequest['method'];
  /** Host and port of the server. */
  host: string;
  /** The HTTP status, or `<error>` when no answer came. */
  code: number | '<error>';
  /** The time until the answer was complete; for a watch, until it was open. */
  seconds: number;
  /** The size is undefined for transports without a wire. */
  requestBytes: number | undefined;
  responseBytes: number | undefined;
  /** 0 for the first attempt of a call. */
  retry: number;
}

export interface CallerOptions {
  transport: Transport;
  retry: RetryPolicy;
  clock: Clock;
  random: Random;
  logger: Logger;
  observe?: (observation: RequestObservation) => void;
  userAgent: string;
}

export interface Caller {
  /** Sends the request until it succeeds or must not be retried. Resolves only for 2xx and 3xx. */
  send(request: ApiRequest, attempts?: number): Promise<ApiResponse>;
  /** Opens a watch without retries. */
  open(request: ApiRequest): Promise<WatchStream>;
}

const DEFAULT_TIMEOUT_MS = 30_000;

export function createCaller(options: CallerOptions): Caller {
  const { transport, retry, clock, random, logger, observe } = options;
  const host = hostOf(transport.address);
  const warn = createWarner(logger);

  async function send(request: ApiRequest, attempts = retry.attempts): Promise<ApiResponse> {
    const deadline = clock.now() + (request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    for (let attempt = 0; ; attempt++) {
      const timeoutMs = Math.max(1, deadline - clock.now());
      const outcome = await sendOnce({ ...withAgent(request), timeoutMs }, attempt);
      if (outcome.response !== undefined) return outcome.response;
      const { error, isRetryable } = outcome;
      if (!isRetryable || attempt + 1 >= attempts) throw error;
      const asked = 'retryAfterSeconds' in error ? error.retryAfterSeconds : undefined;
      const delay = retryDelay(retry, attempt + 1, asked, random);
      // A call never outlives its time-out. Fail at once if the next attempt would start after it.
      if (delay === undefined || clock.now() + delay >= deadline) throw error;
      logger.debug('sending a request again', { request: requestLine(request), attempt: attempt + 1, delay, error });
      await wait(delay, request);
    }
  }

  async function sendOnce(request: ApiRequest, retry: number): Promise<Outcome> {
    const started = clock.now();
    try {
      const response = await transport.request(request);
      report(request, response.status, started, retry, response);
      if (response.status < 400) {
        warn(response.headers['warning']);
        return { response };
      }
      const error = errorOfResponse(response, request, transport.address, clock.now());
      return { error, isRetryable: isRetryableResponse(request, response) };
    } catch (thrown) {
      report(request, '<error>', started, retry);
      const error = failureOf(thrown, transport.address, request);
      return { error, isRetryable: isRetryableFailure(request, error) };
    }
  }

  async function open(request: ApiRequest): Promise<WatchStream> {
    const started = clock.now();
    let answer: WatchStream | ApiResponse;
    try {
      answer = await transport.watch(withAgent(request));
    } catch (thrown) {
      report(request, '<error>', started, 0);
      throw failureOf(thrown, transport.address, request);
    }
    if (isStream(answer)) {
      report(request, 200, started, 0);
      return answer;
    }
    report(request, answer.status, started, 0, answer);
    throw errorOfResponse(answer, request, transport.address, clock.now());
  }

  async function wait(ms: number, request: ApiRequest): Promise<void> {
    try {
      await sleep(clock, ms, request.signal);
    } catch (cause) {
      throw new TransportError('aborted', transport.address, { request: requestLine(request), cause });
    }
  }

  function report(
    { method }: ApiRequest,
    code: RequestObservation['code'],
    started: number,
    retry: number,
    sizes: Pick<ApiResponse, 'requestBytes' | 'responseBytes'> = {},
  ): void {
    const { requestBytes, responseBytes } = sizes;
    observe?.({ method, host, code, seconds: (clock.now() - started) / 1000, requestBytes, responseBytes, retry });
  }

  function withAgent(request: ApiRequest): ApiRequest {
    return { ...request, headers: { 'user-agent': options.userAgent, ...request.headers } };
  }

  return { send, open };
}

type Outcome =
  | { response: ApiResponse; error?: undefined; isRetryable?: undefined }
  | { response?: undefined; error: ApiError | TransportError; isRetryable: boolean };

export function requestLine({ method, path }: Pick<ApiRequest, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

function isStream(answer: WatchStream | ApiResponse): answer is WatchStream {
  return Symbol.asyncIterator in answer;
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

// Servers repeat warnings (deprecated versions, unknown fields) on every request. Each text is logged once.
function createWarner(logger: Logger): (header: string | undefined) => void {
  const seen = new Set<string>();
  return (header) => {
    if (header === undefined) return;
    for (const [, text = ''] of header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
      if (seen.has(text) || seen.size >= MAX_WARNINGS) continue;
      seen.add(text);
      logger.warn('the API server warns', { warning: text.replace(/\\(.)/g, '$1') });
    }
  };
}

const MAX_WARNINGS = 1000;
