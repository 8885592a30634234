// One resource as it is served: named, versioned by its content, and encoded once for all clients.
import { interned } from '@capstan/kube';
import {
  type Delivery,
  decode,
  type Envoy,
  encodeAny,
  encodeAnyBuffers,
  hashAny,
  hexHash,
  RESOURCE_MESSAGES,
  type ResourceMessage,
  type ResourceType,
  type Violation,
  validate,
  withoutDelivery,
} from '../envoy/index.ts';
import { type ListenerPlace, placed } from './listener-place.ts';
import type { Composition } from './refusals/isolation.ts';

/** `rds/ingress_http`: unique among all resources. */
export type ResourceKey = string;

export interface Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  /** A hash of the content: the same content has the same version in every replica and after every restart. */
  version(shape: Shape): string;
  /** The resource in an Any, for one delivery, in buffers that all clients share. */
  buffers(delivery: Delivery, shape: Shape): readonly Uint8Array[];
  /** The same in one buffer, which of a composed resource is a copy. */
  bytes(delivery: Delivery, shape: Shape): Uint8Array;
  /** The resources that a client must have before it uses this one: the clusters of a route, the endpoints of a cluster. */
  readonly requires: readonly ResourceKey[];
  /** Returns one form, which is known already if any is. Nothing is kept for it, except for the chunks of a composed resource. */
  anyForm(): ResourceForm;
  /** Throws when it cannot be encoded. */
  check(): void;
  /** Returns the violations that Envoy would refuse. They cost least before the resource is encoded. */
  violations(): Violation[];
  /** The origins of the resource, for problems that a client reports: `HTTPProxy default/shop`. */
  readonly origins: readonly string[];
  /** For a client with places of its own: a listener at its place; anything else, and a listener that is there, as it is. */
  at(place: ListenerPlace): Resource;
  /** The composition of a resource with parts of many hosts. */
  readonly composition?: Composition | undefined;
  /** The model of a listener or of a layer of the runtime. There are few of them; the models of all others would cost memory. */
  readonly model?: object | undefined;
}

/** The bytes of a resource in an Any, for one delivery. */
export interface ResourceForm {
  readonly delivery: Delivery;
  readonly buffers: readonly Uint8Array[];
}

/** A resource that was encoded by another process. */
export interface EncodedContent extends Pick<ResourceContent, 'type' | 'name' | 'requires' | 'origins'> {
  readonly version: string;
  readonly form: { readonly delivery: Delivery; readonly bytes: Buffer };
}

/** Delta clients on the aggregated stream get large route configurations split into virtual hosts. */
export type Shape = 'whole' | 'split';

export interface ResourceContent<Type extends ResourceType = ResourceType> {
  readonly type: Type;
  readonly name: string;
  /** A function is called when the resource is encoded: for one that is composed of chunks, whose bytes are kept by them. */
  readonly value: ResourceMessage<Type> | (() => ResourceMessage<Type>);
  /** A hash of the parts of a composed resource, so that its version is known without encoding it. */
  readonly contentHash?: string;
  /** Takes the place of the value for clients that get virtual hosts one by one; default: the value. */
  readonly splitValue?: ResourceMessage<Type>;
  readonly requires?: readonly ResourceKey[];
  readonly origins?: readonly string[];
  readonly composition?: Composition;
  readonly model?: object;
}

export function resourceKey(type: ResourceType, name: string): ResourceKey {
  return interned(`${type}/${name}`);
}

export function createResource<Type extends ResourceType>(content: ResourceContent<Type>): Resource {
  return new EncodedResource(content);
}

/** The same resource from its bytes. It is never taken apart into the parts of its hosts. */
export function encodedResource({ form, version, ...content }: EncodedContent): Resource {
  return new EncodedResource({ ...content, value: {}, contentHash: version }, form);
}

/** Whether a client that has one needs the other. */
export function isSameResource(left: Resource | undefined, right: Resource | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return left.key === right.key && left.version('whole') === right.version('whole');
}

