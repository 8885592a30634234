// The contribution of one host, Service or extension to the served resources. The assembly composes pieces.
import { type Fragment, FragmentChunk, hexHash, type MessageName } from '../../envoy/index.ts';
import type { NamedSecret } from '../../model/certificate.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { AuthorizationService } from '../../model/listener.ts';
import type { Route } from '../../model/route.ts';
import type { Rejection, Resource, ResourceKey } from '../../xds/index.ts';
import { compareBytes } from '../conditions.ts';
import { clusterKey, clusterResource } from '../envoy/cluster-message.ts';
import {
  clusterKeys,
  clustersOf,
  FALLBACK_ROUTES,
  HTTP_ROUTES,
  secureRoutes,
  sharedHost,
} from '../envoy/route-message.ts';
import { secretResource } from '../envoy/secret-message.ts';
import { chainFragment, closedChain, hostChain, http3Chain } from '../listener/filter-chain.ts';
import type { HostContribution, SecureContribution } from '../proxy/translate-root.ts';
import type { RoutingSettings } from '../settings.ts';

import { CHECKED, refusalOf } from './constraints.ts';

type HostName = 'envoy.config.route.v3.VirtualHost';
type ChainName = 'envoy.config.listener.v3.FilterChain';

/** A part of a resource that is composed of the parts of many hosts. */
export interface SharedPart<Name extends MessageName = MessageName> {
  /** Sorts the parts: the name of the host. */
  readonly name: string;
  readonly fragment: Fragment<Name>;
  readonly requires: readonly ResourceKey[];
}

/** A route configuration of a listener of a Gateway: composed of the parts that name it, and of hosts that no route serves. */
export interface RouteConfiguration {
  readonly name: string;
  readonly more: readonly Fragment<HostName>[];
}

/** A virtual host of such a configuration. */
export interface RoutePart {
  readonly routes: string;
  readonly part: SharedPart<HostName>;
}

export interface PieceContent {
  /** Resources of their own. Several pieces may have the same one; it is served while one of them has it. */
  readonly resources?: readonly Resource[];
  /** Virtual host of the route configuration for plain HTTP. */
  readonly plain?: SharedPart<HostName> | undefined;
  /** Filter chain of the HTTPS listener. */
  readonly chain?: SharedPart<ChainName> | undefined;
  /** Filter chain of the listener for HTTP/3. */
  readonly http3?: SharedPart<ChainName> | undefined;
  /** Virtual host for clients without SNI. */
  readonly fallback?: SharedPart<HostName> | undefined;
  /** Virtual host of a route configuration that another piece defines. */
  readonly routePart?: RoutePart | undefined;
  readonly configurations?: readonly RouteConfiguration[];
  /** Endpoints are served only while a cluster needs them. */
  readonly endpoints?: readonly Resource[];
  /** The configuration that all pieces were computed with. */
  readonly settings?: RoutingSettings;
  /** The authorization that holds for every host of the plain listener. */
  readonly authorization?: AuthorizationService | undefined;
  /** Resources of the piece that it was made of, which are not served. */
  readonly refused?: readonly Rejection[];
}

const NONE: readonly never[] = [];

/** Two pieces with the same id serve the same. */
export class Piece {
  readonly id: string;
  readonly resources: readonly Resource[];
  readonly plain: SharedPart<HostName> | undefined;
  readonly chain: SharedPart<ChainName> | undefined;
  readonly http3: SharedPart<ChainName> | undefined;
  readonly fallback: SharedPart<HostName> | undefined;
  readonly routePart: RoutePart | undefined;
  readonly configurations: readonly RouteConfiguration[];
  readonly endpoints: readonly Resource[];
  readonly settings: RoutingSettings | undefined;
  readonly authorization: AuthorizationService | undefined;
  /** Resources that are not served: every Envoy would refuse them. */
  readonly refused: readonly Rejection[];

