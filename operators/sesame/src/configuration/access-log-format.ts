import { accept, type Result, refuse } from '../result.ts';

// Formats of Envoy's access log: the operators, and the meaning of the short names of JSON fields.

/** Operators without arguments. */
const PLAIN = new Set(
  `ACCESS_LOG_TYPE BYTES_RECEIVED BYTES_RETRANSMITTED BYTES_SENT CONNECTION_ID CONNECTION_TERMINATION_DETAILS CUSTOM_FLAGS
DOWNSTREAM_DETECTED_CLOSE_TYPE DOWNSTREAM_DIRECT_LOCAL_ADDRESS DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT
DOWNSTREAM_DIRECT_LOCAL_PORT DOWNSTREAM_DIRECT_REMOTE_PORT
DOWNSTREAM_DIRECT_REMOTE_ADDRESS DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_HANDSHAKE_DURATION
DOWNSTREAM_HEADER_BYTES_RECEIVED DOWNSTREAM_HEADER_BYTES_SENT DOWNSTREAM_LOCAL_ADDRESS DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT
DOWNSTREAM_LOCAL_DNS_SAN DOWNSTREAM_LOCAL_EMAIL_SAN DOWNSTREAM_LOCAL_IP_SAN DOWNSTREAM_LOCAL_OTHERNAME_SAN
DOWNSTREAM_LOCAL_PORT DOWNSTREAM_LOCAL_SUBJECT DOWNSTREAM_LOCAL_URI_SAN DOWNSTREAM_PEER_CERT DOWNSTREAM_PEER_CERT_V_END
DOWNSTREAM_PEER_CERT_V_START DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_1 DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_256
DOWNSTREAM_PEER_CHAIN_SERIALS DOWNSTREAM_PEER_DNS_SAN DOWNSTREAM_PEER_EMAIL_SAN DOWNSTREAM_PEER_FINGERPRINT_1
DOWNSTREAM_PEER_FINGERPRINT_256 DOWNSTREAM_PEER_IP_SAN DOWNSTREAM_PEER_ISSUER DOWNSTREAM_PEER_OTHERNAME_SAN
DOWNSTREAM_PEER_SERIAL DOWNSTREAM_PEER_SUBJECT DOWNSTREAM_PEER_URI_SAN DOWNSTREAM_REMOTE_ADDRESS
DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_REMOTE_PORT DOWNSTREAM_TLS_CIPHER DOWNSTREAM_TLS_SESSION_ID
DOWNSTREAM_TLS_VERSION DOWNSTREAM_TRANSPORT_FAILURE_REASON DOWNSTREAM_WIRE_BYTES_RECEIVED DOWNSTREAM_WIRE_BYTES_SENT DURATION
EMIT_TIME FILTER_CHAIN_NAME GRPC_STATUS GRPC_STATUS_NUMBER HOSTNAME LOCAL_REPLY_BODY PACKETS_RETRANSMITTED PROTOCOL
REQUESTED_SERVER_NAME REQUEST_DURATION REQUEST_HEADERS_BYTES REQUEST_TX_DURATION RESPONSE_CODE RESPONSE_CODE_DETAILS
RESPONSE_DURATION RESPONSE_FLAGS RESPONSE_FLAGS_LONG RESPONSE_HEADERS_BYTES RESPONSE_TRAILERS_BYTES RESPONSE_TX_DURATION
ROUNDTRIP_DURATION ROUTE_NAME SPAN_ID START_TIME STREAM_ID TLS_JA3_FINGERPRINT TLS_JA4_FINGERPRINT TRACE_ID UNIQUE_ID
UPSTREAM_CLUSTER UPSTREAM_CLUSTER_RAW UPSTREAM_CONNECTION_ID UPSTREAM_CONNECTION_POOL_READY_DURATION
UPSTREAM_DETECTED_CLOSE_TYPE UPSTREAM_HEADER_BYTES_RECEIVED UPSTREAM_HEADER_BYTES_SENT UPSTREAM_HOST UPSTREAM_HOST_NAME
UPSTREAM_HOST_NAME_WITHOUT_PORT UPSTREAM_LOCAL_ADDRESS UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT UPSTREAM_LOCAL_DNS_SAN
UPSTREAM_LOCAL_IP_SAN UPSTREAM_LOCAL_PORT UPSTREAM_LOCAL_URI_SAN UPSTREAM_PEER_CERT
UPSTREAM_PEER_CERT_V_END UPSTREAM_PEER_CERT_V_START UPSTREAM_PEER_DNS_SAN UPSTREAM_PEER_IP_SAN UPSTREAM_PEER_ISSUER
UPSTREAM_PEER_SUBJECT UPSTREAM_PEER_URI_SAN UPSTREAM_PROTOCOL UPSTREAM_REMOTE_ADDRESS UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT
UPSTREAM_REMOTE_PORT UPSTREAM_REQUEST_ATTEMPT_COUNT UPSTREAM_TLS_CIPHER UPSTREAM_TLS_SESSION_ID UPSTREAM_TLS_VERSION
UPSTREAM_TRANSPORT_FAILURE_REASON UPSTREAM_WIRE_BYTES_RECEIVED UPSTREAM_WIRE_BYTES_SENT VIRTUAL_CLUSTER_NAME`.split(
    /\s+/,
  ),
);

