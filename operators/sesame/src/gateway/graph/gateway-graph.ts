// Gateways as a graph of derivations: the state of each listener, the attached routes, the translation of each route and the routes of each
// host are computed apart, so that an edit of a route computes that route and its hosts.
import { type Derived, derivation, type KeySet, type Reader } from '@capstan/reconcile';
import type { Cluster } from '../../model/cluster.ts';
import type { Route } from '../../model/route.ts';
import { Piece, type RouteConfiguration } from '../../routing/assembly/piece.ts';
import { inOrder } from '../../routing/conditions.ts';
import { clusterKey, clusterResource } from '../../routing/envoy/cluster-message.ts';
import { clustersOf } from '../../routing/envoy/route-message.ts';
import { secretResource } from '../../routing/envoy/secret-message.ts';
import { fingerprint } from '../../routing/fingerprint.ts';
import { readLookup } from '../../routing/lookup.ts';
import { globalAuthorization, globalAuthorizationPolicy } from '../../routing/policy/authorization.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import { type Resource, type ResourceKey } from '../../xds/index.ts';
import {
  type AnyRoute,
  type GRPCRoute,
  type HTTPRoute,
  ROUTE_KINDS,
  type RouteKindName,
  type StreamRule,
} from '../api/objects.ts';
import { isGatewayParent, type ParentReference, parentKey } from '../api/references.ts';
import { type AttachedRoute, type PlannedHost, planHosts } from '../envoy/host-plan.ts';
import { firstOfEach, hostRoutes } from '../envoy/host-routes.ts';
import { type Placement, portResources, routesName, type ServedStream } from '../envoy/port-listener.ts';
import { type GatewayState, gatewayState } from '../listeners/listener-state.ts';
import { attach } from '../routes/attachment.ts';
import type { GatewayReads } from '../routes/gateway-reads.ts';
import { translateGrpcRoute } from '../routes/grpc-rules.ts';
import { type RuleContext, translateHttpRoute } from '../routes/http-rules.ts';
import { translateStream } from '../routes/stream-rules.ts';
import type { StreamTarget, TranslatedRoute } from '../routes/translated-route.ts';

export interface GatewayGraphOptions {
  readonly reads: GatewayReads;
  readonly settings: Derived<RoutingSettings>;
  /** Whether a Gateway of this key (NAMESPACE/NAME) and class is served here. */
  selects(read: Reader, key: string, className: string): boolean;
  /** Where Envoy opens the ports of a Gateway, by its key; undefined: nowhere yet. */
  readonly placements: Derived<Placement | undefined>;
}

/** The values that a piece is translated from, by the keys of its resources. */
type Models = Readonly<Record<ResourceKey, object>>;

export interface OwnGateway {
  readonly namespace: string;
  readonly name: string;
  readonly controllerName: string;
  readonly state: GatewayState;
}

export interface GatewayGraph {
  /** Undefined: not ours. */
  readonly gateways: Derived<OwnGateway | undefined>;
  readonly routes: Derived<readonly AttachedRoute[]>;
  /** The hosts of a Gateway, by its key. */
  readonly hosts: Derived<readonly PlannedHost[]>;
  readonly translated: Derived<TranslatedRoute>;
  readonly streams: Derived<StreamTarget>;
  readonly keys: readonly KeySet[];
  owns(key: string): boolean;
  piece(key: string, read: Reader): Piece;
  model(key: string, read: Reader): Models;
}

const GATEWAY = 'gateway:';
const HOST = 'gateway-host:';

