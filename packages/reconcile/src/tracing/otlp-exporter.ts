// Sends spans in batches, one request at a time. A failure to send never slows down or fills up the process: the queue is bounded, and
// further spans are dropped and counted.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { backOff, type Clock, type Logger, type Random, sleep } from '@capstan/kube/cluster';
import { within } from '../within.ts';
import type { OtlpConfig } from './otlp-config.ts';
import { otlpPayload } from './otlp-payload.ts';
import type { FinishedSpan } from './recording-tracer.ts';

export interface OtlpExporterOptions {
  config: OtlpConfig;
  clock: Clock;
  random: Random;
  logger: Logger;
  fetch: typeof fetch;
  clean(text: string): string;
}

export interface OtlpExporter {
  /** Takes a span; never waits. */
  add(span: FinishedSpan): void;
  /** Sends until the signal is aborted, then the rest for at most five seconds. */
  run(signal: AbortSignal): Promise<void>;
}

const TRIES = 5;
const BACK_OFF = { firstMs: 1_000, longestMs: 60_000 };
const FLUSH_MS = 5_000;
/** The answers that OTLP names as passing. */
const PASSING = new Set([429, 502, 503, 504]);

export function createOtlpExporter(options: OtlpExporterOptions): OtlpExporter {
  const { config, clock, random, logger } = options;
  let queue: FinishedSpan[] = [];
  let dropped = 0;
  let wake = () => {};

  function add(span: FinishedSpan): void {
    if (queue.length >= config.queueSize) {
      dropped += 1;
      return;
    }
    queue.push(span);
    if (queue.length >= config.batchSize) wake();
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await untilDue(signal);
      while (queue.length > 0 && !signal.aborted) await sendBatch(TRIES, signal);
    }
    await flush();
  }

  /** Resolves when a batch is full, some time has passed, or the signal is aborted. */
  async function untilDue(signal: AbortSignal): Promise<void> {
    if (queue.length >= config.batchSize) return;
    const due = Promise.withResolvers<void>();
    wake = due.resolve;
    const timer = clock.after(config.delayMs, due.resolve);
    signal.addEventListener('abort', wake, { once: true });
    await due.promise;
    timer.cancel();
    signal.removeEventListener('abort', wake);
  }

  async function flush(): Promise<void> {
    const patience = new AbortController();
    const timer = clock.after(FLUSH_MS, () => patience.abort());
    while (queue.length > 0 && !patience.signal.aborted) await sendBatch(1, patience.signal);
    timer.cancel();
    if (queue.length > 0) logger.warn('spans were left unsent', { spans: queue.length });
  }

  async function sendBatch(tries: number, signal: AbortSignal): Promise<void> {
    const batch = queue.slice(0, config.batchSize);
    reportDropped();
    for (let attempt = 1; ; attempt++) {
      const result = await send(batch, signal);
      // Stopped in the middle: the batch stays for the flush.
      if (signal.aborted && result.isPassing) return;
      if (!result.isPassing || attempt >= tries) {
        if (result.problem !== undefined)
          logger.warn('spans could not be exported', { spans: batch.length, ...result });
        break;
      }
      const wait = backOff(attempt, BACK_OFF, random, result.retryAfterMs);
      await sleep(clock, wait, signal).catch(() => {});
      if (signal.aborted) return;
    }
    queue = queue.slice(batch.length);
  }

  function reportDropped(): void {
    if (dropped === 0) return;
    logger.warn('spans were dropped because they came faster than they could be exported', { spans: dropped });
    dropped = 0;
  }

  async function send(batch: readonly FinishedSpan[], signal: AbortSignal): Promise<Result> {
    try {
      const body = await encode(batch);
      return await within(clock, config.timeoutMs, signal, async (timed) => {
        const answer = await options.fetch(config.url, {
          method: 'POST',
          headers: {
            ...config.headers,
            'content-type': 'application/json',
            ...(config.isCompressed ? { 'content-encoding': 'gzip' } : {}),
          },
          body,
          signal: timed,
          // The headers must not be sent to another server.
          redirect: 'error',
        });
        return resultOf(answer.status, answer.headers.get('retry-after'), await answer.text());
      });
    } catch (error) {
      return { isPassing: true, problem: describe(error) };
    }
  }

  async function encode(batch: readonly FinishedSpan[]): Promise<string | Uint8Array<ArrayBuffer>> {
    const text = JSON.stringify(otlpPayload(batch, config.resource, options.clean));
    return config.isCompressed ? new Uint8Array(await promisify(gzip)(text)) : text;
  }

  return { add, run };
}

interface Result {
  /** Worth another try. */
  isPassing: boolean;
  problem?: string;
  retryAfterMs?: number;
}

function resultOf(status: number, retryAfter: string | null, body: string): Result {
  if (status >= 200 && status < 300) {
    const rejected = rejectedIn(body);
    return rejected === undefined ? { isPassing: false } : { isPassing: false, problem: rejected };
  }
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return {
    isPassing: PASSING.has(status),
    problem: `the collector answered ${status}`,
    ...(seconds >= 0 ? { retryAfterMs: Math.min(seconds, 60) * 1000 } : {}),
  };
}

/** A collector may accept a part of the spans. */
function rejectedIn(body: string): string | undefined {
  try {
    const { partialSuccess } = JSON.parse(body) as {
      partialSuccess?: { rejectedSpans?: string; errorMessage?: string };
    };
    const count = Number(partialSuccess?.rejectedSpans ?? 0);
    return count > 0 ? `the collector refused ${count} of them: ${partialSuccess?.errorMessage ?? ''}` : undefined;
  } catch {
    return undefined;
  }
}

/** The message of fetch is only "fetch failed"; its cause has the reason. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
