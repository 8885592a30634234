// The contribution of one host, Service or extension to the served resources. The assembly composes pieces.
import { type Fragment, hexHash, type MessageName } from '../../envoy/index.ts';
import type { AuthorizationService } from '../../model/listener.ts';
import type { Resource, ResourceKey } from '../../xds/index.ts';
import type { RoutingSettings } from '../settings.ts';

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
}

const NONE: readonly never[] = [];

/** Two pieces with the same id serve the same. */
export class Piece {
  readonly id: string;
  readonly resources: readonly Resource[];
  readonly plain: SharedPart<HostName> | undefined;
  readonly chain: SharedPart<ChainName> | undefined;
  readonly fallback: SharedPart<HostName> | undefined;
  readonly routePart: RoutePart | undefined;
  readonly configurations: readonly RouteConfiguration[];
  readonly endpoints: readonly Resource[];
  readonly settings: RoutingSettings | undefined;
  readonly authorization: AuthorizationService | undefined;

  constructor({ resources = NONE, plain, chain, fallback, endpoints = NONE, settings, ...content }: PieceContent) {
    const { authorization, routePart, configurations = NONE } = content;
    this.resources = resources;
    this.plain = plain;
    this.chain = chain;
    this.fallback = fallback;
    this.routePart = routePart;
    this.configurations = configurations;
    this.endpoints = endpoints;
    this.settings = settings;
    this.authorization = authorization;
    const parts = [
      ...[...resources, ...endpoints].map((resource) => `${resource.key} ${resource.version('whole')}`),
      ...[plain, chain, fallback].map((part) => (part ? partHash(part) : '')),
      routePart ? `${routePart.routes} ${partHash(routePart.part)}` : '',
      ...configurations.map((each) => `${each.name} ${moreHash(each)}`),
      settings ? JSON.stringify([settings, authorization]) : '',
    ];
    this.id = hexHash(parts.join('\n'));
  }
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