  constructor({ resources = NONE, plain, chain, fallback, endpoints = NONE, settings, ...content }: PieceContent) {
    const { authorization, routePart, configurations = NONE, http3, refused = NONE } = content;
    const found = refusalsOf(resources, endpoints);
    this.refused = refused.length > 0 ? [...refused, ...found] : found;
    const isServed = ({ key }: Resource) => this.refused.every((each) => each.key !== key);
    this.resources = this.refused.length > 0 ? resources.filter(isServed) : resources;
    this.plain = plain;
    this.chain = chain;
    this.http3 = http3;
    this.fallback = fallback;
    this.routePart = routePart;
    this.configurations = configurations;
    this.endpoints = this.refused.length > 0 ? endpoints.filter(isServed) : endpoints;
    this.settings = settings;
    this.authorization = authorization;
    const parts = [
      ...[...this.resources, ...this.endpoints].map((resource) => `${resource.key} ${resource.version('whole')}`),
      ...[plain, chain, fallback, ...(http3 ? [http3] : [])].map((part) => (part ? partHash(part) : '')),
      routePart ? `${routePart.routes} ${partHash(routePart.part)}` : '',
      ...configurations.map((each) => `${each.name} ${moreHash(each)}`),
      settings ? JSON.stringify([settings, authorization]) : '',
      ...this.refused.map(({ message }) => message),
    ];
    this.id = hexHash(parts.join('\n'));
  }

  /** The same piece with other parts. */
  with(parts: Pick<PieceContent, 'resources' | 'plain' | 'chain' | 'http3' | 'fallback' | 'routePart'>): Piece {
    const { configurations, endpoints, settings, authorization, refused } = this;
    return new Piece({ configurations, endpoints, authorization, refused, ...(settings && { settings }), ...parts });
  }
}

function refusalsOf(resources: readonly Resource[], endpoints: readonly Resource[]): readonly Rejection[] {
  let found: Rejection[] | undefined;
  for (const list of [resources, endpoints])
    for (const resource of list) {
      const refusal = CHECKED.has(resource.type) ? refusalOf(resource) : undefined;
      if (refusal) (found ??= []).push(refusal);
    }
  return found ?? NONE;
}

export function isSamePiece(left: Piece, right: Piece): boolean {
  return left.id === right.id;
}

export function partHash({ fragment }: SharedPart): string {
  return fragment.hash();
}

export function moreHash({ more }: RouteConfiguration): string {
  return more.map((fragment) => fragment.hash()).join('');
}

/** Parts in the order of their weight: of routes that match the same the last one counts. */
export function hostPiece(
  fqdn: string,
  parts: readonly HostContribution[],
  secrets: readonly NamedSecret[],
  settings: RoutingSettings,
): Piece {
  const host = mergeHost(fqdn, parts);
  if (!host) return new Piece({});
  const { plain: routes, policies, rateLimits, origins, secure } = host;
  const resources = new Map<string, Resource>();
  const add = (resource: Resource) => resources.set(resource.key, resource);
  const addCluster = (cluster: Cluster) => add(clusterResource(cluster));
  for (const secret of secrets) add(secretResource(secret));
  for (const route of routes) clustersOf(route).forEach(addCluster);

  let plain: PieceContent['plain'];
  if (routes.length > 0) {
    const { fragment, resource } = sharedHost(HTTP_ROUTES, { fqdn, routes, policies, rateLimits, origins });
    add(resource);
    plain = { name: fqdn, fragment, requires: clusterKeys(routes) };
  }
  let chain: PieceContent['chain'];
  let http3: PieceContent['http3'];
  let fallback: PieceContent['fallback'];
  if (secure && (secure.tcp || secure.routes.length > 0)) {
    for (const route of secure.routes) clustersOf(route).forEach(addCluster);
    for (const { cluster } of secure.tcp ?? []) addCluster(cluster);
    secure.jwt?.clusters.forEach(addCluster);
    if (secure.login) addCluster(secure.login.token.cluster);
    const overQuic = http3Chain(host, secure, settings);
    const http3Port = overQuic && settings.envoy.http3.advertisedPort;
    const secureHost = { fqdn, routes: secure.routes, policies, rateLimits, origins };
    if (!secure.tcp) add(secureRoutes({ ...secureHost, http3Port, hasLogin: secure.login !== undefined }));
    const requires = secure.tcp ? secure.tcp.map(({ cluster }) => clusterKey(cluster)) : clusterKeys(secure.routes);
    chain = { name: fqdn, fragment: chainFragment(hostChain(host, secure, settings)), requires };
    if (overQuic) http3 = { name: fqdn, fragment: chainFragment(overQuic), requires };
    if (secure.tls?.fallback) {
      const shared = sharedHost(FALLBACK_ROUTES, secureHost);
      add(shared.resource);
      fallback = { name: fqdn, fragment: shared.fragment, requires };
    }
  }
  return new Piece({ resources: [...resources.values()], plain, chain, http3, fallback });
}

