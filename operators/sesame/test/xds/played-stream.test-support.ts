// The streams and the clock of a played client.
import assert from 'node:assert/strict';
import type { Clock } from '@capstan/kube';
import { type Delivery, decode, type ResourceType } from '../../src/envoy/index.ts';
import type { DeltaSubscription } from '../../src/xds/delta-subscription.ts';
import type { Shape } from '../../src/xds/resource.ts';
import { type SubscriptionStream, WILDCARD } from '../../src/xds/subscription.ts';
import type { WorldSubscription } from '../../src/xds/world-subscription.ts';

/** A clock that the test moves; calls are made when their time has come. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  #timers: { readonly at: number; readonly call: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void) {
    const timer = { at: this.#now + ms, call };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  yield(): Promise<void> {
    return Promise.resolve();
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((left, right) => left.at - right.at);
      if (!next) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#now = next.at;
      next.call();
    }
    this.#now = end;
  }
}

export interface Response {
  readonly type: ResourceType;
  readonly nonce: string;
  readonly resources: ReadonlyMap<string, string>;
  readonly removed: readonly string[];
}

export interface Mode {
  readonly isDelta: boolean;
  readonly isAggregated: boolean;
}

/** A stream of a client, with the resources that the client has accepted. */
export class PlayedStream implements SubscriptionStream {
  readonly mode: Mode;
  readonly delivery: Delivery;
  readonly shape: Shape;
  isBlocked = false;
  isClosed = false;
  /** The client had accepted resources before it opened the stream. */
  isBack = false;
  readonly queue: Response[] = [];
  readonly subscriptions = new Map<ResourceType, DeltaSubscription | WorldSubscription>();
  /** The resources that the client has, by type. */
  readonly has = new Map<ResourceType, Map<string, string>>();
  /** The nonces that were answered last; in state of the world only. */
  readonly lastNonces = new Map<ResourceType, string>();
  /** The names that the client asks for, in state of the world; none: all. */
  readonly names = new Map<ResourceType, Set<string>>();
  #nonce = 0;

  constructor(mode: Mode) {
    this.mode = mode;
    this.delivery = mode.isAggregated ? 'ads' : mode.isDelta ? 'delta' : 'grpc';
    this.shape = mode.isAggregated && mode.isDelta ? 'split' : 'whole';
  }

  nextNonce(): string {
    this.#nonce += 1;
    return String(this.#nonce);
  }

  fail(): void {
    assert.fail('no stream fails');
  }

  send(type: ResourceType, buffers: readonly Uint8Array[]): void {
    assert.ok(!this.isClosed, 'nothing is sent on a stream that ended');
    assert.ok(!this.isBlocked, 'nothing is sent to a client that is slow');
    const bytes = Buffer.concat(buffers);
    if (this.mode.isDelta) {
      const { resources = [], removed_resources: removed = [], nonce = '' } = decode(DELTA_RESPONSE, bytes) as Decoded;
      const found = resources.map(({ name = '', resource }) => [name, JSON.stringify(resource)] as const);
      const names = this.subscriptions.get(type)?.names ?? new Set<string>();
      for (const name of [...new Map(found).keys(), ...removed])
        assert.ok(covers(type, names, name), `${type}/${name} was asked for`);
      this.queue.push({ type, nonce, resources: new Map(found), removed });
    } else {
      const { resources = [], nonce = '' } = decode(WORLD_RESPONSE, bytes) as Decoded;
      const found = resources.map((each) => [nameOf(each), JSON.stringify(each)] as const);
      this.queue.push({ type, nonce, resources: new Map(found), removed: [] });
    }
  }

  accept({ type, resources, removed }: Response): void {
    const before = this.has.get(type) ?? new Map<string, string>();
    const isComplete = !this.mode.isDelta && (type === 'lds' || type === 'cds');
    const next = new Map(isComplete ? [] : before);
    for (const [name, text] of resources) if (name !== '') next.set(name, text);
    for (const name of removed) next.delete(name);
    this.has.set(type, next);
  }
}

export function covers(type: ResourceType, names: Pick<ReadonlySet<string>, 'has'>, name: string): boolean {
  const prefix = name.slice(0, name.lastIndexOf('/'));
  return names.has(WILDCARD) || names.has(name) || (type === 'vhds' && names.has(prefix));
}

const DELTA_RESPONSE = 'envoy.service.discovery.v3.DeltaDiscoveryResponse';
const WORLD_RESPONSE = 'envoy.service.discovery.v3.DiscoveryResponse';

interface Decoded {
  readonly nonce?: string;
  readonly resources?: readonly {
    readonly name?: string;
    readonly resource?: object;
    readonly cluster_name?: string;
  }[];
  readonly removed_resources?: readonly string[];
}

function nameOf(resource: object): string {
  const { name, cluster_name: cluster = '' } = resource as { readonly name?: string; readonly cluster_name?: string };
  return name ?? cluster;
}
