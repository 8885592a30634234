// One resource as it is served: named, versioned by its content, and encoded once for all clients.
import {
  type Delivery,
  encodeAny,
  encodeAnyPieces,
  hashAny,
  hexHash,
  type Message,
  RESOURCE_MESSAGES,
  type ResourceType,
  VERSION_BYTES,
  type Violation,
  validate,
} from '../envoy/index.ts';
import { boundAddress } from './bind-address.ts';

/** `rds/ingress_http`: unique among all resources. */
export type ResourceKey = string;

export interface Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  /** A hash of the content: the same content has the same version in every replica and after every restart. */
  version(shape: Shape): string;
  /** The resource in an Any, for one delivery, in buffers that all clients share. */
  pieces(delivery: Delivery, shape: Shape): readonly Uint8Array[];
  /** The same in one buffer, which of a composed resource is a copy. */
  bytes(delivery: Delivery, shape: Shape): Uint8Array;
  /** What must be in place at a client before this resource is used: the clusters of a route, the endpoints of a cluster. */
  readonly requires: readonly ResourceKey[];
  /** Throws when it cannot be encoded. */
  check(): void;
  /** What Envoy would refuse in it; to be asked before it is encoded. */
  violations(): Violation[];
  /** What it was computed from, for problems that a client reports: `HTTPProxy default/shop`. */
  readonly origins: readonly string[];
  /** For a client whose wildcard and loopback addresses mean this one: a listener on that address; anything else as it is. */
  boundTo(address: string): Resource;
}

/** Delta clients on the aggregated stream get large route configurations split into virtual hosts. */
export type Shape = 'whole' | 'split';

export interface ResourceContent {
  readonly type: ResourceType;
  readonly name: string;
  /** A function is called when the resource is encoded: for one that is composed of chunks, whose bytes are kept by them. */
  readonly value: Message | (() => Message);
  /** Of a composed resource: a hash of its parts, so that its version is known without encoding it. */
  readonly contentHash?: string;
  /** Takes the place of the value for clients that get virtual hosts one by one; default: the value. */
  readonly splitValue?: Message;
  readonly requires?: readonly ResourceKey[];
  readonly origins?: readonly string[];
}

export function resourceKey(type: ResourceType, name: string): ResourceKey {
  return `${type}/${name}`;
}

export function createResource(content: ResourceContent): Resource {
  return new EncodedResource(content);
}

/** Whether a client that has one needs the other. */
export function isSameResource(left: Resource | undefined, right: Resource | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return left.key === right.key && left.version('whole') === right.version('whole');
}

/** Listeners and clusters name the source of what they refer to, which depends on how the client connects. */
const NAMES_SOURCES: ReadonlySet<ResourceType> = new Set(['lds', 'cds']);

