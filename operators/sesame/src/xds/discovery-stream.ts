// One gRPC stream of a client: aggregated, or of one type; state of the world, or delta.
import type { ServerHttp2Stream } from 'node:http2';
import type { Logger } from '@capstan/kube';
import { DecodeError, type Delivery, decode, type ResourceType, typeOfUrl } from '../envoy/index.ts';
import { type DeltaDiscoveryRequest, DeltaSubscription } from './delta-subscription.ts';
import type { Deadlines } from './grpc/deadlines.ts';
import { type GrpcHandlers, GrpcStatus, GrpcStream } from './grpc/grpc-stream.ts';
import type { RefusalReason, XdsLimits } from './limits.ts';
import { placeOf } from './listener-place.ts';
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

/** The calls of a stream to its server; the same for all streams. */
export interface StreamCalls {
  readonly logger: Logger;
  readonly limits: XdsLimits;
  /** Streams whose first request, or the rest of a request, is awaited. */
  readonly awaited: Deadlines<AwaitedStream>;
  /** Adds to the bytes of incomplete requests of a connection, and returns their sum. */
  addIncomplete(http: ServerHttp2Stream, bytes: number): number;
  /** The server ends a stream. */
  onRefused(reason: RefusalReason): void;
  /** Adds to the characters of the names that a connection asks for, and returns their sum. */
  addNames(http: ServerHttp2Stream, characters: number): number;
  /** Closes a stream that was ended, after a moment: its client need not end its side. */
  closeLater(http: ServerHttp2Stream): void;
  /** The client that the first request names. */
  nodeOf(identity: NodeIdentity, http: ServerHttp2Stream, method: DiscoveryMethod): XdsNode;
  /** Reports whether there is a complete set of resources. */
  isComplete(): boolean;
  /** Runs at once, or when the first complete set of resources is there. */
  whenComplete(call: () => void): void;
  onSent(type: ResourceType, bytes: number): void;
  onClose(node: XdsNode | undefined): void;
}

/** A stream whose time for a request may run out. */
export interface AwaitedStream {
  timeOut(): void;
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
class DiscoveryStream implements SubscriptionStream, GrpcHandlers, AwaitedStream {
  readonly delivery: Delivery;
  readonly shape: Shape;
  readonly #http: ServerHttp2Stream;
  readonly #method: DiscoveryMethod;
  readonly #calls: StreamCalls;
  #grpc: GrpcStream | undefined;
  #node: XdsNode | undefined;
  #nonce = 0;
  /** Bytes of the request that has not arrived completely. */
  #incomplete = 0;
  /** Bytes of that, and of requests that wait for the first complete set. */
  #held = 0;
  #waiting = 0;
  #nameCharacters = 0;
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
    this.#grpc = new GrpcStream(this.#http, this, this.#calls.limits.requestBytes);
    this.#calls.awaited.start(this);
  }

  get isBlocked(): boolean {
    return !this.#grpc?.isOpen || this.#grpc.needsDrain;
  }

