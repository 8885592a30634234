// The registry client: manifests, blobs and tags, in the words of the OCI distribution specification. Bytes are never
// taken on trust: a manifest is compared with the digest that it was asked by (or that the registry stated), a blob is
// hashed on its way, and a blob whose connection breaks is resumed where it broke.
import { reasonOf } from '@capstan/kube';
import { digestOf, verified } from './digest.ts';
import { RegistryError, RegistryErrors } from './errors.ts';
import { anonymous, type Keychain } from './keychain.ts';
import { type Descriptor, parseManifest, type RawManifest } from './manifest.ts';
import { ACCEPTED_MANIFESTS, OCI_INDEX } from './media-types.ts';
import { fullNameOf, identifierOf, isDigest, type Reference, repositoryNameOf } from './reference.ts';
import { connectionError, createTransport, type RegistryRequest, type TransportOptions } from './transport.ts';

export interface Ask {
  /** Default: anonymous access. */
  readonly keychain?: Keychain;
  readonly signal?: AbortSignal;
}

export interface RegistryClient {
  /** Returns the current digest of a reference. Sends HEAD, and GET where a registry does not support HEAD. */
  resolve(reference: Reference, ask?: Ask): Promise<{ digest: string }>;
  manifest(reference: Reference, ask?: Ask): Promise<RawManifest>;
  /** Its bytes, checked: throws at the end when they are not those of the digest. */
  blob(reference: Reference, descriptor: Pick<Descriptor, 'digest' | 'size'>, ask?: Ask): AsyncGenerator<Buffer>;
  /** All tags of the repository, in the registry's order. */
  tags(reference: Reference, ask?: Ask): Promise<string[]>;
  /** Manifests that refer to the one of this digest: by the registry's own list, else by the index under the digest's tag. */
  referrers(reference: Reference & { readonly digest: string }, ask?: Ask): Promise<readonly Descriptor[]>;
  hasBlob(reference: Reference, digest: string, ask?: Ask): Promise<boolean>;
  /** Pushes a blob unless it is there; true when bytes went over. */
  pushBlob(reference: Reference, blob: BlobToPush, ask?: Ask): Promise<boolean>;
  /** Stores it under the reference's tag, or under its digest. */
  pushManifest(reference: Reference, manifest: { mediaType: string; body: Buffer }, ask?: Ask): Promise<string>;
  close(): Promise<void>;
}

export interface BlobToPush {
  readonly digest: string;
  readonly size: number;
  /** Called once an attempt. */
  open(): AsyncIterable<Uint8Array>;
  /** Another repository of the same registry that has it, to be linked instead of sent. */
  readonly mountFrom?: string;
}

const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const MAX_TAG_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_TAG_PAGES = 1000;
const RESUMES = 3;
/** More are not looked at. */
const MAX_REFERRERS = 100;

const isNotFound = (error: unknown) => error instanceof RegistryError && error.failure === 'not-found';

