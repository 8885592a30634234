// The one interface between the client and a server. Two implementations: HTTP (http-transport.ts) and in-process
// (packages/apiserver). Bodies cross it as JSON values, never as text, so that the in-process one copies nothing:
// a receiver must not change a value.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest {
  method: Method;
  /** Absolute path without the server's address: `/apis/apps/v1/namespaces/x/deployments/y`. Already escaped. */
  path: string;
  query?: Record<string, string>;
  /** Names in lower case. */
  headers?: Record<string, string>;
  /** A JSON value; sent as application/json unless contentType says otherwise. */
  body?: unknown;
  /** Of the body: application/json by default; the patch types for PATCH. */
  contentType?: string;
  /** What the answer should look like; application/json by default (metadata-only and Table are asked for here). */
  accept?: string;
  /** Ends the request; a watch ends too. */
  signal?: AbortSignal;
  /** Until the answer (for a watch: until its headers) is there; default 30,000. */
  timeoutMs?: number;
}

export interface ApiResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The parsed JSON body; a string when the content type is not JSON; undefined when there is none. */
  body: unknown;
  /** Sizes of the bodies on the wire, for metrics; a transport without a wire leaves them out. */
  requestBytes?: number;
  responseBytes?: number;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: unknown;
}

/**
 * An open watch. Iterating yields batches in arrival order (never empty); ends when the server ends the stream; throws
 * when the connection breaks. Leaving the loop, or aborting the request's signal, closes the connection.
 */
export type WatchStream = AsyncIterable<readonly WatchEvent[]>;

export interface Transport {
  /** For messages: where requests go, without credentials. */
  readonly address: string;
  /** Resolves for every status, 4xx and 5xx included; rejects with TransportError when no answer came. */
  request(request: ApiRequest): Promise<ApiResponse>;
  /** Opens a watch (the path and query already say so). A status other than 200 comes back as a response, not as a stream. */
  watch(request: ApiRequest): Promise<WatchStream | ApiResponse>;
  /** Closes every connection; what is still running rejects. */
  close(): Promise<void>;
}