/** Operators that need arguments: `%REQ(X-REQUEST-ID)%`. */
const WITH_ARGUMENTS = new Set([
  'CLUSTER_METADATA',
  'DYNAMIC_METADATA',
  'ENVIRONMENT',
  'FILTER_STATE',
  'METADATA',
  'QUERY_PARAM',
  'REQ',
  'REQ_WITHOUT_QUERY',
  'RESP',
  'TRAILER',
  'UPSTREAM_FILTER_STATE',
  'UPSTREAM_METADATA',
]);

/** Those among them whose argument is no header: any text that is not empty. */
const FREE_ARGUMENTS = new Set([
  'CLUSTER_METADATA',
  'DYNAMIC_METADATA',
  'ENVIRONMENT',
  'QUERY_PARAM',
  'UPSTREAM_METADATA',
]);

/** Forms of %GRPC_STATUS%; without one it is CAMEL_STRING. */
const GRPC_FORMS = ['CAMEL_STRING', 'SNAKE_STRING', 'NUMBER'];

/** Operators whose argument may be left out: the format of a time. */
const TIMES = new Set([
  'START_TIME',
  'EMIT_TIME',
  'DOWNSTREAM_PEER_CERT_V_START',
  'DOWNSTREAM_PEER_CERT_V_END',
  'UPSTREAM_PEER_CERT_V_START',
  'UPSTREAM_PEER_CERT_V_END',
]);

/** Where metadata can come from. */
const METADATA = ['CLUSTER', 'DYNAMIC', 'LISTENER', 'LISTENER_FILTER_CHAIN', 'ROUTE', 'UPSTREAM_HOST', 'VIRTUAL_HOST'];

/** Names of JSON fields that stand for more than the operator of the same name. */
const NAMED: Readonly<Record<string, string>> = {
  '@timestamp': '%START_TIME%',
  ts: '%START_TIME%',
  authority: '%REQ(:AUTHORITY)%',
  method: '%REQ(:METHOD)%',
  path: '%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%',
  request_id: '%REQ(X-REQUEST-ID)%',
  uber_trace_id: '%REQ(UBER-TRACE-ID)%',
  user_agent: '%REQ(USER-AGENT)%',
  x_forwarded_for: '%REQ(X-FORWARDED-FOR)%',
  x_trace_id: '%REQ(X-TRACE-ID)%',
  upstream_service_time: '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%',
  tls_ja3_fingerprint: '%TLS_JA3_FINGERPRINT%',
  tls_ja4_fingerprint: '%TLS_JA4_FINGERPRINT%',
  sesame_config_kind: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.kind)%',
  sesame_config_namespace: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.namespace)%',
  sesame_config_name: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.name)%',
  contour_config_kind: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.kind)%',
  contour_config_namespace: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.namespace)%',
  contour_config_name: '%METADATA(ROUTE:envoy.access_loggers.file:io.projectsesame.name)%',
};