/** The bytes of a version. */
const VERSION_BYTES = 8;

/** Listeners and clusters name the source of their references, which depends on the client's connection. */
const NAMES_SOURCES: ReadonlySet<ResourceType> = new Set(['lds', 'cds']);

class EncodedResource implements Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  readonly requires: readonly ResourceKey[];
  readonly origins: readonly string[];
  /** Given up once one form is encoded, from which the others can be: of all but listeners. */
  #value: ResourceMessage | (() => ResourceMessage) | undefined;
  #version: string | undefined;
  /** The form that was asked for first: most have one only. Where it is, not a view of it, which would be as large as most are. */
  #slab: ArrayBufferLike | undefined;
  #from = 0;
  #length = 0;
  #delivery: Delivery = 'grpc';
  /** Fields that few resources have: there are tens of thousands of resources. */
  #more: More | undefined;

  constructor(content: ResourceContent, form?: EncodedContent['form']) {
    const { type, name, value, contentHash, splitValue, composition, model, requires = NONE, origins = NONE } = content;
    this.type = type;
    this.name = interned(name);
    this.key = resourceKey(type, name);
    this.requires = requires;
    this.origins = origins;
    this.#value = form ? undefined : value;
    if (form) this.#keep(form.bytes, form.delivery);
    if (splitValue || composition || model) this.#more = { ...(splitValue && { splitValue }), composition, model };
    this.#version = contentHash;
  }

  get composition(): Composition | undefined {
    return this.#more?.composition;
  }

  get model(): object | undefined {
    return this.#more?.model;
  }

  version(shape: Shape): string {
    if (this.#more?.splitValue && shape === 'split')
      return (this.#more.splitVersion ??= versionOf(this.bytes('grpc', 'split')));
    // Which of its forms will be asked for is not known yet: the bytes of this one are not kept for the version's sake.
    this.#version ??= NAMES_SOURCES.has(this.type)
      ? hashAny(RESOURCE_MESSAGES[this.type], this.#message(), VERSION_BYTES)
      : versionOf(this.bytes('grpc', 'whole'));
    return this.#version;
  }

  check(): void {
    hashAny(RESOURCE_MESSAGES[this.type], this.#message(), VERSION_BYTES);
  }

  violations(): Violation[] {
    return validate(RESOURCE_MESSAGES[this.type], this.#message());
  }

  at(place: ListenerPlace): Resource {
    if (this.type !== 'lds') return this;
    this.#more ??= {};
    this.#more.placed ??= new Map();
    const key = JSON.stringify(place);
    let found = this.#more.placed.get(key);
    if (!found) {
      const listener = () => this.#message() as Envoy.Listener;
      const original = listener();
      const isThere = placed(original, place) === original;
      found = isThere ? this : new PlacedListener(this, () => placed(listener(), place));
      const [oldest] = this.#more.placed.keys();
      if (this.#more.placed.size >= MOST_PLACES && oldest !== undefined) this.#more.placed.delete(oldest);
      this.#more.placed.set(key, found);
    }
    return found;
  }

  buffers(delivery: Delivery, shape: Shape): readonly Uint8Array[] {
    const isSplit = this.#more?.splitValue !== undefined && shape === 'split';
    const value = this.#value;
    if (typeof value !== 'function' || isSplit) return [this.bytes(delivery, shape)];
    const composed = ((this.#more ??= {}).composed ??= {});
    return (composed[delivery] ??= encodeAnyBuffers(RESOURCE_MESSAGES[this.type], value(), delivery));
  }

  bytes(delivery: Delivery, shape: Shape): Uint8Array {
    if (this.#more?.splitValue && shape === 'split')
      return (this.#more.split ??= encodeAny(RESOURCE_MESSAGES[this.type], this.#more.splitValue, delivery));
    if (typeof this.#value === 'function') return Buffer.concat(this.buffers(delivery, shape));
    const form = NAMES_SOURCES.has(this.type) ? delivery : 'grpc';
    const known = form === this.#delivery ? this.#first() : this.#more?.forms?.[form];
    if (known) return known;
    const bytes = encodeAny(RESOURCE_MESSAGES[this.type], this.#message(), form);
    if (this.#slab) ((this.#more ??= {}).forms ??= {})[form] = bytes;
    else {
      this.#keep(bytes, form);
      if (this.type !== 'lds') this.#value = undefined;
    }
    return bytes;
  }

  anyForm(): ResourceForm {
    const first = this.#first();
    if (first) return { delivery: this.#delivery, buffers: [first] };
    const [composed] = Object.entries(this.#more?.composed ?? {}) as [Delivery, readonly Uint8Array[]][];
    if (composed) return { delivery: composed[0], buffers: composed[1] };
    const delivery = NAMES_SOURCES.has(this.type) ? 'ads' : 'grpc';
    return { delivery, buffers: encodeAnyBuffers(RESOURCE_MESSAGES[this.type], this.#message(), delivery) };
  }

  #keep(bytes: Buffer, delivery: Delivery): void {
    this.#slab = bytes.buffer;
    this.#from = bytes.byteOffset;
    this.#length = bytes.length;
    this.#delivery = delivery;
  }

  #first(): Buffer | undefined {
    return this.#slab && Buffer.from(this.#slab, this.#from, this.#length);
  }

  #message(): ResourceMessage {
    if (this.#value === undefined) {
      const bytes = this.#first();
      return bytes ? withoutDelivery(decode('google.protobuf.Any', bytes) as ResourceMessage) : {};
    }
    return typeof this.#value === 'function' ? this.#value() : this.#value;
  }
}

/** Clients name their places: one that names many must not fill the memory. A place that was dropped is computed again. */
const MOST_PLACES = 256;

interface More {
  /** Takes the place of the value for clients that get virtual hosts one by one. */
  readonly splitValue?: ResourceMessage;
  readonly composition?: Composition | undefined;
  readonly model?: object | undefined;
  split?: Uint8Array;
  splitVersion?: string;
  /** The forms for other deliveries than the first. */
  forms?: Partial<Record<Delivery, Uint8Array>>;
  /** The buffers of a composed resource. Most of them belong to its parts, which other versions of it have too. */
  composed?: Partial<Record<Delivery, readonly Uint8Array[]>>;
  placed?: Map<string, Resource>;
}

const NONE: readonly string[] = [];

function versionOf(bytes: Uint8Array): string {
  return hexHash(bytes, VERSION_BYTES);
}

/** The same listener at another place. It has the same version: a client sees one of the two only. */
class PlacedListener implements Resource {
  readonly type: ResourceType;
  readonly name: string;
  readonly key: ResourceKey;
  readonly requires: readonly ResourceKey[];
  readonly origins: readonly string[];
  readonly #of: Resource;
  readonly #value: () => Envoy.Listener;
  readonly #forms: Partial<Record<Delivery, readonly Uint8Array[]>> = {};

  constructor(of: Resource, value: () => Envoy.Listener) {
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

  anyForm(): ResourceForm {
    return { delivery: 'ads', buffers: this.buffers('ads') };
  }

  check(): void {
    this.#of.check();
  }

  violations(): Violation[] {
    return this.#of.violations();
  }

  at(): Resource {
    return this;
  }

  get composition(): Composition | undefined {
    return this.#of.composition;
  }

  get model(): object | undefined {
    return this.#of.model;
  }

  buffers(delivery: Delivery): readonly Uint8Array[] {
    return (this.#forms[delivery] ??= encodeAnyBuffers(RESOURCE_MESSAGES.lds, this.#value(), delivery));
  }

  bytes(delivery: Delivery): Uint8Array {
    return Buffer.concat(this.buffers(delivery));
  }
}