class EncodedResource implements Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  readonly requires: readonly ResourceKey[];
  readonly origins: readonly string[];
  /** Given up once every form that can be asked for is encoded. */
  #value: Message | (() => Message) | undefined;
  #splitValue: Message | undefined;
  // Fields and no maps: there are tens of thousands of resources, and a map takes more than what is in it.
  #whole: Uint8Array | undefined;
  #delta: Uint8Array | undefined;
  #ads: Uint8Array | undefined;
  #split: Uint8Array | undefined;
  #version: string | undefined;
  #splitVersion: string | undefined;
  #bound: Map<string, Resource> | undefined;

  constructor({ type, name, value, contentHash, splitValue, requires = NONE, origins = NONE }: ResourceContent) {
    this.type = type;
    this.name = name;
    this.key = resourceKey(type, name);
    this.requires = requires;
    this.origins = origins;
    this.#value = value;
    this.#splitValue = splitValue;
    this.#version = contentHash;
  }

  version(shape: Shape): string {
    if (this.#splitValue !== undefined && shape === 'split')
      return (this.#splitVersion ??= versionOf(this.bytes('grpc', 'split')));
    // Which of its forms will be asked for is not known yet: the bytes of this one are not kept for the version's sake.
    this.#version ??= NAMES_SOURCES.has(this.type)
      ? hashAny(RESOURCE_MESSAGES[this.type], this.#message())
      : versionOf(this.bytes('grpc', 'whole'));
    return this.#version;
  }

  check(): void {
    hashAny(RESOURCE_MESSAGES[this.type], this.#message());
  }

  violations(): Violation[] {
    const value = typeof this.#value === 'function' ? this.#value() : this.#value;
    return value ? validate(RESOURCE_MESSAGES[this.type], value) : [];
  }

  boundTo(address: string): Resource {
    if (this.type !== 'lds') return this;
    this.#bound ??= new Map();
    let found = this.#bound.get(address);
    if (!found) {
      const value = this.#value;
      found = new BoundListener(this, () => rebound((typeof value === 'function' ? value() : value) ?? {}, address));
      this.#bound.set(address, found);
    }
    return found;
  }

  pieces(delivery: Delivery, shape: Shape): readonly Uint8Array[] {
    const isSplit = this.#splitValue !== undefined && shape === 'split';
    if (typeof this.#value !== 'function' || isSplit) return [this.bytes(delivery, shape)];
    return encodeAnyPieces(RESOURCE_MESSAGES[this.type], this.#value(), delivery);
  }

  bytes(delivery: Delivery, shape: Shape): Uint8Array {
    if (this.#splitValue !== undefined && shape === 'split')
      return (this.#split ??= encodeAny(RESOURCE_MESSAGES[this.type], this.#splitValue, delivery));
    if (typeof this.#value === 'function') return Buffer.concat(this.pieces(delivery, shape));
    if (NAMES_SOURCES.has(this.type)) {
      if (delivery === 'ads') return (this.#ads ??= this.#encode(delivery));
      if (delivery === 'delta') return (this.#delta ??= this.#encode(delivery));
      return (this.#whole ??= this.#encode(delivery));
    }
    if (!this.#whole) {
      this.#whole = this.#encode(delivery);
      this.#value = undefined;
    }
    return this.#whole;
  }

  #encode(delivery: Delivery): Uint8Array {
    return encodeAny(RESOURCE_MESSAGES[this.type], this.#message(), delivery);
  }

  #message(): Message {
    return (typeof this.#value === 'function' ? this.#value() : this.#value) ?? {};
  }
}

const NONE: readonly string[] = [];

function versionOf(bytes: Uint8Array): string {
  return hexHash(bytes, VERSION_BYTES);
}

/** The same listener on another address. It has the same version: a client sees one of the two only. */
class BoundListener implements Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  readonly requires: readonly ResourceKey[];
  readonly origins: readonly string[];
  readonly #of: Resource;
  readonly #value: () => Message;

  constructor(of: Resource, value: () => Message) {
    this.type = of.type;
    this.name = of.name;
    this.key = of.key;
    this.requires = of.requires;
    this.origins = of.origins;
    this.#of = of;
    this.#value = value;
  }

  version(shape: Shape): string {
    return this.#of.version(shape);
  }

  check(): void {
    this.#of.check();
  }

  violations(): Violation[] {
    return this.#of.violations();
  }

  boundTo(): Resource {
    return this;
  }

  pieces(delivery: Delivery): readonly Uint8Array[] {
    return encodeAnyPieces(RESOURCE_MESSAGES[this.type], this.#value(), delivery);
  }

  bytes(delivery: Delivery): Uint8Array {
    return Buffer.concat(this.pieces(delivery));
  }
}

interface SocketAddress {
  readonly address: string;
  readonly port_value: number;
}

function rebound(listener: Message, address: string): Message {
  const { socket_address: socket } = (listener['address'] ?? {}) as { readonly socket_address?: SocketAddress };
  if (socket === undefined) return listener;
  const bound = { address: boundAddress(socket.address, address), port_value: socket.port_value };
  return { ...listener, address: { socket_address: bound } };
}