/** Returns the problem of a format, in words that follow its path, or undefined. */
export function formatProblem(format: string): string | undefined {
  let rest = format;
  for (let at = rest.indexOf('%'); at !== -1; at = rest.indexOf('%')) {
    rest = rest.slice(at);
    if (rest.startsWith('%%')) {
      rest = rest.slice(2);
      continue;
    }
    const found = /^%([A-Z0-9_]+)(\([^)\n]*\))?(:[0-9]+)?%/.exec(rest);
    if (found === null)
      return `has a malformed operator at "${rest.slice(0, 20)}"; write %NAME%, or %% for a percent sign`;
    const problem = operatorProblem(found[1] ?? '', found[2], found[3]);
    if (problem !== undefined) return problem;
    rest = rest.slice(found[0].length);
  }
  return undefined;
}

function operatorProblem(name: string, args: string | undefined, length: string | undefined): string | undefined {
  if (WITH_ARGUMENTS.has(name))
    return args === undefined || args === '()'
      ? `has %${name}% without arguments; name one, as in %REQ(HOST)%`
      : argumentProblem(name, args.slice(1, -1));
  if (!PLAIN.has(name)) return `has the unknown operator %${name}%; see Envoy’s access log documentation`;
  if (length !== undefined) return `has %${name}% with a length, which it does not take; remove ${length}`;
  if (args === undefined || TIMES.has(name)) return undefined;
  if (name === 'GRPC_STATUS')
    return GRPC_FORMS.includes(args.slice(1, -1))
      ? undefined
      : `has the unknown form %GRPC_STATUS${args}%; use one of ${GRPC_FORMS.join(', ')}`;
  return `has %${name}% with arguments, which it does not take; remove ${args}`;
}

function argumentProblem(name: string, text: string): string | undefined {
  if (FREE_ARGUMENTS.has(name)) return undefined;
  if (name === 'FILTER_STATE' || name === 'UPSTREAM_FILTER_STATE')
    return /^[^:]+(:(PLAIN|TYPED))?$/.test(text)
      ? undefined
      : `has an unknown form in %${name}(${text})%; use KEY, KEY:PLAIN or KEY:TYPED`;
  if (name === 'METADATA') {
    const [from = ''] = text.split(':');
    return METADATA.includes(from)
      ? undefined
      : `has metadata of an unknown kind in %METADATA(${text})%; use one of ${METADATA.join(', ')}`;
  }
  return /^:?[-!#$&'*+.^_`|~0-9A-Za-z]+(\?:?[-!#$&'*+.^_`|~0-9A-Za-z]+)?$/.test(text)
    ? undefined
    : `has no header name in %${name}(${text})%; name one header, or two as in %REQ(X?Y)%`;
}

/** Name and format of an entry of `jsonFields`: `name` alone, or `name=FORMAT`. The problem when it is not known. */
export function jsonField(entry: string): Result<{ name: string; format: string }> {
  const at = entry.indexOf('=');
  const name = at === -1 ? entry : entry.slice(0, at);
  if (name === '') return refuse('has no name; write name or name=FORMAT');
  if (at !== -1) {
    const format = entry.slice(at + 1);
    const problem = format === '' ? 'has an empty format; write name=FORMAT' : formatProblem(format);
    return problem === undefined ? accept({ name, format }) : refuse(problem);
  }
  const named = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
  if (named !== undefined) return accept({ name, format: named });
  const operator = name.toUpperCase();
  return PLAIN.has(operator)
    ? accept({ name, format: `%${operator}%` })
    : refuse('is not a known field; write name=FORMAT for one of your own');
}
