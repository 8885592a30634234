// Converts the errors of Node, OpenSSL and undici to one TransportError. The message contains only codes and fixed texts, because the text
// of a socket error may hold secrets.
import { TransportError, type TransportErrorKind, type TransportErrorOptions } from '../errors.ts';
import { isRecord } from '../json/is-record.ts';
import type { ApiRequest } from './transport.ts';

export interface FailureContext {
  /** The failure happened while the connection was being created, so that nothing was sent. */
  whileConnecting?: boolean;
}

/** Returns the TransportError for a thrown value. A TransportError is returned unchanged. */
export function failureOf(
  thrown: unknown,
  address: string,
  request: Pick<ApiRequest, 'method' | 'path' | 'signal'>,
  { whileConnecting = false }: FailureContext = {},
): TransportError {
  if (thrown instanceof TransportError) return thrown;
  const [kind, texts = {}] = request.signal?.aborted ? ABORTED : classify(codeOf(thrown), whileConnecting);
  return new TransportError(kind, address, {
    request: `${request.method} ${request.path}`,
    cause: thrown,
    ...(whileConnecting && { maybeSent: false }),
    ...texts,
  });
}

type Texts = Pick<TransportErrorOptions, 'message' | 'remedy' | 'maybeSent'>;
type Classified = readonly [TransportErrorKind, Texts?];

function classify(code: string, whileConnecting: boolean): Classified {
  if (code === 'ETIMEDOUT' && whileConnecting) return NO_CONNECTION;
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (/_ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(code)) return CLIENT_CERTIFICATE;
  if (/^ERR_(SSL|TLS|OSSL)_|CERT|^EPROTO$/.test(code))
    return ['tls', { message: `the TLS handshake ended in ${code}` }];
  return ['reset', code === '' ? {} : { message: `the connection broke (${code}) before the answer was complete` }];
}

const ABORTED: Classified = ['aborted'];
const UNKNOWN_AUTHORITY: Classified = [
  'tls',
  {
    message: "the server's certificate is not signed by an authority that we know",
    remedy: 'put the authority of this cluster into certificate-authority-data of the kubeconfig',
  },
];
const CLIENT_CERTIFICATE: Classified = [
  'tls',
  {
    message: 'the server does not accept our client certificate',
    remedy: 'get a new kubeconfig or certificate from the administrator of the cluster',
  },
];
const NOT_TLS: Classified = [
  'tls',
  { message: 'the server does not use TLS', remedy: 'check the port, or write the address with http://' },
];
const NO_ROUTE: Classified = ['unreachable', { message: 'there is no route to it' }];
const NO_CONNECTION: Classified = ['unreachable', { message: 'the connection was not established in time' }];
const PROXY: Classified = ['proxy'];

const BY_CODE: Record<string, Classified> = {
  ECONNREFUSED: ['refused'],
  ENOTFOUND: ['dns'],
  EAI_AGAIN: ['dns', { message: 'its name cannot be resolved at the moment' }],
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  EADDRNOTAVAIL: NO_ROUTE,
  UND_ERR_CONNECT_TIMEOUT: NO_CONNECTION,
  ABORT_ERR: ABORTED,
  AbortError: ABORTED,
  UND_ERR_ABORTED: ABORTED,
  TimeoutError: ['timeout'],
  UND_ERR_HEADERS_TIMEOUT: ['timeout'],
  UND_ERR_BODY_TIMEOUT: ['timeout'],
  // On an established connection, this code means that keep-alive probes were not answered.
  ETIMEDOUT: ['reset', { message: 'the connection went silent' }],
  UND_ERR_DESTROYED: ['closed'],
  UND_ERR_CLOSED: ['closed'],
  UND_ERR_PRX_CONN: PROXY,
  UND_ERR_PRX_TLS: PROXY,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: ['too-large'],
  CERT_HAS_EXPIRED: [
    'tls',
    {
      message: "the server's certificate has expired",
      remedy: "renew the API server's certificate, or check the clock of this machine",
    },
  ],
  CERT_NOT_YET_VALID: [
    'tls',
    { message: "the server's certificate is not valid yet", remedy: 'check the clocks of this machine and the server' },
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'tls',
    {
      message: "the server's certificate is for another name",
      remedy: 'use an address that the certificate names, or set tls-server-name in the kubeconfig',
    },
  ],
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  CERT_SIGNATURE_FAILURE: UNKNOWN_AUTHORITY,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
};

// Happy Eyeballs wraps one error per address, and the relevant code may be in a cause.
function codeOf(thrown: unknown): string {
  for (let error: unknown = thrown, depth = 0; isRecord(error) && depth < 4; depth++) {
    if (typeof error['code'] === 'string' && error['code'] !== '') return error['code'];
    error = error['cause'] ?? (Array.isArray(error['errors']) ? error['errors'][0] : undefined);
  }
  return thrown instanceof Error && thrown.name !== 'Error' ? thrown.name : '';
}
