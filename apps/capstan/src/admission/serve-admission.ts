// The program of the admission webhook: its certificate, the objects that checks look at beside the one in question, the server.
import {
  backOff,
  type Client,
  type Clock,
  createInformer,
  type Informer,
  type Kind,
  type KubeObject,
  kindId,
  type Logger,
  type Random,
  reasonOf,
  sleep,
} from '@capstan/kube';
import type { AdmissionCheck, AdmissionView } from '@capstan/reconcile';
import { type KeyPair, startWebhookServer, type WebhookServer } from '@capstan/reconcile/webhook';
import { ensureCredentials } from './credentials.ts';
import { ADMISSION_PATH, admissionDnsNames } from './names.ts';
import { reviewObject } from './review.ts';

export interface ServeAdmissionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly checks: readonly AdmissionCheck[];
  readonly namespace: string;
  readonly host: string;
  readonly port: number;
  /** That the server calls it by; default those of its Service. */
  readonly dnsNames?: readonly string[];
  /** How long a renewed certificate, or a registration that was reset, may wait; default 10,000. */
  readonly pollMs?: number;
  /** Called once it serves. */
  started?(server: WebhookServer): void;
}

const POLL_MS = 10_000;
const BACK_OFF = { firstMs: 500, longestMs: POLL_MS };

/** Runs until the signal is aborted. */
export async function serveAdmission(options: ServeAdmissionOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, checks, pollMs = POLL_MS } = options;
  const dnsNames = options.dnsNames ?? admissionDnsNames(options.namespace);
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const informers = informersOf(options);
  const running = [...informers.values()].map((informer) => informer.run(until));
  try {
    let current = await credentials(signal);
    const view = viewOf(informers);
    const failed = (kind: string, reason: string, key: string) =>
      logger.error('a check failed; nothing is refused', { kind, key, reason });
    const server = await startWebhookServer({
      ...options,
      pair: current,
      path: ADMISSION_PATH,
      review(request) {
        const response = reviewObject(request, { checks, view, failed });
        if (!response.allowed) logger.info('an object was refused', { message: response.status?.message });
        return response;
      },
    });
    logger.info('serving the admission webhook', { port: server.port, kinds: checks.map(({ kind }) => kindId(kind)) });
    options.started?.(server);
    try {
      for (;;) {
        await sleep(clock, pollMs, signal);
        const next = await credentials(signal);
        if (next.cert === current.cert) continue;
        server.renew(next);
        current = next;
        logger.info('the certificate was renewed');
      }
    } finally {
      await server.close();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await Promise.all(running);
  }

  /** Tries until it succeeds. The last certificate is served meanwhile. */
  async function credentials(end: AbortSignal): Promise<KeyPair> {
    for (let failures = 1; ; failures++) {
      try {
        const pair = await ensureCredentials({ ...options, dnsNames, signal: end });
        if (pair !== undefined) return pair;
      } catch (error) {
        if (end.aborted) throw error;
        logger.warn('the certificate cannot be read or renewed; it is tried again', { error: reasonOf(error) });
      }
      await sleep(clock, backOff(failures, BACK_OFF, random), end);
    }
  }
}

type Informers = ReadonlyMap<string, Informer<KubeObject>>;

/** The informers of kinds that may not be installed: then their caches stay empty. */
function informersOf({ checks, client, clock, random, logger }: ServeAdmissionOptions): Informers {
  const kinds = new Map(checks.flatMap(({ reads = [] }) => reads.map((kind) => [kindId(kind), kind])));
  return new Map(
    [...kinds].map(([id, kind]) => [id, createInformer({ client, kind, clock, random, logger, optional: true })]),
  );
}

function viewOf(informers: Informers): AdmissionView {
  return {
    list: <T extends KubeObject>(kind: Kind<T>) =>
      (informers.get(kindId(kind))?.list() ?? []) as unknown as readonly T[],
  };
}
