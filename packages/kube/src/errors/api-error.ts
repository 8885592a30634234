import { sentence } from './coded-error.ts';

/** One reason among those that a Status gives in `details.causes`. */
export interface StatusCause {
  reason?: string;
  message?: string;
  /** Path of the field, as `spec.replicas` or `.spec.replicas`. */
  field?: string;
}

/** The server's Status object, as far as it is used. */
export interface Status {
  kind?: 'Status';
  code?: number;
  reason?: string;
  message?: string;
  status?: string;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: StatusCause[];
    retryAfterSeconds?: number;
  };
  metadata?: { continue?: string; resourceVersion?: string };
}

export interface ApiErrorOptions extends ErrorOptions {
  /** HTTP status. */
  code: number;
  /** The Status that the server sent; empty if the answer was not a Status. */
  status: Status;
  method: string;
  /** Without query. */
  path: string;
  address: string;
  retryAfterSeconds?: number;
}

/** An error answer of the server. */
export class ApiError extends Error {
  readonly code: number;
  /** `NotFound`, `Conflict`, …: the server's reason, or the usual one of the code if it sent none. */
  readonly reason: string;
  /** The server's own sentence. `message` also has the request and the remedy. */
  readonly serverMessage: string;
  readonly details: NonNullable<Status['details']>;
  readonly status: Status;
  readonly method: string;
  readonly path: string;
  readonly address: string;
  /** From the Retry-After header, else from the Status. */
  readonly retryAfterSeconds: number | undefined;

  constructor(options: ApiErrorOptions) {
    const { code, status, method, path, address } = options;
    const reason = status.reason || REASONS[code] || 'Unknown';
    const detail = status.message?.trim() || `the server answered ${code} without a reason`;
    super(sentence(`${method} ${path} at ${address}: ${detail} (${code} ${reason})`, remedyFor(code, reason)), {
      cause: options.cause,
    });
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.serverMessage = detail;
    this.details = status.details ?? {};
    this.status = status;
    this.method = method;
    this.path = path;
    this.address = address;
    this.retryAfterSeconds = options.retryAfterSeconds ?? status.details?.retryAfterSeconds;
  }
}

// The reasons of the API for servers and proxies that send none.
const REASONS: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function remedyFor(code: number, reason: string): string {
  if (reason === 'AlreadyExists') return 'choose another name, or update the object that is there';
  const remedy = REMEDIES[code];
  if (remedy !== undefined) return remedy;
  return code >= 500 ? 'try again, and check the log of the API server' : 'correct the request';
}

const REMEDIES: Record<number, string> = {
  400: 'correct the request',
  401: 'log in again, or renew the token or client certificate of this user',
  403: 'grant this user the named permission (RBAC)',
  404: 'check the name and the namespace, and that the kind is installed',
  405: 'use an operation that this kind supports',
  409: 'read the object again and repeat the change on what is there now',
  410: 'list again from the beginning',
  413: 'send a smaller object',
  415: 'use a patch type that this kind supports',
  422: 'correct the fields that it names',
  429: 'wait and try again',
};
