// Endpoints of clusters that are new to a client and that it has not acknowledged: the clusters are not usable yet.
import type { ResourceKey } from '../resource.ts';
import type { SentChange, Subscription } from '../subscription.ts';
import type { HeldTime } from './held-time.ts';
import type { SubscriptionIndex } from './subscription-index.ts';

export interface Awaited {
  /** When the client acknowledged the cluster; before that, when the cluster was sent. */
  since: number;
  /** On the aggregated stream: the acknowledged response must have been sent later than the cluster. */
  readonly after: number;
  /**
   * On separate streams a client opens one for each cluster, after a while, and does not name the cluster. Several clusters may have
   * the same endpoints, so all of them are usable when as many streams as there will be have acknowledged them.
   */
  streams: number;
}

export interface AwaitedEndpointsOptions {
  readonly subscriptions: SubscriptionIndex;
  readonly time: HeldTime;
  /** The endpoints are not awaited any more. */
  onSettled(key: ResourceKey): void;
  /** The client may have to be sent endpoints that it has already. */
  resend(key: ResourceKey, clusters: Subscription): void;
}

export class AwaitedEndpoints {
  readonly awaited = new Map<ResourceKey, Awaited>();
  readonly #options: AwaitedEndpointsOptions;

  constructor(options: AwaitedEndpointsOptions) {
    this.#options = options;
  }

  /**
   * Clusters went out. On an aggregated stream a client does not request endpoints that it has already for another cluster: then the new
   * one would wait for them until they change. They are sent again. `after` is the order of the present response.
   */
  clustersSent(subscription: Subscription, changes: ReadonlyMap<string, SentChange>, after: number): void {
    const { time, resend } = this.#options;
    const isAggregated = subscription.stream.delivery === 'ads';
    for (const { sent, previous } of changes.values()) {
      // On the aggregated stream a cluster that goes asks for its endpoints no more.
      if (!sent && isAggregated) for (const required of previous?.requires ?? NONE) this.#settle(required);
    }
    for (const { sent, previous } of changes.values()) {
      // A cluster that changes is warmed beside its older self, which goes on, on a stream of its own.
      const isOpened = previous?.version('whole') !== sent?.version('whole');
      for (const required of sent?.requires ?? NONE) {
        if (isAggregated ? previous === undefined : isOpened) {
          const known = this.awaited.get(required)?.streams ?? this.#countStreams(required, () => true);
          this.awaited.set(required, { since: time.now, after, streams: known + 1 });
        }
        if (isAggregated) resend(required, subscription);
      }
    }
  }

  /** Clusters that were refused open no streams for their endpoints. Those that were refused with others are sent again. */
  clustersRefused({ stream }: Subscription, changes: ReadonlyMap<string, SentChange>): void {
    for (const { sent, previous } of changes.values()) {
      if (!sent || previous?.version('whole') === sent.version('whole')) continue;
      for (const required of sent.requires) {
        const awaited = this.awaited.get(required);
        if (!awaited) continue;
        awaited.streams -= 1;
        if (stream.delivery === 'ads') this.#settle(required);
        else this.#settleAnswered(required, awaited);
      }
    }
  }

  /** The client has acknowledged a cluster, and begins to wait for these endpoints. */
  clusterAcknowledged(endpoints: Iterable<ResourceKey>): void {
    for (const key of endpoints) {
      const awaited = this.awaited.get(key);
      if (awaited) awaited.since = this.#options.time.now;
    }
  }

  /** The client has acknowledged a response with the endpoints. */
  acknowledged(key: ResourceKey, { stream }: Subscription, order: number): void {
    const awaited = this.awaited.get(key);
    if (!awaited) return;
    if (stream.delivery !== 'ads') this.#settleAnswered(key, awaited);
    else if (order > awaited.after) this.#settle(key);
  }

  /** The client refuses the endpoints: they will not be acknowledged. */
  refused(key: ResourceKey): void {
    this.#settle(key);
  }

  /** A stream of the endpoints has ended: its cluster is gone, or another stream has taken its place. */
  streamEnded(key: ResourceKey): void {
    const awaited = this.awaited.get(key);
    if (!awaited) return;
    awaited.streams -= 1;
    this.#settleAnswered(key, awaited);
  }

  /** Returns `awaited` while the endpoints are awaited; `overdue` when the client has stopped waiting for them, and they are not awaited from now on. */
  check(key: ResourceKey): 'awaited' | 'overdue' | undefined {
    const awaited = this.awaited.get(key);
    if (!awaited) return undefined;
    if (!this.#options.time.hasGivenUp(awaited.since)) return 'awaited';
    this.#settle(key);
    return 'overdue';
  }

  #settleAnswered(key: ResourceKey, { streams }: Awaited): void {
    if (this.#countStreams(key, ({ isAnswered }) => isAnswered) >= streams) this.#settle(key);
  }

  #settle(key: ResourceKey): void {
    if (this.awaited.delete(key)) this.#options.onSettled(key);
  }

  #countStreams(key: ResourceKey, counts: (subscription: Subscription) => boolean): number {
    let count = 0;
    for (const subscription of this.#options.subscriptions.naming('eds', key.slice('eds/'.length)))
      if (counts(subscription)) count += 1;
    return count;
  }
}

const NONE: readonly never[] = [];
