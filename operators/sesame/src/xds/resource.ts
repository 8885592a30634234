// One resource as it is served: named, versioned by its content, and encoded once for all clients.
import { hash } from 'node:crypto';
import {
  type Delivery,
  encodeAny,
  type Message,
  RESOURCE_MESSAGES,
  type ResourceType,
  type Violation,
  validate,
} from '../envoy/index.ts';

/** `rds/ingress_http`: unique among all resources. */
export type ResourceKey = string;

export interface Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  /** A hash of the content: the same content has the same version in every replica and after every restart. */
  version(shape: Shape): string;
  /** The resource in an Any, for one delivery; computed once. */
  bytes(delivery: Delivery, shape: Shape): Uint8Array;
  /** What must be in place at a client before this resource is used: the clusters of a route, the endpoints of a cluster. */
  readonly requires: readonly ResourceKey[];
  /** What Envoy would refuse in it; to be asked before it is encoded. */
  violations(): Violation[];
  /** What it was computed from, for problems that a client reports: `HTTPProxy default/shop`. */
  readonly origins: readonly string[];
}

/** Delta clients on the aggregated stream get large route configurations split into virtual hosts. */
export type Shape = 'whole' | 'split';

export interface ResourceContent {
  readonly type: ResourceType;
  readonly name: string;
  /** A function is called when the resource is encoded: for one that is composed of many parts. */
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
  readonly #encoded = new Map<string, Uint8Array>();
  readonly #versions = new Map<Shape, string>();

  constructor({ type, name, value, contentHash, splitValue, requires = [], origins = [] }: ResourceContent) {
    this.type = type;
    this.name = name;
    this.key = resourceKey(type, name);
    this.requires = requires;
    this.origins = origins;
    this.#value = value;
    this.#splitValue = splitValue;
    if (contentHash !== undefined) this.#versions.set('whole', contentHash);
  }

  version(shape: Shape): string {
    const effective = this.#splitValue === undefined ? 'whole' : shape;
    let version = this.#versions.get(effective);
    if (version === undefined) {
      version = hash('sha256', this.bytes('grpc', effective), 'hex').slice(0, 16);
      this.#versions.set(effective, version);
    }
    return version;
  }

  violations(): Violation[] {
    const value = typeof this.#value === 'function' ? this.#value() : this.#value;
    return value ? validate(RESOURCE_MESSAGES[this.type], value) : [];
  }

  bytes(delivery: Delivery, shape: Shape): Uint8Array {
    const form = NAMES_SOURCES.has(this.type) ? delivery : this.#splitValue === undefined ? 'whole' : shape;
    let bytes = this.#encoded.get(form);
    if (!bytes) {
      const value = form === 'split' ? this.#splitValue : this.#value;
      const content = typeof value === 'function' ? value() : value;
      bytes = encodeAny(RESOURCE_MESSAGES[this.type], content ?? {}, delivery);
      this.#encoded.set(form, bytes);
      if (form === 'whole') this.#value = undefined;
    }
    return bytes;
  }
}
