// One gRPC stream of a client: aggregated, or of one type; state of the world, or delta.
import type { ServerHttp2Stream } from 'node:http2';
import type { Logger } from '@capstan/kube';
import { DecodeError, type Delivery, decode, type ResourceType, typeOfUrl } from '../envoy/index.ts';
import { type DeltaDiscoveryRequest, DeltaSubscription } from './delta-subscription.ts';
import { GrpcStatus, openGrpcStream } from './grpc-stream.ts';
import type { SubscriptionStream } from './subscription.ts';
import { type DiscoveryRequest, WorldSubscription } from './world-subscription.ts';
import type { XdsNode } from './xds-node.ts';

export interface DiscoveryMethod {
  /** Undefined: the aggregated stream, whose requests name their type. */
  readonly type: ResourceType | undefined;
  readonly isDelta: boolean;
}

export interface DiscoveryStreamOptions {
  readonly http: ServerHttp2Stream;
  readonly method: DiscoveryMethod;
  readonly logger: Logger;
  /** The node that the first request names. */
  nodeOf(id: string): XdsNode;
  /** Runs at once, or when the first complete set of resources is there. */
  whenComplete(call: () => void): void;
  onSent(type: ResourceType, bytes: number): void;
  onClose(node: XdsNode | undefined): void;
}

interface Request extends DiscoveryRequest, DeltaDiscoveryRequest {
  readonly type_url?: string;
  readonly node?: { readonly id?: string };
}

export function openDiscoveryStream({ http, method, logger, ...options }: DiscoveryStreamOptions): void {
  const subscriptions = new Map<ResourceType, DeltaSubscription | WorldSubscription>();
  const message = `envoy.service.discovery.v3.${method.isDelta ? 'Delta' : ''}DiscoveryRequest`;
  let node: XdsNode | undefined;
  let nonce = 0;

  const stream: SubscriptionStream = {
    delivery: deliveryOf(method),
    shape: method.type === undefined && method.isDelta ? 'split' : 'whole',
    get isBlocked() {
      return !grpc.isOpen || grpc.needsDrain;
    },
    nextNonce() {
      nonce += 1;
      return String(nonce);
    },
    send(type, pieces) {
      options.onSent(
        type,
        pieces.reduce((sum, { length }) => sum + length, 0),
      );
      grpc.send(pieces);
    },
  };

  const handle = (request: Request) => {
    if (!grpc.isOpen) return;
    node ??= options.nodeOf(request.node?.id ?? '');
    const type = method.type ?? typeOfUrl(request.type_url ?? '');
    if (type === undefined) {
      logger.debug('a client asks for a type that is not served', { node: node.id, type: request.type_url });
      return;
    }
    let subscription = subscriptions.get(type);
    if (!subscription) {
      subscription = new (method.isDelta ? DeltaSubscription : WorldSubscription)(type, stream, node);
      subscriptions.set(type, subscription);
    }
    const error = request.error_detail;
    if (error) logger.warn('Envoy refuses a configuration', { node: node.id, type, message: error.message });
    subscription.request(request);
  };

  const grpc = openGrpcStream(http, {
    onMessage(bytes) {
      let request: Request;
      try {
        request = decode(message, bytes);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        grpc.end(GrpcStatus.invalidArgument, `the request is not a ${message}: ${error.message}`);
        return;
      }
      options.whenComplete(() => handle(request));
    },
    onDrain: () => node?.flush(),
    onClose() {
      for (const subscription of subscriptions.values()) subscription.close();
      options.onClose(node);
    },
  });
}

function deliveryOf({ type, isDelta }: DiscoveryMethod): Delivery {
  if (type === undefined) return 'ads';
  return isDelta ? 'delta' : 'grpc';
}
