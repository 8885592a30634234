// Plays one client with random requests, answers and silences against random changes of the store, in memory and on a clock of its own. In
// the end the client answers everything, and must have the resources of the store, except for those that it refuses.
import assert from 'node:assert/strict';
import { createRandom } from '@capstan/testing';
import { decode, RESOURCE_TYPES, type ResourceType } from '../../src/envoy/index.ts';
import { DeltaSubscription } from '../../src/xds/delta-subscription.ts';
import { PART_MARKER } from '../../src/xds/refusals/isolation.ts';
import { RefusedResources } from '../../src/xds/refusals/refused-resources.ts';
import { resourceKey } from '../../src/xds/resource.ts';
import { createResourceStore } from '../../src/xds/resource-store.ts';
import { WILDCARD } from '../../src/xds/subscription.ts';
import { WorldSubscription } from '../../src/xds/world-subscription.ts';
import { XdsNode } from '../../src/xds/xds-node.ts';
import {
  BAD,
  HAS_BAD,
  NAMES,
  resourceOf,
  SHARED,
  sharedRoutes,
  versionsOf,
  wantedNames,
} from './played-resources.test-support.ts';
import { covers, ManualClock, type Mode, PlayedStream, type Response } from './played-stream.test-support.ts';

const MARKED = 'google.protobuf.Empty does not match the message-wide type URL';
const MESSAGES = [
  '',
  'no',
  'a',
  'b and c are bad',
  'Error adding/updating listener(s) a: bad',
  'Error adding/updating cluster(s) b: bad',
  MARKED,
];

/** `any`: answers at random; `polite`: accepts everything; `strict`: refuses bad contents, as Envoy does. */
type Temper = 'any' | 'polite' | 'strict';

export interface Play {
  readonly seed: number;
  readonly steps: number;
  /** The client comes back to new servers with the resources that it has. */
  readonly hasRestarts?: boolean;
}

export function playClient({ seed, steps, hasRestarts = false }: Play): void {
  const game = new Game(seed, hasRestarts);
  for (let step = 0; step < steps; step += 1) game.step();
  game.end();
}

class Game {
  readonly #random: () => number;
  readonly #hasRestarts: boolean;
  readonly #clock = new ManualClock();
  readonly #store = createResourceStore();
  readonly #mode: Mode;
  readonly #temper: Temper;
  readonly #refused = { parts: new Map<string, string>(), resources: new RefusedResources() };
  #node: XdsNode;
  readonly #streams: PlayedStream[] = [];
  readonly #types: readonly ResourceType[];
  #hosts = new Map<string, number>();
  #turn = 0;

  constructor(seed: number, hasRestarts: boolean) {
    this.#random = createRandom(seed);
    this.#hasRestarts = hasRestarts;
    this.#mode = { isDelta: this.#random() < 0.5, isAggregated: this.#random() < 0.6 };
    this.#temper = this.#pick(['any', 'polite', 'strict']);
    // Virtual hosts of their own are part of the split form only.
    this.#types = RESOURCE_TYPES.filter((type) => type !== 'vhds' || (this.#mode.isDelta && this.#mode.isAggregated));
    this.#node = this.#createNode();
    this.#store.subscribe((changes) => this.#node.changed(changes));
    this.#put('lds', 'a');
  }

  #createNode(): XdsNode {
    const calls = { contain: (_node: XdsNode, call: () => void) => call(), onOverdue: () => undefined };
    return new XdsNode({ id: 'played' }, this.#store, this.#clock, () => undefined, this.#refused, calls);
  }

