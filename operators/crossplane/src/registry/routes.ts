// The paths of the distribution specification and their handlers.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { digestOf } from '../oci/digest.ts';
import { isDigest } from '../oci/reference.ts';
import type { Gate } from './access.ts';
import type { BlobUpload, RegistryStore, StoredBlob } from './store.ts';

export type Route = (request: IncomingMessage, response: ServerResponse, base: string) => Promise<void>;

const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export function createRoutes({ store, gate, tagPage }: { store: RegistryStore; gate: Gate; tagPage: number }): Route {
  /** Uploads under way, by their id. */
  const uploads = new Map<string, { repository: string; upload: BlobUpload }>();

  return async (request, response, base) => {
    const call: Call = { request, response, url: new URL(request.url ?? '/', base), base };
    response.setHeader('docker-distribution-api-version', 'registry/2.0');
    if (call.url.pathname === '/token') return giveToken(call, gate);
    const found = parsePath(call.url.pathname);
    if (found === undefined) return fail(call, 404, 'NAME_UNKNOWN', 'there is no such path');
    const { repository, kind, rest } = found;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const refusal = gate.refuses(request.headers.authorization, repository, isRead ? 'pull' : 'push', base);
    if (refusal !== undefined) {
      // The rest of the body is not read, so the connection cannot be used again.
      if (!isRead) response.setHeader('connection', 'close');
      if (refusal.status === 401) response.setHeader('www-authenticate', refusal.challenge);
      return fail(call, refusal.status, refusal.status === 401 ? 'UNAUTHORIZED' : 'DENIED', 'access is refused');
    }
    const action = ACTIONS[`${request.method} ${kind}`];
    if (action === undefined) return fail(call, 405, 'UNSUPPORTED', 'this cannot be done here');
    return action({ ...call, repository, rest, store, uploads, tagPage });
  };
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  base: string;
}

interface Action extends Call {
  repository: string;
  /** The part after the kind: a digest, a tag, the id of an upload. */
  rest: string;
  store: RegistryStore;
  uploads: Map<string, { repository: string; upload: BlobUpload }>;
  tagPage: number;
}

const ACTIONS: Readonly<Record<string, (action: Action) => Promise<void> | void>> = {
  'GET base': (action) => json(action, 200, {}),
  'HEAD base': (action) => json(action, 200, {}),
  'GET blobs': sendBlob,
  'HEAD blobs': sendBlob,
  'POST uploads': beginUpload,
  'PATCH uploads': continueUpload,
  'PUT uploads': finishUpload,
  'GET uploads': notifyUpload,
  'DELETE uploads': abandonUpload,
  'GET manifests': sendManifest,
  'HEAD manifests': sendManifest,
  'PUT manifests': takeManifest,
  'DELETE manifests': removeManifest,
  'GET tags': sendTags,
};

function parsePath(pathname: string): { repository: string; kind: string; rest: string } | undefined {
  if (pathname === '/v2/' || pathname === '/v2') return { repository: '', kind: 'base', rest: '' };
  const path = decoded(pathname);
  const match =
    /^\/v2\/(?<repository>.+)\/(?:(?<tags>tags)\/list|blobs\/(?<uploads>uploads)\/(?<id>[0-9a-f-]*)|(?<kind>blobs|manifests)\/(?<rest>[^/]+))$/.exec(
      path,
    )?.groups;
  if (match === undefined) return undefined;
  const { repository = '', tags, uploads, id = '', kind = '', rest = '' } = match;
  if (repository.length > 255 || !repository.split('/').every((segment) => SEGMENT.test(segment))) return undefined;
  const found = tags ?? uploads ?? kind;
  const isNamed =
    found === 'tags' || found === 'uploads' || isDigest(rest) || (found === 'manifests' && TAG.test(rest));
  return isNamed ? { repository, kind: found, rest: found === 'uploads' ? id : rest } : undefined;
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return '';
  }
}