export function gatewayGraph({ reads, settings, selects, placements }: GatewayGraphOptions): GatewayGraph {
  const { kinds } = reads;
  const isSame = (left: unknown, right: unknown) => fingerprint(left) === fingerprint(right);

  const gateways = derivation<OwnGateway | undefined>({
    name: 'gateway',
    compute({ key, read }) {
      const ref = refOf(key);
      const gateway = reads.isServed(read, kinds.Gateway) ? read.get(kinds.Gateway, ref, specOf) : undefined;
      if (!gateway || !selects(read, key, gateway.gatewayClassName)) return undefined;
      const lookup = reads.lookup(read);
      const controllerName = lookup.gatewayClass(gateway.gatewayClassName)?.controllerName;
      // A Gateway cannot be judged without its class.
      if (controllerName === undefined) return undefined;
      return { ...ref, controllerName, state: gatewayState(gateway, ref.namespace, lookup) };
    },
    equals: isSame,
  });

  const routes = derivation<readonly AttachedRoute[]>({
    name: 'gateway-routes',
    compute({ key, read }) {
      const gateway = read.derived(gateways, key);
      if (!gateway) return [];
      const lookup = reads.lookup(read);
      const { namespace, state } = gateway;
      const found = ROUTE_KINDS.flatMap((kind) =>
        reads.isServed(read, kinds[kind])
          ? read.by(reads.routesByGateway[kind], key, parentsOf).map((view) => ({ kind, ...view }))
          : [],
      );
      return found.toSorted(byAge).map(({ kind, namespace: own, name, hostnames, parentRefs }) => ({
        kind,
        key: `${own}/${name}`,
        attachments: parentRefs
          .filter((parent) => isGatewayParent(parent) && parentKey(parent, own) === key)
          .map((parent) =>
            attach({ kind, namespace: own, hostnames }, parent, { namespace, listeners: state.listeners }, lookup),
          ),
      }));
    },
  });

  const hosts = derivation<readonly PlannedHost[]>({
    name: 'gateway-hosts',
    compute: ({ key, read }) =>
      planHosts(read.derived(gateways, key)?.state.listeners ?? [], read.derived(routes, key)),
  });

  const routesByHost = derivation<Readonly<Record<string, readonly string[]>>>({
    name: 'gateway-routes-by-host',
    compute: ({ key, read }) =>
      Object.fromEntries(
        read.derived(hosts, key).map(({ listener, host, routes: found }) => [`${listener}/${host}`, found]),
      ),
  });

  /** The routes of one host, by its key: another host's change stops here. */
  const routesOfHost = derivation<readonly string[]>({
    name: 'gateway-host-routes',
    compute({ key, read }) {
      const { gateway, listener, host } = hostOf(key);
      return read.derived(routesByHost, gateway)[`${listener}/${host}`] ?? [];
    },
  });

  const contextOf = (read: Reader, routeKey: string): { context: RuleContext; kind: RouteKindName } | undefined => {
    const { kind, namespace, name, gateway, scheme, port } = translationOf(routeKey);
    const own = read.derived(gateways, gateway);
    return {
      kind,
      context: {
        kind,
        namespace,
        name,
        lookup: reads.lookup(read),
        settings: read.derived(settings, ''),
        clientCertificate: own?.state.clientCertificate,
        listener: { scheme, port },
      },
    };
  };

  /** By KIND/NAMESPACE/NAME@GATEWAY@SCHEME:PORT. */
  const translated = derivation<TranslatedRoute>({
    name: 'gateway-route',
    compute({ key, read }) {
      const found = contextOf(read, key);
      const ref = found && { namespace: found.context.namespace, name: found.context.name };
      if (found?.kind === 'HTTPRoute' && ref) {
        const spec = read.get(kinds.HTTPRoute, ref, specOf);
        return spec ? translateHttpRoute({ spec } as HTTPRoute, found.context) : NOTHING;
      }
      if (found?.kind === 'GRPCRoute' && ref) {
        const spec = read.get(kinds.GRPCRoute, ref, specOf);
        return spec ? translateGrpcRoute({ spec } as GRPCRoute, found.context) : NOTHING;
      }
      return NOTHING;
    },
    equals: isSame,
  });

  const streams = derivation<StreamTarget>({
    name: 'gateway-stream',
    compute({ key, read }) {
      const found = contextOf(read, key);
      if (found?.kind !== 'TLSRoute' && found?.kind !== 'TCPRoute') return NO_STREAM;
      const { namespace, name } = found.context;
      const rules = read.get<AnyRoute, readonly StreamRule[]>(kinds[found.kind], { namespace, name }, rulesOf);
      return rules ? translateStream(rules, found.context) : NO_STREAM;
    },
    equals: isSame,
  });

  const routesServed = (key: string, read: Reader): Route[] => {
    const { gateway, scheme, port } = hostOf(key);
    return read
      .derived(routesOfHost, key)
      .flatMap((route) => read.derived(translated, `${route}@${gateway}@${scheme}:${port}`).routes);
  };

  const hostPiece = (key: string, read: Reader): Piece => {
    const { gateway, scheme, port, listener, host } = hostOf(key);
    const placement = read.derived(placements, gateway);
    if (!placement) return new Piece({});
    const found = routesServed(key, read);
    const clusters = new Map<string, Resource>();
    for (const route of found)
      for (const cluster of clustersOf(route)) clusters.set(clusterKey(cluster), clusterResource(cluster));
    const routes = routesName(scheme, port, listener, placement);
    const policy = globalAuthorizationPolicy(read.derived(settings, ''));
    const { fragment, resource } = hostRoutes(routes, host, found, policy);
    return new Piece({
      resources: [...clusters.values(), resource],
      routePart: { routes, part: { name: host, fragment, requires: [...clusters.keys()] } },
    });
  };

  const keysOf = (read: Reader, key: string): string[] => {
    const gateway = read.derived(gateways, key);
    if (!gateway) return [];
    return read.derived(hosts, key).flatMap((planned) => hostKey(key, gateway.state, planned) ?? []);
  };

  const pieceKeys = derivation<readonly string[]>({
    name: 'gateway-keys',
    compute: ({ key, read }) => (read.derived(gateways, key) ? [GATEWAY + key, ...keysOf(read, key)] : []),
  });

  const hostModel = (key: string, read: Reader): Models => {
    const { gateway, scheme, port, listener, host } = hostOf(key);
    const placement = read.derived(placements, gateway);
    if (!placement) return {};
    const found = routesServed(key, read);
    return {
      ...modelsOfClusters(found.flatMap((route) => clustersOf(route))),
      [`vhds/${routesName(scheme, port, listener, placement)}/${host}`]: { routes: inOrder(firstOfEach(found)) },
    };
  };

  const gatewayPiece = (key: string, read: Reader, models?: (model: Models) => void): Piece => {
    const gateway = read.derived(gateways, key);
    const placement = read.derived(placements, key);
    if (!gateway || !placement) return new Piece({});
    const effective = read.derived(settings, '');
    const { state } = gateway;
    const authorization = globalAuthorization(effective, readLookup(read));
    const planned = read.derived(hosts, key);
    const served = state.listeners.filter(({ isServed }) => isServed);
    const resources = new Map<string, Resource>();
    const configurations: RouteConfiguration[] = [];
    const add = (resource: Resource) => resources.set(resource.key, resource);
    for (const { certificates } of served) for (const each of certificates) add(secretResource(each));
    if (state.clientCertificate) add(secretResource(state.clientCertificate));
    for (const port of new Set(served.map((listener) => listener.port))) {
      const listeners = served.filter((listener) => listener.port === port);
      const ofPort = planned.filter((each) => each.port === port);
      const content = {
        port,
        listeners,
        origin: { kind: 'Gateway', ...refOf(key), path: 'spec.listeners' },
        hosts: ofPort.filter((each) => hostKey(key, state, each) !== undefined),
        streams: ofPort.flatMap((each): ServedStream[] => {
          const [oldest] = each.routes;
          if (oldest === undefined || hostKey(key, state, each) !== undefined) return [];
          const target = read.derived(streams, `${oldest}@${key}@tls:${port}`);
          const clusters = target.destinations.flatMap(({ cluster }) => cluster ?? []);
          for (const cluster of clusters) add(clusterResource(cluster));
          models?.(modelsOfClusters(clusters));
          return [{ listener: each.listener, host: each.host, target }];
        }),
      };
      const opened = portResources(content, placement, effective, authorization);
      if (opened.listener) add(opened.listener);
      configurations.push(...opened.configurations);
    }
    return new Piece({ resources: [...resources.values()], configurations });
  };

  return {
    gateways,
    routes,
    hosts,
    translated,
    streams,
    keys: [{ each: kinds.Gateway, keys: pieceKeys }],
    owns: (key) => key.startsWith(GATEWAY) || key.startsWith(HOST),
    piece: (key, read) => (key.startsWith(HOST) ? hostPiece(key, read) : gatewayPiece(key.slice(GATEWAY.length), read)),
    model(key, read) {
      if (key.startsWith(HOST)) return hostModel(key, read);
      const found: Record<string, object> = {};
      gatewayPiece(key.slice(GATEWAY.length), read, (model) => Object.assign(found, model));
      return found;
    },
  };
}