/**
 * Returns the piece of a host whose object is not valid. Requests for it are answered as if no host had its name, and TLS connections are closed: without it,
 * they would reach the host of a wildcard, which may ask nobody for permission.
 */
export function closedPiece(fqdn: string, object: string, hasTls: boolean, settings: RoutingSettings): Piece {
  const at = object.indexOf('/');
  const origin = { kind: 'HTTPProxy', namespace: object.slice(0, at), name: object.slice(at + 1) };
  const path = 'spec.virtualhost';
  const origins = [{ ...origin, path }];
  const answer: Route = {
    match: { path: { kind: 'prefix', value: '/' }, headers: [], query: [] },
    action: { kind: 'answer', status: 404, body: '' },
    policies: { authorization: { kind: 'disabled' } },
    permitInsecure: false,
    origin: { ...origin, path },
  };
  const { fragment, resource } = sharedHost(HTTP_ROUTES, {
    fqdn,
    routes: [answer],
    policies: {},
    rateLimits: [],
    origins,
  });
  return new Piece({
    resources: [resource],
    plain: { name: fqdn, fragment, requires: [] },
    chain: hasTls
      ? { name: fqdn, fragment: chainFragment(closedChain({ fqdn, origins }, settings)), requires: [] }
      : undefined,
  });
}

/** Merges the contributions of several objects to one host; undefined when there are none. */
export function mergeHost(fqdn: string, parts: readonly HostContribution[]): HostContribution | undefined {
  const [first, ...others] = parts;
  if (!first) return undefined;
  if (others.length === 0) return { ...first, secure: mergeSecure(parts) };
  return {
    fqdn,
    plain: parts.flatMap(({ plain }) => plain),
    secure: mergeSecure(parts),
    policies: Object.assign({}, ...parts.map((part) => part.policies)) as HostContribution['policies'],
    rateLimits: parts.flatMap((part) => part.rateLimits),
    origins: parts.flatMap((part) => part.origins),
  };
}

/**
 * The last part decides about the certificate, clients and filters. TLS versions are the strictest of all parts: an object that allows an
 * old version must not weaken another one of the same host.
 */
function mergeSecure(parts: readonly HostContribution[]): SecureContribution | undefined {
  const all = parts.flatMap(({ secure }) => secure ?? []);
  const last = all.at(-1);
  if (!last) return undefined;
  const isStrict = all.some(({ tls }) => tls?.minimumVersion === '1.3');
  const tls = last.tls && isStrict ? { ...last.tls, minimumVersion: '1.3', maximumVersion: '1.3' } : last.tls;
  return { ...last, tls, routes: last.tcp ? [] : all.flatMap(({ routes }) => routes) };
}

/** The parts of a composed resource at one moment. */
export interface SharedContent<Name extends MessageName> {
  readonly size: number;
  /** In order. They are encoded when the resource is, which clients that get the parts one by one never ask for. */
  readonly chunks: readonly FragmentChunk<Name>[];
  readonly hash: string;
  /** Clusters of the parts that changed. */
  readonly requires: ResourceKey[];
}

/** Parts to a chunk, at most: a change costs one chunk, whatever the number of parts. */
const MOST = 128;

