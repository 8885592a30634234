// References to images, as registries' clients read them: `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`.
//
// The first segment is a registry when it has a dot or a colon or is `localhost`; otherwise the default registry is
// meant. A digest beats a tag where both are given. `docker.io` is spelt `index.docker.io` on the wire, and there a
// repository of one word lies in `library/`. `source` keeps the user's own spelling (no alias, no default), because
// dependencies are compared by it.
import { ReferenceErrors } from './errors.ts';

export interface Reference {
  /** Host and port as the registry is reached: `index.docker.io` for `docker.io`. */
  readonly registry: string;
  /** As it stands in the registry's addresses: with `library/` where that is implied. */
  readonly repository: string;
  /** Absent when a digest was given. `latest` when neither was. */
  readonly tag: string | undefined;
  /** `sha256:` and 64 hex digits. */
  readonly digest: string | undefined;
  /** The parsed text. */
  readonly original: string;
}

export interface ReferenceOptions {
  /** For references without a registry. Default: index.docker.io. */
  readonly defaultRegistry?: string;
  /** Default: latest. */
  readonly defaultTag?: string;
}

const DOCKER_HUB = 'index.docker.io';

/** Reads a reference; throws BadReference. */
export function parseReference(text: string, options: ReferenceOptions = {}): Reference {
  const at = text.indexOf('@');
  const digest = at === -1 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest))
    throw ReferenceErrors.BadReference(text, `${quoted(digest)} is not sha256: and 64 hex digits`);
  const { base, tag } = splitTag(at === -1 ? text : text.slice(0, at));
  // As upstream: a tag beside a digest is not looked at any further, but it must be one.
  if (tag !== undefined && !/^[A-Za-z0-9_.-]{1,128}$/.test(tag))
    throw ReferenceErrors.BadReference(
      text,
      tag === '' ? 'there is no tag after the colon' : `${quoted(tag)} cannot be a tag`,
    );
  const { registry, repository } = splitRegistry(text, base, options.defaultRegistry ?? DOCKER_HUB);
  return {
    registry,
    repository: registry === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository,
    tag: digest === undefined ? (tag ?? options.defaultTag ?? 'latest') : undefined,
    digest,
    original: text,
  };
}

/** Tag or digest: the part after `manifests/`. */
export function identifierOf({ tag, digest }: Reference): string {
  return digest ?? tag ?? 'latest';
}

/** The whole name with its registry: the image reference for a container runtime. */
export function fullNameOf(reference: Reference): string {
  return `${repositoryNameOf(reference)}${reference.digest === undefined ? ':' : '@'}${identifierOf(reference)}`;
}

/** Registry and repository. */
export function repositoryNameOf({ registry, repository }: Pick<Reference, 'registry' | 'repository'>): string {
  return `${registry}/${repository}`;
}

/** The same image by its digest. This closes the gap between resolving a tag and fetching its content. */
export function withDigest(reference: Reference, digest: string): Reference {
  return { ...reference, tag: undefined, digest, original: `${repositoryNameOf(reference)}@${digest}` };
}

/** The reference as the user wrote it, without its tag or digest: the Lock calls it the source of a package. */
export function sourceOf(text: string): string {
  const at = text.indexOf('@');
  return splitTag(at === -1 ? text : text.slice(0, at)).base;
}

export function isDigest(text: string): boolean {
  return /^sha256:[a-f0-9]{64}$/.test(text);
}

/**
 * Whether plain HTTP may be spoken with this registry when it does not speak TLS: loopback and private IPv4 addresses,
 * which have no certificates that anybody would trust.
 */
export function allowsPlainHttp(registry: string): boolean {
  const host = hostOf(registry);
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '127.0.0.1' || host === '::1' || isPrivateIpv4(host)
  );
}

/** Returns a user's text in one line of bounded length. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 300));
}

// A colon that a slash follows belongs to the registry's port.
function splitTag(text: string): { base: string; tag: string | undefined } {
  const colon = text.lastIndexOf(':');
  if (colon === -1 || text.includes('/', colon)) return { base: text, tag: undefined };
  return { base: text.slice(0, colon), tag: text.slice(colon + 1) };
}

function splitRegistry(text: string, base: string, defaultRegistry: string): { registry: string; repository: string } {
  const slash = base.indexOf('/');
  const first = slash === -1 ? '' : base.slice(0, slash);
  const isRegistry = first === 'localhost' || /[.:]/.test(first);
  const repository = isRegistry ? base.slice(slash + 1) : base;
  if (!/^[a-z0-9_./-]{1,255}$/.test(repository))
    throw ReferenceErrors.BadReference(
      text,
      repository === ''
        ? 'it names no repository'
        : `the repository ${quoted(repository)} may have 1 to 255 lower-case letters, digits and _ - . /`,
    );
  // Names that a server could take for another path than the one that was asked for.
  if (repository.split('/').some((segment) => segment === '' || segment === '.' || segment === '..'))
    throw ReferenceErrors.BadReference(text, `the repository ${quoted(repository)} has an empty segment, or . or ..`);
  const registry = isRegistry ? first : defaultRegistry;
  if (!isAuthority(registry)) throw ReferenceErrors.BadReference(text, `${quoted(registry)} is not a host with a port`);
  return { registry: registry === 'docker.io' ? DOCKER_HUB : registry, repository };
}

function isAuthority(registry: string): boolean {
  const [, host = '', port] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(registry) ?? [];
  return host !== '' && (port === undefined || Number(port) <= 65_535) && URL.canParse(`https://${registry}/`);
}

function hostOf(registry: string): string {
  const [, six, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(registry) ?? [];
  return (six ?? plain ?? '').toLowerCase();
}

function isPrivateIpv4(host: string): boolean {
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host)?.slice(1).map(Number);
  if (octets === undefined || octets.some((octet) => octet > 255)) return false;
  const [first = 0, second = 0] = octets;
  return first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168);
}
