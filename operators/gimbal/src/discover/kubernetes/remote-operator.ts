// The remote cluster as the runtime sees it: a world with the role `remote`, of which two kinds are read and nothing is
// written. One sink gets each Service with its endpoints, by the key that it has there; another what the watches suffer from.
import { EndpointSlice, Endpoints, keyOf, type ObjectRef, refOfKey, Service } from '@capstan/kube/cluster';
import {
  derivation,
  index,
  type Operator,
  operator,
  type Reader,
  reading,
  type SinkBatch,
  type SinkContext,
  sink,
  type WatchProblem,
} from '@capstan/reconcile/contract';
import { isDiscovered, type RemoteService } from './map-service.ts';

export const REMOTE = 'remote';

/** Undefined for a Service that is not looked at. */
export type Remote = RemoteService | undefined;

/** What the watches suffer from; undefined where nothing is wrong. */
export interface RemoteWatches {
  readonly services: WatchProblem | undefined;
  readonly endpoints: WatchProblem | undefined;
}

export interface RemoteOperatorOptions {
  /** Which kind the endpoints of Services are read from. */
  readonly endpoints: 'EndpointSlice' | 'Endpoints';
  isWatched(namespace: string): boolean;
  opened(context: SinkContext<Remote, never>): void;
  taken(batch: SinkBatch<Remote>): void;
  watched(watches: RemoteWatches): void;
}

export function createRemoteOperator(options: RemoteOperatorOptions): Operator {
  const { kind, reads, of } = ENDPOINTS[options.endpoints];
  const services = derivation<Remote>({
    name: 'remote-service',
    compute({ key, read }) {
      const ref = refOfKey(key);
      if (!options.isWatched(ref.namespace ?? '')) return undefined;
      const service = read.get(Service, ref);
      return service === undefined || !isDiscovered(service) ? undefined : { service, ...of(read, ref) };
    },
  });
  const watches = derivation<RemoteWatches>({
    name: 'remote-watches',
    compute: ({ read }) => ({ services: read.watchProblem(Service), endpoints: read.watchProblem(kind) }),
  });
  const common = { in: REMOTE, reads: [SERVICES, reads], lease: 'none' } as const;
  const mirrors = sink<Remote>({
    ...common,
    name: 'mirrors',
    of: services,
    keys: Service,
    // What is here is compared by content anyway.
    version: (remote) => remote?.service.metadata.resourceVersion ?? '',
    open(context) {
      options.opened(context);
      return { take: options.taken };
    },
  });
  const state = sink<RemoteWatches>({
    ...common,
    name: 'remote-state',
    of: watches,
    keys: derivation<readonly string[]>({ name: 'the-remote-cluster', compute: () => [''] }),
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) options.watched(after);
      },
    }),
  });
  return operator({ name: 'gimbal-discoverer', kinds: [], reconcilers: [], sinks: [mirrors, state] });
}

/** No more of it is cached than can be seen in its mirror. */
const SERVICES = reading(Service, 'everywhere', {
  fields: ['metadata.annotations', 'spec.type', 'spec.clusterIP', 'spec.externalName', 'spec.ports'],
});

const slicesOfService = index(EndpointSlice, 'service', ({ metadata: { namespace, labels } }) => {
  const service = labels?.['kubernetes.io/service-name'] ?? '';
  return service === '' ? [] : [keyOf({ ...(namespace !== undefined && { namespace }), name: service })];
});

const ENDPOINTS = {
  EndpointSlice: {
    kind: EndpointSlice,
    reads: reading(EndpointSlice, 'everywhere', { fields: ['addressType', 'ports', 'endpoints'] }),
    of: (read: Reader, ref: ObjectRef) => ({ slices: read.by(slicesOfService, keyOf(ref)) }),
  },
  Endpoints: {
    kind: Endpoints,
    reads: reading(Endpoints, 'everywhere', { fields: ['subsets'] }),
    of: (read: Reader, ref: ObjectRef) => ({ endpoints: read.get(Endpoints, ref) }),
  },
} as const;