function modelsOfClusters(clusters: readonly Cluster[]): Models {
  return Object.fromEntries(clusters.map((cluster) => [clusterKey(cluster), cluster]));
}

const NOTHING: TranslatedRoute = { routes: [], refProblems: [], invalidRules: [], ruleCount: 0 };
const NO_STREAM: StreamTarget = { destinations: [], refProblems: [], origin: undefined };

const specOf = <S>({ spec }: { readonly spec: S }): S => spec;
const rulesOf = ({ spec }: AnyRoute): readonly StreamRule[] => spec.rules ?? [];

interface RouteView {
  readonly namespace: string;
  readonly name: string;
  readonly created: string;
  readonly hostnames: readonly string[] | undefined;
  readonly parentRefs: readonly ParentReference[];
}

const parentsOf = (object: object): RouteView => {
  const { metadata, spec } = object as AnyRoute;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    created: metadata.creationTimestamp ?? '',
    hostnames: 'hostnames' in spec ? spec.hostnames : undefined,
    parentRefs: spec.parentRefs ?? [],
  };
};

/** Oldest first, then by namespace and name. */
function byAge(left: RouteView, right: RouteView): number {
  const text = ({ created, namespace, name }: RouteView) => `${created} ${namespace}/${name}`;
  return text(left) < text(right) ? -1 : 1;
}

function refOf(key: string): { namespace: string; name: string } {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
}

/** Only of listeners that serve HTTP; the others have no virtual hosts. */
function hostKey(gateway: string, state: GatewayState, { listener, port, host }: PlannedHost): string | undefined {
  const mode = state.listeners.find(({ name }) => name === listener)?.mode;
  if (mode !== 'http' && mode !== 'https') return undefined;
  return `${HOST}${gateway}/${mode}:${port}/${listener}/${host}`;
}

function hostOf(key: string) {
  const [namespace = '', name = '', place = '', listener = '', host = ''] = key.slice(HOST.length).split('/');
  const [scheme = '', port = ''] = place.split(':');
  return { gateway: `${namespace}/${name}`, scheme, port: Number(port), listener, host };
}

function translationOf(key: string) {
  const [route = '', gateway = '', place = ''] = key.split('@');
  const [kind = '', namespace = '', name = ''] = route.split('/');
  const [scheme = '', port = ''] = place.split(':');
  return {
    kind: kind as RouteKindName,
    namespace,
    name,
    gateway,
    scheme: scheme === 'https' ? ('https' as const) : ('http' as const),
    port: Number(port),
  };
}
