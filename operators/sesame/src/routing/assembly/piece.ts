// What one host, Service or extension contributes to what is served. Pieces are put together by the assembly.
import { hash } from 'node:crypto';
import type { Fragment } from '../../envoy/index.ts';
import type { Resource, ResourceKey } from '../../xds/index.ts';
import type { RoutingSettings } from '../settings.ts';

/** A part of a resource that is composed of the parts of many hosts. */
export interface SharedPart {
  /** Sorts the parts: the name of the host. */
  readonly name: string;
  readonly fragment: Fragment;
  readonly requires: readonly ResourceKey[];
}

export interface PieceContent {
  /** Resources of their own. Several pieces may have the same one; it is served while one of them has it. */
  readonly resources?: readonly Resource[];
  /** Virtual host of the route configuration for plain HTTP. */
  readonly plain?: SharedPart | undefined;
  /** Filter chain of the HTTPS listener. */
  readonly chain?: SharedPart | undefined;
  /** Virtual host for clients without SNI. */
  readonly fallback?: SharedPart | undefined;
  /** Endpoints are served only while a cluster needs them. */
  readonly endpoints?: readonly Resource[];
  /** The configuration that all pieces were computed with. */
  readonly settings?: RoutingSettings;
}

/** Two pieces with the same id serve the same. */
export class Piece {
  readonly id: string;
  readonly resources: readonly Resource[];
  readonly plain: SharedPart | undefined;
  readonly chain: SharedPart | undefined;
  readonly fallback: SharedPart | undefined;
  readonly endpoints: readonly Resource[];
  readonly settings: RoutingSettings | undefined;

  constructor({ resources = [], plain, chain, fallback, endpoints = [], settings }: PieceContent) {
    this.resources = resources;
    this.plain = plain;
    this.chain = chain;
    this.fallback = fallback;
    this.endpoints = endpoints;
    this.settings = settings;
    const parts = [
      ...[...resources, ...endpoints].map((resource) => `${resource.key} ${resource.version('whole')}`),
      ...[plain, chain, fallback].map((part) => (part ? partHash(part) : '')),
      settings ? JSON.stringify(settings) : '',
    ];
    this.id = hash('sha256', parts.join('\n'), 'hex');
  }
}

export function isSamePiece(left: Piece, right: Piece): boolean {
  return left.id === right.id;
}

const hashes = new WeakMap<Fragment, string>();

export function partHash({ fragment }: SharedPart): string {
  let found = hashes.get(fragment);
  if (found === undefined) {
    found = hash('sha256', fragment.bytes('grpc'), 'hex');
    hashes.set(fragment, found);
  }
  return found;
}
