import type { Kind } from '../kind.ts';
import type { KubeObject, ObjectRef } from '../object.ts';
import type { ApiRequest, ApiResponse, Transport, WatchStream } from './transport.ts';

export interface CallOptions {
  signal?: AbortSignal;
  /** For the whole call, retries and the waits between them included. Default 30,000. */
  timeoutMs?: number;
  /** How often this call may be sent; 1 for callers that retry by themselves. Default: the client's `attempts`. */
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
  /** Only metadata of each object (PartialObjectMetadata). */
  metadataOnly?: boolean;
}

export interface WatchOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  timeoutSeconds?: number;
  allowBookmarks?: boolean;
  /** Streaming list: first all objects as ADDED, then a bookmark annotated `k8s.io/initial-events-end`. */
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
  /** The delete is refused with Conflict when the object is not this one any more. */
  preconditions?: { uid?: string; resourceVersion?: string };
}

export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

export type PatchType = 'json' | 'merge' | 'strategic';

/** What `get` asks for besides the object itself. */
export interface GetOptions extends CallOptions {
  resourceVersion?: string;
  subresource?: string;
  metadataOnly?: boolean;
}

/** A typed client of one cluster under one identity. Every failure is an ApiError or a TransportError. */
export interface Client {
  readonly transport: Transport;
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: GetOptions): Promise<T>;
  /** Like get, and undefined when the server says NotFound. */
  find<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: GetOptions): Promise<T | undefined>;
  /** One page. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** All pages, 500 objects each unless `limit` says otherwise. */
  pages<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): AsyncIterable<ListPage<T>>;
  /** Opens a watch; throws ApiError when the server refuses it. Never retried: the one that watches reopens anyway. */
  watch<T extends KubeObject>(kind: Kind<T>, options?: WatchOptions): Promise<WatchStream>;
  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces; with metadata.resourceVersion set it is refused with Conflict when the object moved on. */
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
  /** Resolves to the object when it lingers (finalizers), else undefined. */
  delete<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: DeleteOptions): Promise<T | undefined>;
  /** Any other request (`/version`, `/openapi/v3`, logs), with the client's retries; throws ApiError for 4xx and 5xx. */
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}
