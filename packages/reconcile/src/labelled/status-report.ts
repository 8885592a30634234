// The report of a program about children known by label, on an object that another program works on: one field of its status, applied
// under a field manager of its own. It goes through a queue of one key, with the workers and the back-off of every other write.
import type { Client, Clock, Kind, KubeObject, Logger, ObjectRef } from '@capstan/kube/cluster';
import { createQueue, keyBackOff, retry, retryAfter, runWorkers } from '../queue/index.ts';

export interface StatusReportOptions<S> {
  client: Client;
  kind: Kind;
  ref: ObjectRef;
  /** The field of the status. */
  field: string;
  fieldManager: string;
  clock: Clock;
  logger: Logger;
  /** Returns the report; undefined: there is none now, and the last one stays. */
  compose(): S | undefined;
  /** Reads a report that was written, by an earlier process as well; undefined where there is none that can be read. */
  parse(object: KubeObject | undefined): S | undefined;
  isWorthWriting(written: S | undefined, next: S): boolean;
}

export interface StatusReport<S> {
  /** Reads the report of an earlier process; undefined when there is none. */
  read(signal: AbortSignal): Promise<S | undefined>;
  /** Something may have changed. */
  poke(): void;
  run(signal: AbortSignal): Promise<void>;
}

const KEY = 'status';
/** It is written at most so often. */
const INTERVAL_MS = 2_000;
/** Volatile figures are compared so often. */
const POLL_MS = 30_000;
const RETRIES = { baseMs: 4_000, maxMs: 300_000 };

export function createStatusReport<S>(options: StatusReportOptions<S>): StatusReport<S> {
  const { client, kind, ref, field, fieldManager, clock, logger } = options;
  const queue = createQueue<string>({ clock, name: `status of ${kind.kind}`, limits: RETRIES });
  let written: S | undefined;
  /** A poke does not shorten the interval, nor the wait after a failure. */
  let notBefore = 0;

  async function handle(_key: string, signal: AbortSignal) {
    const waitMs = notBefore - clock.now();
    if (waitMs > 0) return retryAfter(waitMs, { keepsFailures: true });
    const next = options.compose();
    if (next === undefined || !options.isWorthWriting(written, next)) return retryAfter(POLL_MS);
    const { apiVersion } = kind;
    const object = { apiVersion, kind: kind.kind, metadata: ref, status: { [field]: next } };
    try {
      const answer = await client.apply(kind, object, { fieldManager, force: true, subresource: 'status', signal });
      written = options.parse(answer) ?? next;
    } catch (error) {
      if (signal.aborted) throw error;
      logger.warn('the status could not be written; it is tried again', { error });
      notBefore = clock.now() + keyBackOff(queue.failures(KEY) + 1, RETRIES.baseMs, RETRIES.maxMs);
      return retry(error);
    }
    notBefore = clock.now() + INTERVAL_MS;
    return retryAfter(POLL_MS);
  }

  return {
    async read(signal) {
      written = options.parse(await client.find(kind, ref, { signal }));
      return written;
    },
    poke: () => queue.add(KEY),
    async run(signal) {
      queue.add(KEY);
      await runWorkers({ queue, clock, signal, handle });
    },
  };
}