  step(): void {
    const streams = this.#streams;
    const isNew = streams.length === 0 || (streams.length < this.#maxStreams && this.#chance(0.05));
    const stream = isNew ? this.#open() : this.#pick(streams);
    const choice = this.#random();
    if (choice < 0.25) this.#subscribe(stream, this.#pick(this.#types));
    else if (choice < 0.55) this.#answer(stream);
    else if (choice < 0.8) this.#change();
    else if (choice < 0.86) stream.isBlocked = !stream.isBlocked;
    else if (choice < 0.88 && this.#hasRestarts) this.#comeBack(stream);
    else if (choice < 0.9) this.#close(stream);
    else if (choice < 0.93) this.#clock.advance(this.#pick([100, 5_000, 35_000, 61_000]));
    else this.#node.flush();
  }

  /** From now on the client answers everything, and asks for everything. */
  end(): void {
    const isAny = this.#temper === 'any';
    this.#subscribeToAll();
    // Every cluster has endpoints, though they may be none.
    for (const name of NAMES) if (!this.#store.get(resourceKey('eds', name))) this.#put('eds', name, this.#turn);
    this.#settle();
    if (isAny) {
      // It may have refused anything: everything changes once more.
      for (const type of this.#types) for (const name of NAMES) this.#put(type, name);
      this.#share(new Map(NAMES.map((name) => [name, this.#turn])));
      this.#settle();
    }
    // A client that asks for everything on its aggregated streams, and answers everything, is never waited for.
    if (isAny || !this.#mode.isAggregated) {
      this.#clock.advance(200_000);
      this.#settle();
    }
    for (const stream of this.#streams) this.#assertLike(stream);
    for (let stream = this.#streams[0]; stream; stream = this.#streams[0]) this.#close(stream);
  }

  /** Each aggregated stream is a client of its own. Besides it, a client has streams for single types. */
  get #maxStreams(): number {
    return this.#mode.isAggregated ? 1 : 4;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #nextTurn(): number {
    this.#turn += 1;
    return this.#temper === 'strict' && this.#chance(0.15) ? BAD + this.#turn : this.#turn;
  }

  #put(type: ResourceType, name: string, turn = this.#nextTurn()): void {
    const resource = resourceOf(type, name, turn);
    this.#store.take([[resource.key, resource]]);
  }

  #share(hosts: Map<string, number>): void {
    this.#hosts = hosts;
    const resource = sharedRoutes(hosts, this.#turn);
    this.#store.take([[resource.key, resource]]);
  }

  #change(): void {
    const type = this.#pick(this.#types);
    const name = this.#pick(NAMES);
    if (type === 'rds' && this.#chance(0.5)) {
      const hosts = new Map(this.#hosts);
      if (this.#chance(0.3)) hosts.delete(name);
      else hosts.set(name, this.#nextTurn());
      this.#share(hosts);
    } else if (this.#chance(0.75)) this.#put(type, name);
    else this.#store.take([[resourceKey(type, type === 'vhds' ? `${SHARED}/${name}` : name), undefined]]);
  }

  #open(): PlayedStream {
    const stream = new PlayedStream(this.#mode);
    this.#streams.push(stream);
    return stream;
  }

  /** The client comes back with its resources to a server that knows nothing of it. */
  #comeBack(stream: PlayedStream): void {
    if (!this.#mode.isAggregated || this.#streams.length > 1) return;
    this.#close(stream);
    const next = this.#open();
    next.isBack = true;
    for (const [type, has] of stream.has) next.has.set(type, new Map(has));
    for (const type of stream.subscriptions.keys()) this.#subscribe(next, type, true);
  }

  #close(stream: PlayedStream): void {
    stream.isClosed = true;
    for (const subscription of stream.subscriptions.values()) subscription.close();
    this.#streams.splice(this.#streams.indexOf(stream), 1);
    if (this.#streams.length > 0) return;
    assert.ok(this.#node.isIdle, 'nothing is left of a client without streams');
    assert.equal(this.#node.pending.size, 0, 'nothing is pending for a client without streams');
    // As the server does: a client that comes back starts from the beginning.
    this.#node.close();
    this.#node = this.#createNode();
  }

  #subscription(stream: PlayedStream, type: ResourceType): DeltaSubscription | WorldSubscription | undefined {
    const known = stream.subscriptions.get(type);
    if (known || (!this.#mode.isAggregated && stream.subscriptions.size > 0)) return known;
    // Besides aggregated streams, it has one stream for all listeners, and one for all clusters.
    if (
      this.#temper === 'strict' &&
      !this.#mode.isAggregated &&
      this.#streams.some(({ subscriptions }) => subscriptions.has(type))
    )
      return undefined;
    const created = new (this.#mode.isDelta ? DeltaSubscription : WorldSubscription)(type, stream, this.#node);
    stream.subscriptions.set(type, created);
    return created;
  }

  #subscribe(stream: PlayedStream, type: ResourceType, isAll = false): void {
    const isKnown = stream.subscriptions.has(type);
    const subscription = this.#subscription(stream, type);
    const some = wantedNames(type).filter(() => isAll || this.#chance(0.4));
    const isWildcard = (type === 'lds' || type === 'cds') && (isAll || this.#chance(0.7));
    if (subscription instanceof DeltaSubscription) {
      const dropped = isKnown && !isAll ? wantedNames(type).filter(() => this.#chance(0.2)) : [];
      subscription.request({
        resource_names_subscribe: isWildcard ? [WILDCARD] : some.filter((name) => !dropped.includes(name)),
        resource_names_unsubscribe: dropped,
        response_nonce: this.#chance(0.1) ? this.#pick(['99', 'x']) : '',
        ...(!isKnown && stream.isBack && { initial_resource_versions: versionsOf(stream.has.get(type)) }),
      });
      for (const name of stream.has.get(type)?.keys() ?? [])
        if (!covers(type, subscription.names, name)) stream.has.get(type)?.delete(name);
    } else if (subscription) {
      const before = stream.names.get(type);
      // A wildcard stays one until the client names something.
      const names = before?.size === 0 && !isAll ? [] : isWildcard && !isKnown ? [] : [...(before ?? []), ...some];
      stream.names.set(type, new Set(names));
      if (isKnown && !stream.lastNonces.has(type)) return;
      subscription.request({
        resource_names: [...new Set(names)],
        version_info: isKnown || (stream.isBack && stream.has.has(type)) ? 'x' : '',
        response_nonce: isKnown ? (stream.lastNonces.get(type) ?? '') : '',
      });
    }
  }

  #subscribeToAll(): void {
    for (const each of this.#streams) each.isBlocked = false;
    this.#settle();
    if (this.#mode.isAggregated) {
      if (this.#streams.length === 0) this.#open();
      for (const stream of this.#streams) for (const type of this.#types) this.#subscribe(stream, type, true);
      return;
    }
    for (const type of this.#types) {
      const stream = this.#streams.find((each) => each.subscriptions.has(type)) ?? this.#open();
      this.#subscribe(stream, type, true);
    }
  }

  #answer(stream: PlayedStream): void {
    const response = stream.queue.shift();
    const subscription = response && stream.subscriptions.get(response.type);
    if (!response || !subscription) return;
    const message = this.#messageOf(response);
    if (message === undefined) stream.accept(response);
    const { type, nonce } = response;
    const answer = { response_nonce: nonce, ...(message !== undefined && { error_detail: { message } }) };
    if (subscription instanceof DeltaSubscription) subscription.request(answer);
    else {
      stream.lastNonces.set(type, nonce);
      subscription.request({ ...answer, resource_names: [...(stream.names.get(type) ?? [])], version_info: 'x' });
    }
  }

  /** Why the client refuses a response; undefined: it accepts it. */
  #messageOf({ resources, type }: Response): string | undefined {
    if (this.#temper === 'any' && !this.#isEnding && this.#chance(0.3)) return this.#pick(MESSAGES);
    for (const [name, text] of resources) {
      if (name === '') return MARKED;
      const [marker, bad] = [text.indexOf(PART_MARKER), text.search(HAS_BAD)];
      // A client reads in order.
      if (marker >= 0 && (bad < 0 || marker < bad || this.#temper !== 'strict'))
        return `no implementation of ${PART_MARKER}`;
      if (this.#temper !== 'strict' || bad < 0) continue;
      const isNamed = this.#chance(0.5) && (type === 'lds' || type === 'cds');
      return isNamed ? `Error adding/updating ${type === 'lds' ? 'listener' : 'cluster'}(s) ${name}: bad` : 'it is bad';
    }
    return undefined;
  }

  #isEnding = false;

  #settle(): void {
    this.#isEnding = true;
    for (let round = 0; ; round += 1) {
      assert.ok(round < 1_000, 'the server stops sending when nothing changes');
      for (const stream of this.#streams) stream.isBlocked = false;
      this.#node.flush();
      this.#clock.advance(0);
      const waiting = this.#streams.filter(({ queue }) => queue.length > 0);
      if (waiting.length === 0) return;
      for (const stream of waiting) while (stream.queue.length > 0) this.#answer(stream);
    }
  }

  /** The client has the newest version of all that it asks for. It has an older one, or none, of a resource that it refuses. */
  #assertLike(stream: PlayedStream): void {
    for (const [type, { names }] of stream.subscriptions) {
      const has = stream.has.get(type) ?? new Map<string, string>();
      const known = this.#store.ofType(type);
      const where = `of a ${this.#temper} client with ${JSON.stringify(stream.mode)}`;
      for (const { name } of known.values()) {
        if (!covers(type, names, name)) continue;
        const expected = this.#expected(type, name, stream);
        const found = has.get(name) ?? '';
        const isBad = this.#temper === 'strict' && HAS_BAD.test(expected);
        if (isBad && type === 'rds' && name === SHARED) assertInnocent(expected, found, where);
        else if (isBad) assert.doesNotMatch(found, HAS_BAD, `${type}/${name} ${where}`);
        else assert.equal(found, expected, `${type}/${name} ${where}`);
      }
      // In state of the world, the other types cannot express that something is gone.
      if (!stream.mode.isDelta && type !== 'lds' && type !== 'cds') continue;
      for (const name of has.keys())
        if (covers(type, names, name)) assert.ok(known.has(name), `${type}/${name} is gone ${where}`);
    }
  }

  #expected(type: ResourceType, name: string, stream: PlayedStream): string {
    const resource = this.#store.get(resourceKey(type, name));
    const bytes = resource?.bytes(stream.delivery, stream.shape) ?? new Uint8Array();
    return JSON.stringify(decode('google.protobuf.Any', bytes));
  }
}

/** The good hosts of a composed resource are served as they are, and the bad ones are not. */
function assertInnocent(expected: string, found: string, where: string): void {
  const hostsOf = (text: string) =>
    (text === '' ? [] : ((JSON.parse(text) as { virtual_hosts?: object[] }).virtual_hosts ?? [])).map((host) =>
      JSON.stringify(host),
    );
  const served = hostsOf(found);
  for (const host of hostsOf(expected))
    assert.equal(served.includes(host), !HAS_BAD.test(host), `${host} in ${found} ${where}`);
}
