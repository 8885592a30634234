/** Limits of the xDS server. They are far above the needs of Envoys, and keep one client from harming the others. */
export interface XdsLimits {
  /** Bytes of one request. A request has names and versions, not resources; with 20,000 names it has about 2 MB. */
  readonly requestBytes: number;
  /** Bytes of requests of one connection that have not arrived completely, or that wait for the first complete set of resources. */
  readonly incompleteBytes: number;
  /** A stream ends when its first request, or the rest of a request, takes longer. */
  readonly requestMs: number;
  /** Streams of one connection. In state of the world, an Envoy opens one for each cluster, route configuration and secret. */
  readonly sessionStreams: number;
  /** Streams of all connections. */
  readonly streams: number;
  /** Names that one stream asks for of one type. */
  readonly names: number;
  /** Characters of one name: of a resource, or of a node. */
  readonly nameLength: number;
  /** Characters of all names that the streams of one connection ask for: 20,000 streams with a name each have about 1 MB. */
  readonly sessionNameLength: number;
  /** Characters of the message of a refusal that are kept. Envoy's own have 4,096 at most. */
  readonly refusalLength: number;
  /** Requests of one stream that wait for the first complete set of resources. */
  readonly waitingRequests: number;
}

export const XDS_LIMITS: XdsLimits = {
  requestBytes: 64 * 1024 * 1024,
  incompleteBytes: 128 * 1024 * 1024,
  requestMs: 60_000,
  sessionStreams: 2 ** 18,
  streams: 2 ** 20,
  names: 250_000,
  nameLength: 4_096,
  sessionNameLength: 64 * 1024 * 1024,
  refusalLength: 8_192,
  waitingRequests: 64,
};

/** Responses of one type that a stream has been sent and has not answered. Later changes of a name become one. */
export const MAX_UNANSWERED = 1_000;

/** Why the server ended a stream, as a metric counts it. */
export const REFUSAL_REASONS = ['message', 'size', 'time', 'names', 'streams', 'memory', 'error'] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
