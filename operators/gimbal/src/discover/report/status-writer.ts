import {
  backOff,
  type Client,
  type Clock,
  type Kind,
  type Logger,
  type ObjectRef,
  sleep,
  type UnknownObject,
} from '@capstan/kube/cluster';
import { type DiscoveryStatus, discoveryOf, isWorthWriting } from './status.ts';

export interface StatusWriterOptions {
  client: Client;
  /** DiscoveryBackend, or the alias under which the object was written. */
  kind: Kind<UnknownObject>;
  ref: ObjectRef;
  clock: Clock;
  logger: Logger;
  /** Whether this one speaks for the backend: of two discoverers only the holder of the lease does. */
  isSpeaker(): boolean;
  compose(): DiscoveryStatus;
}

export interface StatusWriter {
  /** What is written there now, from before this process; undefined when there is nothing. */
  read(signal: AbortSignal): Promise<DiscoveryStatus | undefined>;
  /** Something may have changed. */
  poke(): void;
  run(signal: AbortSignal): Promise<void>;
}

/** Its own fields are applied under this name. */
export const STATUS_MANAGER = 'gimbal-discoverer';

const INTERVAL_MS = 2_000;
const BACK_OFF = { firstMs: 4_000, longestMs: 300_000 };

/** Writes at most once every two seconds, and only what differs from what is there. */
export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, kind, ref, clock, logger, compose, isSpeaker } = options;
  let written: DiscoveryStatus | undefined;
  let wake: (() => void) | undefined;
  let isPoked = true;

  async function write(signal: AbortSignal): Promise<void> {
    const next = compose();
    if (!isSpeaker() || !isWorthWriting(written, next)) return;
    const { apiVersion } = kind;
    const object = { apiVersion, kind: kind.kind, metadata: ref, status: { discovery: next } };
    const how = { fieldManager: STATUS_MANAGER, force: true, subresource: 'status', signal } as const;
    const answer = await client.apply(kind, object, how);
    written = discoveryOf(answer) ?? next;
  }

  /** Until something may have changed, or volatile figures have to be re-checked. */
  function change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(POLL_MS, () => end());
      const end = () => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        wake = undefined;
        resolve();
      };
      wake = end;
      signal.addEventListener('abort', end, { once: true });
      if (isPoked || signal.aborted) end();
    });
  }

  return {
    async read(signal) {
      written = discoveryOf(await client.find(kind, ref, { signal }));
      return written;
    },
    poke() {
      isPoked = true;
      wake?.();
    },
    async run(signal) {
      let failures = 0;
      while (!signal.aborted) {
        await change(signal);
        if (signal.aborted) return;
        isPoked = false;
        try {
          await write(signal);
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          logger.warn('the status of the backend could not be written; it is tried again', { error });
          isPoked = true;
          failures++;
        }
        await sleep(clock, failures === 0 ? INTERVAL_MS : backOff(failures, BACK_OFF), signal).catch(() => {});
      }
    },
  };
}

const POLL_MS = 30_000;