interface Row<Name extends MessageName = MessageName> {
  readonly key: string;
  readonly part: SharedPart<Name>;
}

interface Chunk<Name extends MessageName> {
  readonly rows: Row<Name>[];
  /** Undefined when a row has changed since it was handed out. */
  composed: FragmentChunk<Name> | undefined;
}

/** The parts of one composed resource, in order, with a hash of all that is kept up to date part by part. */
export class SharedParts<Name extends MessageName> {
  readonly #parts = new Map<string, SharedPart<Name>>();
  /** In the order of names, then of keys; none is empty. */
  readonly #chunks: Chunk<Name>[] = [];
  #high = 0;
  #low = 0;
  /** Clusters of the parts that changed since the last `take`. */
  #requires = new Set<ResourceKey>();
  #isChanged = false;

  get size(): number {
    return this.#parts.size;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  put(key: string, part: SharedPart<Name> | undefined): void {
    const before = this.#parts.get(key);
    if (before && part && partHash(before) === partHash(part)) return;
    if (!before && !part) return;
    this.#isChanged = true;
    if (before) this.#count(before, -1);
    if (part) {
      this.#count(part, 1);
      for (const required of part.requires) this.#requires.add(required);
      this.#parts.set(key, part);
    } else this.#parts.delete(key);
    if (before && before.name !== part?.name) this.#remove({ key, part: before });
    if (part) this.#place({ key, part });
  }

  /** Returns the present parts of the composed resource. */
  take(): SharedContent<Name> {
    this.#isChanged = false;
    const requires = [...this.#requires];
    this.#requires = new Set();
    return {
      size: this.#parts.size,
      chunks: this.#chunks.map((chunk) => {
        chunk.composed ??= new FragmentChunk(chunk.rows.map(({ part }) => part.fragment));
        return chunk.composed;
      }),
      hash: hex(this.#high) + hex(this.#low),
      requires,
    };
  }

  /** In the place of the row with the same name and key, or between its neighbours. */
  #place(row: Row<Name>): void {
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at];
    if (!chunk) {
      this.#chunks.push({ rows: [row], composed: undefined });
      return;
    }
    const { index, isThere } = placeIn(chunk.rows, row);
    chunk.rows.splice(index, isThere ? 1 : 0, row);
    chunk.composed = undefined;
    if (chunk.rows.length > MOST)
      this.#chunks.splice(at + 1, 0, { rows: chunk.rows.splice(chunk.rows.length / 2), composed: undefined });
  }

  #remove(row: Row<Name>): void {
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at];
    const { index, isThere } = placeIn(chunk?.rows ?? [], row);
    if (!chunk || !isThere) return;
    chunk.rows.splice(index, 1);
    chunk.composed = undefined;
    const next = this.#chunks[at + 1];
    if (chunk.rows.length === 0) this.#chunks.splice(at, 1);
    else if (next && chunk.rows.length + next.rows.length <= MOST / 2) {
      chunk.rows.push(...next.rows);
      this.#chunks.splice(at + 1, 1);
    }
  }

  /** The last chunk whose first row is not behind it, or the first one. */
  #chunkOf(row: Row<Name>): number {
    let [low, high] = [0, this.#chunks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const first = this.#chunks[middle]?.rows[0];
      if (first && compareRows(first, row) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  #count(part: SharedPart<Name>, factor: 1 | -1): void {
    const hash = partHash(part);
    this.#high = (this.#high + factor * Number.parseInt(hash.slice(0, 8), 16)) >>> 0;
    this.#low = (this.#low + factor * Number.parseInt(hash.slice(8, 16), 16)) >>> 0;
  }
}

function placeIn(rows: readonly Row[], row: Row): { index: number; isThere: boolean } {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRows(rows[middle] as Row, row) < 0) low = middle + 1;
    else high = middle;
  }
  return { index: low, isThere: rows[low]?.key === row.key && rows[low]?.part.name === row.part.name };
}

function compareRows(left: Row, right: Row): number {
  return compareBytes(left.part.name, right.part.name) || compareBytes(left.key, right.key);
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
