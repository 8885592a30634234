import type { Kind } from '../kind.ts';
import type { KubeObject, ObjectRef } from '../object.ts';
import type { ApiRequest, ApiResponse, Transport, WatchStream } from './transport.ts';

export interface CallOptions {
  signal?: AbortSignal;
  /** The time-out of the whole call, including retries and the waits between them. Default: 30,000. */
  timeoutMs?: number;
  /** The maximal number of attempts of this call; 1 for callers that retry by themselves. Default: the client's `attempts`. */
  attempts?: number;
}

export interface ListOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** Requests only the metadata of each object (PartialObjectMetadata). */
  metadataOnly?: boolean;
}

export interface WatchOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  timeoutSeconds?: number;
  allowBookmarks?: boolean;
  /** Requests a streaming list: all objects as ADDED events, then a bookmark annotated `k8s.io/initial-events-end`. */
  sendInitialEvents?: boolean;
  metadataOnly?: boolean;
}

export interface WriteOptions extends CallOptions {
  fieldManager?: string;
  dryRun?: boolean;
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  subresource?: 'status' | 'scale' | (string & {});
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  force: boolean;
}

export interface DeleteOptions extends CallOptions {
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  dryRun?: boolean;
  /** The delete is refused with Conflict if the object has another uid or resourceVersion. */
  preconditions?: { uid?: string; resourceVersion?: string };
}

export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

export type PatchType = 'json' | 'merge' | 'strategic';

/** The options of `get`. */
export interface GetOptions extends CallOptions {
  resourceVersion?: string;
  subresource?: string;
  metadataOnly?: boolean;
}

/** A typed client of one cluster under one identity. Every failure is an ApiError or a TransportError. */
export interface Client {
  readonly transport: Transport;
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: GetOptions): Promise<T>;
  /** Works like get, but returns undefined if the server answers NotFound. */
  find<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: GetOptions): Promise<T | undefined>;
  /** Returns one page. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** Iterates over all pages, with 500 objects each unless `limit` is set. */
  pages<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): AsyncIterable<ListPage<T>>;
  /** Opens a watch. Throws an ApiError if the server refuses it. The call is never retried, because the caller reopens watches anyway. */
  watch<T extends KubeObject>(kind: Kind<T>, options?: WatchOptions): Promise<WatchStream>;
  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces the object. If metadata.resourceVersion is set and outdated, the server refuses the update with Conflict. */
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    type: PatchType,
    patch: unknown,
    options?: WriteOptions,
  ): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(kind: Kind<T>, object: KubeObject, options: ApplyOptions): Promise<T>;
  /** Resolves to the object if finalizers still hold it, and to undefined otherwise. */
  delete<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: DeleteOptions): Promise<T | undefined>;
  /** Sends any other request (`/version`, `/openapi/v3`, logs) with the client's retries. Throws an ApiError for 4xx and 5xx. */
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}
