// How Envoys subscribe: everything on one aggregated delta stream, or, with a plain bootstrap, state of the world on a stream for each name.
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDiscovery, type DiscoveryConnection, type DiscoveryResponse, versionsIn } from './discovery-client.ts';
import { hostOf, isSecure } from './objects.ts';

export interface Subscriber {
  readonly connection: DiscoveryConnection;
  /** Milliseconds from the call to the last of the resources that are there. */
  readonly completeMs: number;
  /** Milliseconds from the call to the first answer with clusters. */
  readonly firstMs: number;
  /** Resources in the first answer of the clusters; fewer than there are when something is answered before it is complete. */
  readonly firstClusters: number;
  /** When the next response with this text in it was there, by `performance.now()`. */
  seen(mark: string, limitMs?: number): Promise<number>;
  close(): void;
}

const TYPE = 'type.googleapis.com/envoy.';
const URLS = {
  cds: `${TYPE}config.cluster.v3.Cluster`,
  lds: `${TYPE}config.listener.v3.Listener`,
  eds: `${TYPE}config.endpoint.v3.ClusterLoadAssignment`,
  rds: `${TYPE}config.route.v3.RouteConfiguration`,
  vhds: `${TYPE}config.route.v3.VirtualHost`,
  sds: `${TYPE}extensions.transport_sockets.tls.v3.Secret`,
};
const PATHS = {
  ads: '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
  cds: '/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters',
  lds: '/envoy.service.listener.v3.ListenerDiscoveryService/StreamListeners',
  eds: '/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints',
  rds: '/envoy.service.route.v3.RouteDiscoveryService/StreamRoutes',
  sds: '/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets',
};
const LIMIT_MS = 120_000;
const SEEN_LIMIT_MS = 60_000;
/** Streams that are opened before the answers of the ones before them are read. */
const BATCH = 500;

/** The resources with N HTTPProxies in a namespace. */
export interface Expected {
  readonly namespace: string;
  readonly size: number;
  /** Whether plain hosts are split into virtual hosts where the protocol allows it. */
  readonly isSplit: boolean;
  /** The route configuration of the plain hosts. */
  readonly plainRoutes: string;
  /** Names of the Secrets of all hosts with TLS; none: no host has TLS. */
  readonly secretNames: readonly string[];
}

/** One aggregated delta stream. */
export async function subscribeAggregated(
  port: number,
  expected: Expected,
  began = performance.now(),
  onResponse?: (response: DiscoveryResponse) => void,
): Promise<Subscriber> {
  const { size, isSplit } = expected;
  const connection = await connectDiscovery(port, LIMIT_MS);
  const watch = marks();
  const counts = new Map<string, number>();
  let firstClusters = -1;
  let firstMs = Number.NaN;
  let wake: () => void = () => undefined;
  const stream = connection.open(PATHS.ads, true, (response) => {
    stream.ack(response, []);
    if (firstClusters < 0 && response.typeUrl === URLS.cds) {
      firstClusters = response.resources;
      firstMs = performance.now() - began;
    }
    onResponse?.(response);
    counts.set(response.typeUrl, (counts.get(response.typeUrl) ?? 0) + response.resources);
    watch.check(response);
    wake();
  });
  const reached = async (wanted: ReadonlyMap<string, number>) => {
    const deadline = performance.now() + LIMIT_MS;
    while ([...wanted].some(([url, count]) => (counts.get(url) ?? 0) < count)) {
      if (performance.now() > deadline) throw new Error(`resources did not arrive: ${describe(wanted, counts)}`);
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), sleep(1000)]);
      if (connection.problem) throw connection.problem;
    }
  };
  stream.subscribe(URLS.cds, []);
  await reached(new Map([[URLS.cds, size * 2]]));
  stream.subscribe(URLS.eds, endpointNames(expected));
  stream.subscribe(URLS.lds, []);
  await reached(
    new Map([
      [URLS.eds, size * 2],
      [URLS.lds, 2],
    ]),
  );
  stream.subscribe(URLS.rds, routeNames(expected));
  if (expected.secretNames.length > 0) stream.subscribe(URLS.sds, expected.secretNames);
  if (isSplit) stream.subscribe(URLS.vhds, [expected.plainRoutes]);
  await reached(
    new Map([
      [URLS.rds, routeNames(expected).length],
      [URLS.sds, expected.secretNames.length],
      ...(isSplit ? [[URLS.vhds, size] as const] : []),
    ]),
  );
  const completeMs = performance.now() - began;
  return { connection, completeMs, firstMs, firstClusters, seen: watch.seen, close: () => connection.close() };
}

/** The versions of everything that a client has, by the URL of the type. */
export type Held = Map<string, Map<string, string>>;

