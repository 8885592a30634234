// One gRPC stream of a client: aggregated, or of one type; state of the world, or delta.
import type { ServerHttp2Stream } from 'node:http2';
import { isIP } from 'node:net';
import type { Logger } from '@capstan/kube';
import { DecodeError, type Delivery, decode, type ResourceType, typeOfUrl } from '../envoy/index.ts';
import { BIND_METADATA } from './bind-address.ts';
import { type DeltaDiscoveryRequest, DeltaSubscription } from './delta-subscription.ts';
import { type GrpcHandlers, GrpcStatus, GrpcStream } from './grpc-stream.ts';
import type { Shape } from './resource.ts';
import type { SubscriptionStream } from './subscription.ts';
import { type DiscoveryRequest, WorldSubscription } from './world-subscription.ts';
import type { NodeIdentity, XdsNode } from './xds-node.ts';

export interface DiscoveryMethod {
  /** Undefined: the aggregated stream, whose requests name their type. */
  readonly type: ResourceType | undefined;
  readonly isDelta: boolean;
}

export interface DiscoveryStreamOptions {
  readonly http: ServerHttp2Stream;
  readonly method: DiscoveryMethod;
  readonly calls: StreamCalls;
}

/** What a stream asks of its server; the same for all streams. */
export interface StreamCalls {
  readonly logger: Logger;
  /** The node that the first request names. */
  nodeOf(identity: NodeIdentity, http: ServerHttp2Stream): XdsNode;
  /** Runs at once, or when the first complete set of resources is there. */
  whenComplete(call: () => void): void;
  onSent(type: ResourceType, bytes: number): void;
  onClose(node: XdsNode | undefined): void;
}

interface Request extends DiscoveryRequest, DeltaDiscoveryRequest {
  readonly type_url?: string;
  readonly node?: { readonly id?: string; readonly metadata?: Readonly<Record<string, unknown>> };
}

export function openDiscoveryStream(options: DiscoveryStreamOptions): void {
  const stream = new DiscoveryStream(options);
  stream.open();
}

/** One object for all that a stream does: there may be tens of thousands of them. */
class DiscoveryStream implements SubscriptionStream, GrpcHandlers {
  readonly delivery: Delivery;
  readonly shape: Shape;
  readonly #http: ServerHttp2Stream;
  readonly #method: DiscoveryMethod;
  readonly #calls: StreamCalls;
  #grpc: GrpcStream | undefined;
  #node: XdsNode | undefined;
  #nonce = 0;
  /** A stream of one type has one, the aggregated stream several. */
  #subscription: DeltaSubscription | WorldSubscription | undefined;
  #others: Map<ResourceType, DeltaSubscription | WorldSubscription> | undefined;

  constructor({ http, method, calls }: DiscoveryStreamOptions) {
    this.#http = http;
    this.#method = method;
    this.#calls = calls;
    this.delivery = deliveryOf(method);
    this.shape = method.type === undefined && method.isDelta ? 'split' : 'whole';
  }

  open(): void {
    this.#grpc = new GrpcStream(this.#http, this);
  }

  get isBlocked(): boolean {
    return !this.#grpc?.isOpen || this.#grpc.needsDrain;
  }

  nextNonce(): string {
    this.#nonce += 1;
    return String(this.#nonce);
  }

  ping(onEnd: (isAnswered: boolean) => void): void {
    const { session } = this.#http;
    const isSent = session !== undefined && !session.destroyed && session.ping((error) => onEnd(error === null));
    if (!isSent) onEnd(false);
  }

  send(type: ResourceType, pieces: readonly Uint8Array[]): void {
    let size = 0;
    for (const { length } of pieces) size += length;
    this.#calls.onSent(type, size);
    this.#grpc?.send(pieces);
  }

  onMessage(bytes: Buffer): void {
    const message = this.#method.isDelta ? DELTA_REQUEST : REQUEST;
    let request: Request;
    try {
      request = decode(message, bytes);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#grpc?.end(GrpcStatus.invalidArgument, `the request is not a ${message}: ${error.message}`);
      return;
    }
    this.#calls.whenComplete(() => this.#handle(request));
  }

  onDrain(): void {
    this.#node?.flush();
  }

  onClose(): void {
    this.#subscription?.close();
    for (const subscription of this.#others?.values() ?? []) subscription.close();
    this.#calls.onClose(this.#node);
  }

  #handle(request: Request): void {
    if (!this.#grpc?.isOpen) return;
    const { logger } = this.#calls;
    this.#node ??= this.#calls.nodeOf(identityOf(request), this.#http);
    const type = this.#method.type ?? typeOfUrl(request.type_url ?? '');
    if (type === undefined) {
      logger.debug('a client asks for a type that is not served', { node: this.#node.id, type: request.type_url });
      return;
    }
    const error = request.error_detail;
    if (error) logger.warn('Envoy refuses a configuration', { node: this.#node.id, type, message: error.message });
    this.#subscriptionTo(type, this.#node).request(request);
  }

  #subscriptionTo(type: ResourceType, node: XdsNode): DeltaSubscription | WorldSubscription {
    const known = this.#subscription?.type === type ? this.#subscription : this.#others?.get(type);
    if (known) return known;
    const { isDelta } = this.#method;
    const subscription = new (isDelta ? DeltaSubscription : WorldSubscription)(type, this, node);
    if (!this.#subscription) this.#subscription = subscription;
    else {
      this.#others ??= new Map();
      this.#others.set(type, subscription);
    }
    return subscription;
  }
}

const REQUEST = 'envoy.service.discovery.v3.DiscoveryRequest';
const DELTA_REQUEST = 'envoy.service.discovery.v3.DeltaDiscoveryRequest';

function identityOf({ node }: Request): NodeIdentity {
  const address = node?.metadata?.[BIND_METADATA];
  return { id: node?.id ?? '', ...(typeof address === 'string' && isIP(address) !== 0 && { bindAddress: address }) };
}

function deliveryOf({ type, isDelta }: DiscoveryMethod): Delivery {
  if (type === undefined) return 'ads';
  return isDelta ? 'delta' : 'grpc';
}
