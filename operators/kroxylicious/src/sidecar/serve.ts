// The program of the webhook. It keeps the configs of all namespaces in memory and serves a certificate from files that a kubelet renews.
import {
  type Client,
  type Clock,
  createInformer,
  type Logger,
  type Random,
  reasonOf,
  sleep,
} from '@capstan/kube/cluster';
import { type KeyPair, startWebhookServer, type WebhookServer } from '@capstan/reconcile/webhook';
import { KroxyliciousSidecarConfig as Kind, type KroxyliciousSidecarConfig } from '../kinds/index.ts';
import { type ClusterFeatures, clusterFeatures, type FeatureGates } from './cluster-features.ts';
import { review } from './review.ts';

export interface ServeOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly host: string;
  readonly port: number;
  readonly image: string;
  readonly denyUninjected: boolean;
  readonly gates: FeatureGates;
  /** Reads the present certificate and key. */
  readPair(): Promise<KeyPair>;
  /** Called once the webhook serves. */
  started?(server: WebhookServer): void;
}

/** The longest time until a renewed certificate is served. */
const POLL_MS = 10_000;

/** Runs until the signal is aborted. It starts to serve once it knows all configs. */
export async function serveWebhook(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger } = options;
  const informer = createInformer<KroxyliciousSidecarConfig>({ ...options, kind: Kind });
  const stop = new AbortController();
  const running = informer.run(AbortSignal.any([signal, stop.signal]));
  try {
    const features = await featuresOf(client, options.gates, logger);
    await informer.synced(signal);
    const pair = await options.readPair();
    const configsIn = (namespace: string) => informer.list().filter(({ metadata }) => metadata.namespace === namespace);
    const server = await startWebhookServer({
      ...options,
      pair,
      path: '/mutate',
      review(request) {
        const { response, decision } = review(request, { ...options, features, configsIn });
        if (decision !== undefined) logger.info('a pod was reviewed', { ...decision });
        return response;
      },
    });
    logger.info('serving the webhook', { port: server.port, ...features });
    options.started?.(server);
    try {
      await followPair(server, pair, options, signal);
    } finally {
      await server.close();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await running;
  }

  async function followPair(server: WebhookServer, first: KeyPair, { readPair }: ServeOptions, end: AbortSignal) {
    let current = first;
    while (!end.aborted) {
      await sleep(clock, POLL_MS, end).catch(() => {});
      if (end.aborted) return;
      try {
        const next = await readPair();
        if (next.cert === current.cert && next.key === current.key) continue;
        server.renew(next);
        current = next;
        logger.info('the certificate was renewed');
      } catch (error) {
        // The two files change one after the other. The next poll finds both.
        logger.warn('the certificate could not be renewed; the one before is served', { error: reasonOf(error) });
      }
    }
  }
}

async function featuresOf(client: Client, gates: FeatureGates, logger: Logger): Promise<ClusterFeatures> {
  try {
    const { body } = await client.request({ method: 'GET', path: '/version' });
    return clusterFeatures(body as { major?: string; minor?: string }, gates);
  } catch (error) {
    logger.warn('the version of the server is not known; nothing new is used', { error: reasonOf(error) });
    return clusterFeatures(undefined, gates);
  }
}