/** A client that keeps the versions of the resources that it is sent. */
export async function subscribeAndHold(port: number, expected: Expected, began?: number): Promise<[Subscriber, Held]> {
  const held: Held = new Map();
  const subscriber = await subscribeAggregated(port, expected, began, (response) => {
    const versions = held.get(response.typeUrl) ?? new Map<string, string>();
    for (const [name, version] of versionsIn(response)) versions.set(name, version);
    held.set(response.typeUrl, versions);
  });
  return [subscriber, held];
}

/** A client that comes back with everything: it is sent nothing until something changes. */
export async function resume(
  port: number,
  expected: Expected,
  held: Held,
  node: string,
): Promise<Pick<Subscriber, 'seen' | 'close'>> {
  const connection = await connectDiscovery(port, LIMIT_MS, node);
  const watch = marks();
  const stream = connection.open(PATHS.ads, true, (response) => {
    stream.ack(response, []);
    watch.check(response);
  });
  const names = new Map<string, readonly string[]>([
    [URLS.cds, []],
    [URLS.eds, endpointNames(expected)],
    [URLS.lds, []],
    [URLS.rds, routeNames(expected)],
    [URLS.sds, expected.secretNames],
    ...(expected.isSplit ? [[URLS.vhds, [expected.plainRoutes]] as const] : []),
  ]);
  for (const [url, asked] of names) stream.subscribe(url, asked, held.get(url));
  return { seen: watch.seen, close: () => connection.close() };
}

/** As Envoy with a plain bootstrap: a stream for the clusters, one for the listeners, and one for each name of everything else. */
export async function subscribeByName(
  port: number,
  expected: Expected,
  began = performance.now(),
): Promise<Subscriber> {
  const { size } = expected;
  const connection = await connectDiscovery(port, LIMIT_MS);
  const watch = marks();
  let firstClusters = -1;
  let firstMs = Number.NaN;
  const open = (type: 'cds' | 'lds' | 'eds' | 'rds' | 'sds', names: readonly string[]) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${type} ${names.join()}: no answer in time`)), LIMIT_MS);
      const stream = connection.open(PATHS[type], false, (response) => {
        stream.ack(response, names);
        if (type === 'cds' && firstClusters < 0) {
          firstClusters = response.resources;
          firstMs = performance.now() - began;
        }
        watch.check(response);
        if (type === 'cds' && response.resources < size * 2) return;
        clearTimeout(timer);
        resolve();
      });
      stream.subscribe(URLS[type], names);
    });
  await open('cds', []);
  await inBatches(endpointNames(expected), (name) => open('eds', [name]));
  await open('lds', []);
  await inBatches(routeNames(expected), (name) => open('rds', [name]));
  await inBatches(expected.secretNames, (name) => open('sds', [name]));
  if (connection.problem) throw connection.problem;
  const completeMs = performance.now() - began;
  return { connection, completeMs, firstMs, firstClusters, seen: watch.seen, close: () => connection.close() };
}

async function inBatches(names: readonly string[], open: (name: string) => Promise<void>): Promise<void> {
  for (let at = 0; at < names.length; at += BATCH) await Promise.all(names.slice(at, at + BATCH).map(open));
}

function marks() {
  let waiting: { mark: Buffer; resolve(at: number): void } | undefined;
  return {
    check({ bytes, typeUrl }: DiscoveryResponse) {
      if (!waiting || typeUrl === URLS.cds || typeUrl === URLS.lds || !bytes.includes(waiting.mark)) return;
      waiting.resolve(performance.now());
      waiting = undefined;
    },
    async seen(mark: string, limitMs = SEEN_LIMIT_MS): Promise<number> {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${mark}: no response with it came in time`)), limitMs);
      });
      const found = new Promise<number>((resolve) => {
        waiting = { mark: Buffer.from(mark), resolve };
      });
      try {
        return await Promise.race([found, late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function describe(wanted: ReadonlyMap<string, number>, counts: ReadonlyMap<string, number>): string {
  return [...wanted].map(([url, count]) => `${url.slice(TYPE.length)} ${counts.get(url) ?? 0} of ${count}`).join(', ');
}

const indexes = (size: number) => Array.from({ length: size }, (_, index) => index);
const endpointNames = ({ namespace, size }: Expected) =>
  indexes(size).flatMap((index) => ['a', 'b'].map((part) => `${namespace}/service-${index}-${part}/http`));
const routeNames = ({ size, plainRoutes, secretNames }: Expected) => [
  plainRoutes,
  ...(secretNames.length === 0 ? [] : indexes(size).filter(isSecure)).map((index) => `https/${hostOf(index)}`),
];