  nextNonce(): string {
    this.#nonce += 1;
    return String(this.#nonce);
  }

  send(type: ResourceType, buffers: readonly Uint8Array[]): void {
    let size = 0;
    for (const { length } of buffers) size += length;
    this.#calls.onSent(type, size);
    this.#grpc?.send(buffers);
  }

  onMessage(bytes: Buffer): void {
    const message = this.#method.isDelta ? DELTA_REQUEST : REQUEST;
    let request: Request;
    try {
      request = decode(message, bytes);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#refuse('message', GrpcStatus.invalidArgument, `the request is not a ${message}: ${error.message}`);
      return;
    }
    this.#waiting += 1;
    if (this.#waiting > this.#calls.limits.waitingRequests) {
      this.#refuse('memory', GrpcStatus.resourceExhausted, 'too many requests were sent before the first response');
      return;
    }
    const { isComplete } = this.#calls;
    const waiting = isComplete() ? 0 : bytes.length;
    if (waiting > 0) {
      // Its bytes were counted while it arrived.
      this.#hold(waiting - this.#incomplete);
      this.#incomplete = 0;
    }
    this.#calls.whenComplete(() => {
      this.#waiting -= 1;
      if (waiting > 0) this.#hold(-waiting);
      this.#contain(() => this.#handle(request));
    });
  }

  /** Counts the bytes of requests that are kept for this stream. */
  #hold(bytes: number): void {
    const { addIncomplete, limits } = this.#calls;
    // A stream that was ended has given its bytes back.
    const change = Math.max(bytes, -this.#held);
    this.#held += change;
    const sum = addIncomplete(this.#http, change);
    if (bytes > 0 && sum > limits.incompleteBytes)
      this.#refuse(
        'memory',
        GrpcStatus.resourceExhausted,
        `the connection has ${sum} bytes of waiting and incomplete requests; at most ${limits.incompleteBytes} are kept`,
      );
  }

  onIncomplete(bytes: number): void {
    const { awaited } = this.#calls;
    if (bytes === 0) awaited.stop(this);
    else awaited.start(this);
    if (bytes === this.#incomplete) return;
    const change = bytes - this.#incomplete;
    this.#incomplete = bytes;
    this.#hold(change);
  }

  onMalformed(reason: RefusalReason, status: GrpcStatus, message: string): void {
    this.#refuse(reason, status, message);
  }

  onDrain(): void {
    this.#node?.flush();
  }

  onClose(): void {
    this.#calls.awaited.stop(this);
    this.#hold(-this.#held);
    if (this.#nameCharacters > 0) this.#calls.addNames(this.#http, -this.#nameCharacters);
    this.#nameCharacters = 0;
    try {
      this.#subscription?.close();
      for (const subscription of this.#others?.values() ?? []) subscription.close();
    } finally {
      this.#calls.onClose(this.#node);
    }
  }

  onFailure(error: unknown): void {
    this.#calls.onRefused('error');
    this.#calls.closeLater(this.#http);
    this.#calls.logger.error('a stream of xDS failed and was ended; others go on', {
      node: this.#node?.id,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }

  fail(): void {
    this.#grpc?.end(GrpcStatus.internal, 'the server failed to update the client; its log has the reason');
    this.#calls.closeLater(this.#http);
  }

  timeOut(): void {
    const { requestMs } = this.#calls.limits;
    this.#refuse('time', GrpcStatus.deadlineExceeded, `no complete request arrived within ${requestMs / 1000} s`);
  }

  /** Ends this stream, with a status for its client and a line in the log. */
  #refuse(reason: RefusalReason, status: GrpcStatus, message: string): void {
    if (!this.#grpc?.isOpen) return;
    this.#calls.onRefused(reason);
    this.#calls.logger.warn('a stream of xDS is ended', { node: this.#node?.id, reason, message });
    this.#grpc.end(status, message);
    this.#hold(-this.#held);
    this.#calls.closeLater(this.#http);
  }

  #contain(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.onFailure(error);
      this.fail();
    }
  }

  #handle(request: Request): void {
    if (!this.#grpc?.isOpen) return;
    const { logger } = this.#calls;
    const identity = identityOf(request);
    const { nameLength, refusalLength } = this.#calls.limits;
    if (identity.id.length > nameLength) {
      this.#refuse(
        'names',
        GrpcStatus.resourceExhausted,
        `the id of the node has ${identity.id.length} characters; at most ${nameLength} are taken`,
      );
      return;
    }
    this.#node ??= this.#calls.nodeOf(identity, this.#http, this.#method);
    const type = this.#method.type ?? typeOfUrl(request.type_url ?? '');
    if (type === undefined) {
      logger.debug('a client asks for a type that is not served', { node: this.#node.id, type: request.type_url });
      return;
    }
    const subscription = this.#subscriptionTo(type, this.#node);
    const problem = this.#tooManyNames(request, subscription.names.size);
    if (problem !== undefined) {
      this.#refuse('names', GrpcStatus.resourceExhausted, problem);
      return;
    }
    const error = request.error_detail;
    if (!error) subscription.request(request);
    else {
      const message = error.message?.slice(0, refusalLength);
      // Refusals of responses that were not sent, or were answered, do not fill the log.
      if (subscription.awaits(request.response_nonce ?? ''))
        logger.warn('Envoy refuses a configuration', { node: this.#node.id, type, message });
      subscription.request({ ...request, error_detail: message === undefined ? {} : { message } });
    }
    this.#countNames();
  }

  #countNames(): void {
    let characters = 0;
    for (const subscription of [this.#subscription, ...(this.#others?.values() ?? [])])
      characters += subscription?.nameCharacters ?? 0;
    if (characters === this.#nameCharacters) return;
    const sum = this.#calls.addNames(this.#http, characters - this.#nameCharacters);
    this.#nameCharacters = characters;
    const { sessionNameLength } = this.#calls.limits;
    if (sum > sessionNameLength)
      this.#refuse(
        'names',
        GrpcStatus.resourceExhausted,
        `the connection asks for names of ${sum} characters; at most ${sessionNameLength} are kept`,
      );
  }

  #tooManyNames(request: Request, known: number): string | undefined {
    const { names, nameLength } = this.#calls.limits;
    const { resource_names: all = [], resource_names_subscribe: added = [] } = request;
    const initial = Object.keys(request.initial_resource_versions ?? {});
    const count = Math.max(all.length, known + added.length, initial.length);
    if (count > names) return `the stream asks for ${count} names; at most ${names} are served`;
    for (const list of [all, added, initial])
      for (const name of list)
        if (name.length > nameLength) return `a name has ${name.length} characters; at most ${nameLength} are taken`;
    return undefined;
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
  return { id: node?.id ?? '', place: placeOf(node?.metadata) };
}

function deliveryOf({ type, isDelta }: DiscoveryMethod): Delivery {
  if (type === undefined) return 'ads';
  return isDelta ? 'delta' : 'grpc';
}