export function createRegistryClient(options: TransportOptions = {}): RegistryClient {
  const transport = createTransport(options);
  const idleTimeoutMs = options.idleTimeoutMs ?? 30_000;

  type Request = Partial<RegistryRequest> & Pick<RegistryRequest, 'method' | 'path' | 'what'>;
  const request = ({ registry, repository }: Reference, { keychain = anonymous, signal }: Ask, rest: Request) =>
    transport.request({ registry, repository, access: 'pull', keychain, signal, ...rest });

  async function manifest(reference: Reference, ask: Ask = {}): Promise<RawManifest> {
    const what = fullNameOf(reference);
    const response = await request(reference, ask, {
      method: 'GET',
      path: `/v2/${reference.repository}/manifests/${identifierOf(reference)}`,
      headers: { accept: ACCEPTED_MANIFESTS.join(', ') },
      what,
    });
    const body = await whole(response.body, MAX_MANIFEST_BYTES, what, ask, idleTimeoutMs);
    const digest = digestOf(body);
    const expected = reference.digest ?? textOf(response.headers['docker-content-digest']) ?? digest;
    if (isDigest(expected) && expected !== digest) throw RegistryErrors.WrongDigest(what, expected, digest);
    const mediaType = (textOf(response.headers['content-type']) ?? '').split(';')[0]?.trim() ?? '';
    return { digest, mediaType, body };
  }

  async function* bytesOf(
    reference: Reference,
    { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
    ask: Ask,
    what: string,
  ): AsyncGenerator<Buffer> {
    let received = 0;
    for (let broken = 0; ; ) {
      const response = await request(reference, ask, {
        method: 'GET',
        path: `/v2/${reference.repository}/blobs/${digest}`,
        ...(received > 0 && { headers: { range: `bytes=${received}-` } }),
        what,
      });
      // A registry without support for ranges sends everything again: skip the bytes that have arrived before.
      let known = response.status === 206 ? 0 : received;
      const before = received;
      try {
        for await (const chunk of response.body as AsyncIterable<Buffer>) {
          const fresh = chunk.subarray(Math.min(known, chunk.length));
          known -= chunk.length - fresh.length;
          received += fresh.length;
          if (fresh.length > 0) yield fresh;
        }
        if (received >= size || ++broken > RESUMES) return;
      } catch (error) {
        ask.signal?.throwIfAborted();
        const failure = connectionError(error, what, idleTimeoutMs);
        const isSilent = failure.failure === 'timeout' && received === before;
        if (++broken > RESUMES || received === 0 || isSilent) throw failure;
      }
    }
  }

  const client: RegistryClient = {
    async resolve(reference, ask = {}) {
      if (reference.digest !== undefined) return { digest: reference.digest };
      try {
        const response = await request(reference, ask, {
          method: 'HEAD',
          path: `/v2/${reference.repository}/manifests/${identifierOf(reference)}`,
          headers: { accept: ACCEPTED_MANIFESTS.join(', ') },
          what: fullNameOf(reference),
        });
        await response.body.dump();
        const digest = textOf(response.headers['docker-content-digest']);
        if (digest !== undefined && isDigest(digest)) return { digest };
      } catch (error) {
        // Some registries answer HEAD wrongly. Only clear answers are accepted.
        if (
          !(error instanceof RegistryError) ||
          error.isTemporary ||
          error.failure === 'unauthorized' ||
          error.failure === 'tls'
        )
          throw error;
      }
      return { digest: (await manifest(reference, ask)).digest };
    },
    manifest,
    async *blob(reference, descriptor, ask = {}) {
      const what = `${repositoryNameOf(reference)}, blob ${descriptor.digest.slice(0, 19)}`;
      yield* verified(bytesOf(reference, descriptor, ask, what), descriptor, what);
    },
    async tags(reference, ask = {}) {
      const what = `the list of tags of ${repositoryNameOf(reference)}`;
      const tags: string[] = [];
      let path: string | undefined = `/v2/${reference.repository}/tags/list?n=1000`;
      for (let page = 0; path !== undefined; page++) {
        if (page >= MAX_TAG_PAGES) throw RegistryErrors.Malformed(what, 'it has no end');
        const response = await request(reference, ask, { method: 'GET', path, what });
        const body = await whole(response.body, MAX_TAG_PAGE_BYTES, what, ask, idleTimeoutMs);
        for (const tag of tagsIn(body, what)) tags.push(tag);
        path = nextPage(textOf(response.headers['link']), response.url);
      }
      return tags;
    },
    async referrers(reference, ask = {}) {
      const what = `what refers to ${fullNameOf(reference)}`;
      const listOf = (raw: RawManifest) => {
        const parsed = parseManifest(raw, what);
        return 'index' in parsed ? parsed.index.manifests.slice(0, MAX_REFERRERS) : [];
      };
      try {
        const path = `/v2/${reference.repository}/referrers/${reference.digest}`;
        const response = await request(reference, ask, { method: 'GET', path, headers: { accept: OCI_INDEX }, what });
        const body = await whole(response.body, MAX_MANIFEST_BYTES, what, ask, idleTimeoutMs);
        return listOf({ digest: digestOf(body), mediaType: OCI_INDEX, body });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      try {
        const tag = reference.digest.replace(':', '-');
        return listOf(await manifest({ ...reference, tag, digest: undefined }, ask));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return [];
      }
    },
    async hasBlob(reference, digest, ask = {}) {
      const what = `${repositoryNameOf(reference)}, blob ${digest.slice(0, 19)}`;
      try {
        const response = await request(reference, ask, {
          method: 'HEAD',
          path: `/v2/${reference.repository}/blobs/${digest}`,
          what,
        });
        await response.body.dump();
        return true;
      } catch (error) {
        if (error instanceof RegistryError && error.failure === 'not-found') return false;
        throw error;
      }
    },
    async pushBlob(reference, blob, ask = {}) {
      const what = `pushing blob ${blob.digest.slice(0, 19)} to ${repositoryNameOf(reference)}`;
      if (await client.hasBlob(reference, blob.digest, ask)) return false;
      const mount =
        blob.mountFrom === undefined
          ? ''
          : `?${new URLSearchParams({ mount: blob.digest, from: blob.mountFrom }).toString()}`;
      const opened = await request(reference, ask, {
        method: 'POST',
        path: `/v2/${reference.repository}/blobs/uploads/${mount}`,
        headers: { 'content-length': '0' },
        access: 'push',
        what,
      });
      await opened.body.dump();
      if (opened.status === 201) return false;
      const location = textOf(opened.headers['location']);
      if (opened.status !== 202 || location === undefined || !URL.canParse(location, opened.url))
        throw RegistryErrors.Malformed(what, `the registry answered ${opened.status} without a place to upload to`);
      // The location has a query of its own, which must stay as it is.
      const url = new URL(location, opened.url).href;
      const done = await request(reference, ask, {
        method: 'PUT',
        path: `${url}${url.includes('?') ? '&' : '?'}digest=${encodeURIComponent(blob.digest)}`,
        headers: { 'content-type': 'application/octet-stream', 'content-length': String(blob.size) },
        body: () => blob.open(),
        access: 'push',
        what,
      });
      await done.body.dump();
      return true;
    },
    async pushManifest(reference, { mediaType, body }, ask = {}) {
      const digest = digestOf(body);
      const what = `pushing ${fullNameOf(reference)}`;
      if (reference.digest !== undefined && reference.digest !== digest)
        throw RegistryErrors.WrongDigest(what, reference.digest, digest);
      const response = await request(reference, ask, {
        method: 'PUT',
        path: `/v2/${reference.repository}/manifests/${identifierOf(reference)}`,
        headers: { 'content-type': mediaType, 'content-length': String(body.length) },
        body: () => body,
        access: 'push',
        what,
      });
      await response.body.dump();
      return digest;
    },
    close: () => transport.close(),
  };
  return client;
}

async function whole(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  what: string,
  { signal }: Ask,
  idleTimeoutMs: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > limit) throw RegistryErrors.TooLarge(what, limit);
      chunks.push(chunk);
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionError(error, what, idleTimeoutMs);
  }
  return Buffer.concat(chunks, size);
}

function tagsIn(body: Buffer, what: string): string[] {
  try {
    const { tags } = JSON.parse(body.toString('utf8')) as { tags?: unknown };
    // A repository whose tags were all deleted has null.
    if (tags === null || tags === undefined) return [];
    if (Array.isArray(tags)) return tags.filter((tag): tag is string => typeof tag === 'string');
  } catch (error) {
    throw RegistryErrors.Malformed(what, `it is not JSON (${reasonOf(error)})`);
  }
  throw RegistryErrors.Malformed(what, 'it holds no list');
}

// `Link: </v2/x/tags/list?last=b&n=1000>; rel="next"`; never to another host.
function nextPage(link: string | undefined, from: string): string | undefined {
  const target = link === undefined ? undefined : /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link)?.[1];
  if (target === undefined || !URL.canParse(target, from)) return undefined;
  const url = new URL(target, from);
  return url.origin === new URL(from).origin ? `${url.pathname}${url.search}` : undefined;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
