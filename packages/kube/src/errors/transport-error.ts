import { type ErrorText, sentence } from './coded-error.ts';

/** The reason why no usable answer came. */
export type TransportErrorKind =
  /** Nothing listens there. */
  | 'refused'
  /** The name does not resolve. */
  | 'dns'
  /** No route, or the connection was not established in time. */
  | 'unreachable'
  | 'tls'
  /** The credentials could not be determined. The cause is the ConfigError. */
  | 'credentials'
  /** The proxy between the client and the server refused the request. */
  | 'proxy'
  /** No answer within the call's time. */
  | 'timeout'
  /** The connection broke after the request was (or may have been) sent. */
  | 'reset'
  /** The caller's signal. */
  | 'aborted'
  /** The transport was closed. */
  | 'closed'
  /** The answer violates the protocol. */
  | 'malformed'
  /** An answer or a watch line beyond the limit. */
  | 'too-large';

const FAILURES: Record<TransportErrorKind, ErrorText> = {
  refused: {
    message: 'the connection was refused',
    remedy: 'check that the API server is running and that the address is right',
  },
  dns: { message: 'its name does not resolve', remedy: 'check the address and the name servers of this machine' },
  unreachable: {
    message: 'the connection could not be established',
    remedy: 'check the network, firewalls and the address',
  },
  tls: {
    message: 'no secure connection could be established',
    remedy: 'check the certificate authority and the client certificate',
  },
  credentials: { message: 'there are no credentials to log in with', remedy: 'log in again' },
  proxy: { message: 'the proxy refused the connection', remedy: 'check proxy-url and its credentials' },
  timeout: {
    message: 'no answer came in time',
    remedy: 'try again, or check the load of the API server and the network',
  },
  reset: {
    message: 'the connection broke before the answer was complete',
    remedy: 'try again, or check the API server and what lies between',
  },
  aborted: { message: 'the call was cancelled', remedy: 'repeat it if it is still needed' },
  closed: { message: 'the connection has been closed on this side', remedy: 'open a new one' },
  malformed: {
    message: 'the answer is not one of a Kubernetes API server',
    remedy: 'check that the address is that of a Kubernetes API server',
  },
  'too-large': { message: 'the answer is larger than allowed', remedy: 'ask for smaller pages, or raise the limit' },
};

export interface TransportErrorOptions extends ErrorOptions {
  /** Replaces the usual text of the failure. */
  message?: string;
  remedy?: string;
  /** Default true, except for failures that happen before anything is sent. */
  maybeSent?: boolean;
  /** The request line (method and path, no query), which is added to the message. */
  request?: string;
}

/** No answer came, or none that could be understood. */
export class TransportError extends Error {
  readonly kind: TransportErrorKind;
  /** Where the request went, without credentials. */
  readonly address: string;
  readonly remedy: string;
  /** False only if the request certainly did not reach the server, so that a retry cannot execute it twice. */
  readonly maybeSent: boolean;

  constructor(kind: TransportErrorKind, address: string, options: TransportErrorOptions = {}) {
    const usual = FAILURES[kind];
    const remedy = options.remedy ?? usual.remedy;
    const what = options.request === undefined ? `cannot connect to ${address}` : `${options.request} at ${address}`;
    super(sentence(`${what}: ${options.message ?? usual.message}`, remedy), { cause: options.cause });
    this.name = 'TransportError';
    this.kind = kind;
    this.address = address;
    this.remedy = remedy;
    this.maybeSent = options.maybeSent ?? !NEVER_SENT.has(kind);
  }
}

const NEVER_SENT: ReadonlySet<TransportErrorKind> = new Set([
  'refused',
  'dns',
  'unreachable',
  'tls',
  'credentials',
  'proxy',
]);
