// The interface between the client and a server. It has two implementations: HTTP (http-transport.ts) and in-process (packages/apiserver).
// Bodies are JSON values, never text, so that the in-process one copies nothing. A receiver must not change a value.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest {
  method: Method;
  /** The absolute, escaped path without the server's address: `/apis/apps/v1/namespaces/x/deployments/y`. */
  path: string;
  query?: Record<string, string>;
  /** Names in lower case. */
  headers?: Record<string, string>;
  /** A JSON value, sent with the content type below. */
  body?: unknown;
  /** The content type of the body. Default: application/json. PATCH uses the patch types. */
  contentType?: string;
  /** The media type of the answer. Default: application/json. Metadata-only and Table answers are requested here. */
  accept?: string;
  /** Ends the request or the watch. */
  signal?: AbortSignal;
  /** The time-out for the answer, or for the headers of a watch. Default: 30,000. */
  timeoutMs?: number;
}

export interface ApiResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The parsed JSON body; a string when the content type is not JSON; undefined when there is none. */
  body: unknown;
  /** The sizes of the bodies on the wire, for metrics. A transport without a wire omits them. */
  requestBytes?: number;
  responseBytes?: number;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: unknown;
}

/**
 * An open watch. Iterating yields non-empty batches in the order of arrival. It ends when the server ends the stream, and throws if the
 * connection breaks. Leaving the loop or aborting the request's signal closes the connection.
 */
export type WatchStream = AsyncIterable<readonly WatchEvent[]>;

export interface Transport {
  /** The server's address for messages, without credentials. */
  readonly address: string;
  /** Resolves for every status, including 4xx and 5xx. Rejects with a TransportError if no answer came. */
  request(request: ApiRequest): Promise<ApiResponse>;
  /** Opens a watch. Path and query already request it. A status other than 200 is returned as a response, not as a stream. */
  watch(request: ApiRequest): Promise<WatchStream | ApiResponse>;
  /** Closes every connection and rejects all open requests. */
  close(): Promise<void>;
}
