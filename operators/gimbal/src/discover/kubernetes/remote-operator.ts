// The remote cluster as the runtime sees it: a world with the role `remote`. Two of its kinds are read, and nothing is written. One sink
// receives each Service with its endpoints, by its key there. Other sinks receive the problems of the watches and the identity of the
// cluster.
import {
  type Client,
  EndpointSlice,
  Endpoints,
  isForbidden,
  keyOf,
  Namespace,
  type ObjectRef,
  refOfKey,
  Service,
} from '@capstan/kube/cluster';
import {
  derivation,
  fact,
  index,
  type Operator,
  operator,
  type Reader,
  reading,
  type SinkContext,
  type SinkSession,
  sink,
  type WatchProblem,
} from '@capstan/reconcile/contract';
import { isDiscovered, type RemoteService } from './map-service.ts';

export const REMOTE = 'remote';

/** Undefined for a Service that is not looked at. */
export type Remote = RemoteService | undefined;

/** The problems of the watches; undefined for a watch without a problem. */
export interface RemoteWatches {
  readonly services: WatchProblem | undefined;
  readonly endpoints: WatchProblem | undefined;
}

export interface RemoteOperatorOptions {
  /** Which kind the endpoints of Services are read from. */
  readonly endpoints: 'EndpointSlice' | 'Endpoints';
  /** The client of the remote cluster. */
  readonly client: Client;
  isWatched(namespace: string): boolean;
  open(context: SinkContext<Remote, never>): SinkSession<Remote>;
  watched(watches: RemoteWatches): void;
  identified(identity: RemoteIdentity): void;
}

/** The identity of the cluster; undefined where it does not let us know. */
export interface RemoteIdentity {
  readonly uid: string | undefined;
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
    // Mirrors in this cluster are compared by content anyway.
    version: (remote) => remote?.service.metadata.resourceVersion ?? '',
    open: (context) => options.open(context),
  });
  const state = sink<RemoteWatches>({
    ...common,
    name: 'remote-state',
    of: watches,
    keys: THE_CLUSTER,
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) options.watched(after);
      },
    }),
  });
  const asked = identityOf(options.client);
  const identity = sink<RemoteIdentity | undefined>({
    in: REMOTE,
    lease: 'none',
    name: 'remote-identity',
    of: derivation<RemoteIdentity | undefined>({
      name: 'remote-identity',
      // While there is no answer, the watches report the problem.
      compute: ({ read }) => read.fact(asked, 'kube-system').value,
    }),
    keys: THE_CLUSTER,
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) options.identified(after);
      },
    }),
  });
  return operator({ name: 'gimbal-discoverer', kinds: [], reconcilers: [], sinks: [mirrors, state, identity] });
}

const THE_CLUSTER = derivation<readonly string[]>({ name: 'the-remote-cluster', compute: () => [''] });

/** The remote cluster shows its identity once. If it forbids the read, it is not asked again. */
const identityOf = (client: Client) =>
  fact<RemoteIdentity>({
    name: 'identity-of-the-remote-cluster',
    readOnly: true,
    retryMs: 500,
    maxRetryMs: 30_000,
    async fetch(name, { signal }) {
      try {
        const found = await client.find(Namespace, { name }, { signal, metadataOnly: true });
        return { uid: found?.metadata.uid };
      } catch (error) {
        if (isForbidden(error)) return { uid: undefined };
        throw error;
      }
    },
  });

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