async function sendBlob(action: Action): Promise<void> {
  const { response, request, rest } = action;
  const blob = await action.store.blob(action.repository, rest);
  if (blob === undefined) return fail(action, 404, 'BLOB_UNKNOWN', 'there is no such blob');
  const range = rangeOf(request.headers.range, blob.size);
  if (range === 'invalid') {
    response.setHeader('content-range', `bytes */${blob.size}`);
    return fail(action, 416, 'SIZE_INVALID', 'there are not so many bytes');
  }
  const { start, end } = range ?? { start: 0, end: blob.size };
  if (range !== undefined) response.setHeader('content-range', `bytes ${start}-${end - 1}/${blob.size}`);
  response.writeHead(range === undefined ? 200 : 206, {
    'content-type': 'application/octet-stream',
    'content-length': end - start,
    'docker-content-digest': rest,
    'accept-ranges': 'bytes',
  });
  if (request.method === 'HEAD') response.end();
  else await stream(blob, start, end, response);
}

async function stream(blob: StoredBlob, start: number, end: number, response: ServerResponse): Promise<void> {
  try {
    await pipeline(blob.read(start, end), response);
  } catch (error) {
    // The one that asked has gone.
    if (!response.destroyed) throw error;
  }
}

// One range, from the start, the middle or the end.
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'invalid' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size : Math.min(Number(to) + 1, size);
  return start < end ? { start, end } : 'invalid';
}

async function beginUpload(action: Action): Promise<void> {
  const { url, repository, store, response } = action;
  const mount = url.searchParams.get('mount');
  const from = url.searchParams.get('from');
  if (mount !== null && from !== null && isDigest(mount) && (await store.blob(from, mount)) !== undefined) {
    await store.link(repository, mount);
    return created(action, `/v2/${repository}/blobs/${mount}`, mount);
  }
  const upload = await store.upload();
  const digest = url.searchParams.get('digest');
  if (digest !== null) {
    await receive(action, upload);
    return commit(action, upload, digest);
  }
  const id = randomUUID();
  action.uploads.set(id, { repository, upload });
  location(action, id, upload.size);
  response.writeHead(202, { 'content-length': 0 }).end();
}

