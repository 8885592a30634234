import type { Clock, Random } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { isNotFound, RequestErrors } from '../errors.ts';
import type { Kind } from '../kind.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { type KubeObject, type ObjectRef, refOf } from '../object.ts';
import { createCaller, type RequestObservation, requestLine } from './caller.ts';
import type { CallOptions, Client, ListOptions, WatchOptions, WriteOptions } from './client.ts';
import { APPLY_TYPE, METADATA_LIST_TYPE, METADATA_TYPE, PATCH_TYPES } from './media-types.ts';
import { type AnswerOrigin, lingers, objectOf, pageOf, subresourceOf } from './objects.ts';
import { collectionPath, creationPath, dryRunQuery, listQuery, objectPath, watchQuery, writeQuery } from './paths.ts';
import { DEFAULT_RETRY, type RetryOptions } from './retry.ts';
import type { ApiRequest, Transport, WatchEvent, WatchStream } from './transport.ts';

export interface ClientOptions {
  transport: Transport;
  /** Default `capstan`. */
  userAgent?: string;
  retry?: RetryOptions;
  /** Default: the system's. */
  clock?: Clock;
  /** The source of randomness for the jitter of retries. Default: Math.random. */
  random?: Random;
  /** Default: silent. */
  logger?: Logger;
  /** Called once for every request sent, for metrics. */
  observe?: (observation: RequestObservation) => void;
}

/** Creates a client of the cluster behind the transport. */
export function createClient(options: ClientOptions): Client {
  const { transport } = options;
  const caller = createCaller({
    transport,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    logger: options.logger ?? silentLogger,
    userAgent: options.userAgent ?? 'capstan',
    ...(options.observe && { observe: options.observe }),
  });
  const originOf = (request: ApiRequest): AnswerOrigin => ({
    address: transport.address,
    request: requestLine(request),
  });

  async function send(request: ApiRequest, options: CallOptions): Promise<{ body: unknown; origin: AnswerOrigin }> {
    const { body } = await caller.send({ ...request, ...callFields(options) }, options.attempts);
    return { body, origin: originOf(request) };
  }

  /** Sends a request and reads the answer as an object of the kind, or of the subresource's own kind. */
  async function exchange<T extends KubeObject>(
    kind: Kind<T>,
    request: ApiRequest,
    options: CallOptions & { subresource?: string },
  ): Promise<T> {
    const { body, origin } = await send(request, options);
    return hasOwnKind(options.subresource) ? objectOf(kind, body, origin) : subresourceOf(kind, body, origin);
  }

  const client: Client = {
    transport,

    async get(kind, ref, options = {}) {
      const path = objectPath(kind, ref, 'get', options.subresource);
      const query: Record<string, string> =
        options.resourceVersion === undefined ? {} : { resourceVersion: options.resourceVersion };
      const accept = options.metadataOnly ? { accept: METADATA_TYPE } : {};
      return exchange(kind, { method: 'GET', path, query, ...accept }, options);
    },

    async find(kind, ref, options) {
      try {
        return await client.get(kind, ref, options);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },

    async list(kind, options = {}) {
      const path = collectionPath(kind, options.namespace);
      const accept = options.metadataOnly ? { accept: METADATA_LIST_TYPE } : {};
      const { body, origin } = await send({ method: 'GET', path, query: listQuery(options), ...accept }, options);
      return pageOf(kind, body, origin);
    },

    async *pages(kind, options = {}) {
      let next: ListOptions = { ...options, limit: options.limit ?? DEFAULT_PAGE };
      for (;;) {
        const page = await client.list(kind, next);
        yield page;
        if (page.continue === undefined) return;
        // A continued list has the resourceVersion of its token. The server refuses another one beside it.
        const { resourceVersion: _version, resourceVersionMatch: _match, ...rest } = next;
        next = { ...rest, continue: page.continue };
      }
    },

    async watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions = {}) {
      const path = collectionPath(kind, options.namespace);
      const accept = options.metadataOnly ? { accept: METADATA_TYPE } : {};
      const request: ApiRequest = { method: 'GET', path, query: watchQuery(options), ...accept };
      const stream = await caller.open({ ...request, ...callFields(options) });
      return options.metadataOnly ? renamed(kind, stream, originOf(request)) : stream;
    },

    async create(kind, object, options = {}) {
      const { metadata } = object;
      const { subresource } = options;
      const path =
        subresource === undefined
          ? creationPath(kind, metadata, 'create')
          : objectPath(kind, metadata, 'create', subresource);
      return exchange(kind, { method: 'POST', path, query: writeQuery(options), body: object }, options);
    },

    async update(kind, object, options = {}) {
      const path = objectPath(kind, refOf(object), 'update', options.subresource);
      return exchange(kind, { method: 'PUT', path, query: writeQuery(options), body: object }, options);
    },

    async patch(kind, ref, type, patch, options = {}) {
      return sendPatch(kind, ref, PATCH_TYPES[type], patch, options);
    },

    async apply(kind, object, options) {
      // A mismatch is always a mistake of the caller, and the server's message for it is hard to understand.
      const isSame = object.apiVersion === kind.apiVersion && object.kind === kind.kind;
      if (!isSame && hasOwnKind(options.subresource)) {
        throw RequestErrors.NotOfKind(`${kind.apiVersion} ${kind.kind}`, `${object.apiVersion} ${object.kind}`);
      }
      return sendPatch(kind, refOf(object), APPLY_TYPE, object, options, { force: String(options.force) });
    },

    async delete(kind, ref, options = {}) {
      const { propagationPolicy, gracePeriodSeconds, preconditions } = options;
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(propagationPolicy !== undefined && { propagationPolicy }),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(preconditions !== undefined && { preconditions }),
        ...(options.dryRun && { dryRun: ['All'] }),
      };
      const path = objectPath(kind, ref, 'delete');
      const answer = await send({ method: 'DELETE', path, query: dryRunQuery(options), body }, options);
      return lingers(answer.body) ? objectOf(kind, answer.body, answer.origin) : undefined;
    },

    request: (request) => caller.send(request),

    close: () => transport.close(),
  };
  return client;

  function sendPatch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    options: WriteOptions,
    more: Record<string, string> = {},
  ): Promise<T> {
    const path = objectPath(kind, ref, 'patch', options.subresource);
    const query = { ...writeQuery(options), ...more };
    return exchange(kind, { method: 'PATCH', path, query, body, contentType }, options);
  }
}

const DEFAULT_PAGE = 500;

/**
 * Reports whether the answer has the kind of the object. Scale, TokenRequest and similar subresources have other kinds; status has the same
 * kind.
 */
function hasOwnKind(subresource: string | undefined): boolean {
  return subresource === undefined || subresource === 'status';
}

function callFields({ signal, timeoutMs }: CallOptions): Pick<ApiRequest, 'signal' | 'timeoutMs'> {
  return { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

/** Returns a metadata-only watch whose objects have the kind's own name instead of PartialObjectMetadata. */
async function* renamed<T extends KubeObject>(kind: Kind<T>, stream: WatchStream, origin: AnswerOrigin): WatchStream {
  for await (const batch of stream) {
    yield batch.map(
      (event): WatchEvent =>
        event.type === 'ERROR' ? event : { type: event.type, object: objectOf(kind, event.object, origin) },
    );
  }
}