async function continueUpload(action: Action): Promise<void> {
  const found = uploadOf(action);
  if (found === undefined) return fail(action, 404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload');
  const [, start] = /^(\d+)-\d+$/.exec(action.request.headers['content-range'] ?? '') ?? [];
  if (start !== undefined && Number(start) !== found.size) {
    location(action, action.rest, found.size);
    return fail(action, 416, 'BLOB_UPLOAD_INVALID', 'this is not the next piece');
  }
  await receive(action, found);
  location(action, action.rest, found.size);
  action.response.writeHead(202, { 'content-length': 0 }).end();
}

async function finishUpload(action: Action): Promise<void> {
  const found = uploadOf(action);
  if (found === undefined) return fail(action, 404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload');
  action.uploads.delete(action.rest);
  await receive(action, found);
  return commit(action, found, action.url.searchParams.get('digest') ?? '');
}

async function abandonUpload(action: Action): Promise<void> {
  const found = uploadOf(action);
  if (found === undefined) return fail(action, 404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload');
  action.uploads.delete(action.rest);
  await found.discard();
  action.response.writeHead(204).end();
}

function notifyUpload(action: Action): void {
  const found = uploadOf(action);
  if (found === undefined) return fail(action, 404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload');
  location(action, action.rest, found.size);
  action.response.writeHead(204).end();
}

function uploadOf({ uploads, rest, repository }: Action): BlobUpload | undefined {
  const found = uploads.get(rest);
  return found?.repository === repository ? found.upload : undefined;
}

async function receive({ request }: Action, upload: BlobUpload): Promise<void> {
  try {
    for await (const chunk of request) await upload.write(chunk as Buffer);
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

async function commit(action: Action, upload: BlobUpload, digest: string): Promise<void> {
  const blob = isDigest(digest) ? await upload.commit(action.repository, digest) : undefined;
  if (blob !== undefined) return created(action, `/v2/${action.repository}/blobs/${digest}`, digest);
  return fail(action, 400, 'DIGEST_INVALID', 'what was sent has another digest');
}

async function sendManifest(action: Action): Promise<void> {
  const { request, response, rest } = action;
  const manifest = await action.store.manifest(action.repository, rest);
  if (manifest === undefined) return fail(action, 404, 'MANIFEST_UNKNOWN', 'there is no such manifest');
  const { digest, mediaType, body } = manifest;
  response.writeHead(200, {
    'content-type': mediaType,
    'content-length': body.length,
    'docker-content-digest': digest,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function takeManifest(action: Action): Promise<void> {
  const { request, repository, rest, store } = action;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_MANIFEST_BYTES) return fail(action, 413, 'SIZE_INVALID', 'a manifest is not so large');
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks);
  const digest = digestOf(body);
  if (isDigest(rest) && rest !== digest) return fail(action, 400, 'DIGEST_INVALID', 'what was sent has another digest');
  const missing = await missingFrom(body, repository, store);
  if (missing === undefined) return fail(action, 400, 'MANIFEST_INVALID', 'it is not JSON');
  if (missing.length > 0)
    return fail(action, 400, 'MANIFEST_BLOB_UNKNOWN', `it names ${missing[0]}, which is not there`);
  const mediaType = request.headers['content-type'] ?? 'application/octet-stream';
  await store.putManifest(repository, { digest, mediaType, body }, isDigest(rest) ? undefined : rest);
  created(action, `/v2/${repository}/manifests/${digest}`, digest);
}

/** The digests that a manifest names and the repository does not have. */
async function missingFrom(body: Buffer, repository: string, store: RegistryStore): Promise<string[] | undefined> {
  let named: { config?: { digest?: string }; layers?: { digest?: string }[]; manifests?: { digest?: string }[] };
  try {
    named = JSON.parse(body.toString('utf8')) as typeof named;
  } catch {
    return undefined;
  }
  const missing: string[] = [];
  for (const { digest = '' } of [...(named.config === undefined ? [] : [named.config]), ...(named.layers ?? [])])
    if (!isDigest(digest) || (await store.blob(repository, digest)) === undefined) missing.push(digest);
  for (const { digest = '' } of named.manifests ?? [])
    if (!isDigest(digest) || (await store.manifest(repository, digest)) === undefined) missing.push(digest);
  return missing;
}

async function removeManifest(action: Action): Promise<void> {
  if (await action.store.remove(action.repository, action.rest)) action.response.writeHead(202).end();
  else fail(action, 404, 'MANIFEST_UNKNOWN', 'there is no such manifest');
}

async function sendTags(action: Action): Promise<void> {
  const { url, repository, response, tagPage } = action;
  const all = await action.store.tags(repository);
  if (all === undefined) return fail(action, 404, 'NAME_UNKNOWN', 'there is no such repository');
  const last = url.searchParams.get('last');
  const asked = Number(url.searchParams.get('n') ?? tagPage);
  const count = Math.min(Number.isSafeInteger(asked) && asked >= 0 ? asked : tagPage, tagPage);
  const after = last === null ? all : all.filter((tag) => tag > last);
  const tags = after.slice(0, count);
  if (after.length > tags.length && tags.length > 0) {
    const next = new URLSearchParams({ n: String(count), last: tags.at(-1) ?? '' });
    response.setHeader('link', `</v2/${repository}/tags/list?${next.toString()}>; rel="next"`);
  }
  json(action, 200, { name: repository, tags });
}

function giveToken(call: Call, gate: Gate): void {
  const given = gate.token(call.request.headers.authorization, call.url.searchParams.get('scope') ?? '');
  if (given === undefined) return fail(call, 401, 'UNAUTHORIZED', 'the password is wrong');
  json(call, 200, { token: given.token, expires_in: given.expiresIn });
}

function location({ response, repository, base }: Action, id: string, size: number): void {
  // With a query, as the reference implementation has it: clients must append to it.
  response.setHeader('location', `${base}/v2/${repository}/blobs/uploads/${id}?_state=${size}`);
  response.setHeader('range', `0-${Math.max(0, size - 1)}`);
  response.setHeader('docker-upload-uuid', id);
}

function created({ response }: Action, path: string, digest: string): void {
  response.writeHead(201, { location: path, 'docker-content-digest': digest, 'content-length': 0 }).end();
}

function fail(call: Call, status: number, code: string, message: string): void {
  json(call, status, { errors: [{ code, message }] });
}

function json({ request, response }: Call, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(request.method === 'HEAD' ? undefined : text);
}
