// The limits of everything that reads bytes from outside, by the constants that hold them. `npm run generate:limits` writes docs/limits.md from
// this table and the values in the code; a test fails where a constant named MAX is in neither list of this file.

export type Unit = 'bytes' | 'ms' | 's' | 'MB' | 'count';

export interface Limit {
  readonly file: string;
  /** A constant of the file, or the default of an option. */
  readonly name: string;
  readonly unit: Unit;
  readonly limits: string;
  /** The answer to an input beyond it. */
  readonly beyond: string;
}

export interface Area {
  readonly title: string;
  readonly limits: readonly Limit[];
}

type Line = [name: string, unit: Unit, limits: string, beyond: string];

const of = (file: string, ...lines: readonly Line[]): Limit[] =>
  lines.map(([name, unit, limits, beyond]) => ({ file, name, unit, limits, beyond }));

export const SERVER = 'packages/apiserver/src';

export const KUBE = 'packages/kube/src';

export const XPKG = 'operators/crossplane/src';

export const AREAS: readonly Area[] = [
  {
    title: 'Requests to the embedded cluster',
    limits: [
      ...of(
        `${SERVER}/http/http-server.ts`,
        ['DEFAULT_BODY_LIMIT', 'bytes', 'a body', '413'],
        ['MAX_HEADER_BYTES', 'bytes', 'URL and headers over HTTP/1.1', '431'],
        ['REQUEST_MS', 'ms', 'the arrival of a request with its body', '408'],
        ['HANDSHAKE_MS', 'ms', 'the TLS handshake', 'the connection ends'],
        ['KEEP_ALIVE_MS', 'ms', 'an idle connection', 'it ends'],
        ['DEFAULT_DRAIN_MS', 'ms', 'an answer or a watch of which nothing is taken', 'its stream ends'],
        ['MAX_WATCHES', 'count', 'watches and followed logs of a user', '429'],
        ['QUEUE_MS', 'ms', 'the wait for a free slot', '429'],
        ['UNREAD.connection', 'bytes', 'answers that a connection has not read', 'its requests wait'],
        ['UNREAD.user', 'bytes', 'answers that a user has not read', 'its requests wait'],
        [
          'UNREAD.level',
          'bytes',
          'answers that a level (administrators, users, anonymous) has not read',
          'its requests wait',
        ],
        ['BODIES.connection', 'bytes', 'bodies of a connection that are worked on', '429'],
        ['BODIES.user', 'bytes', 'bodies of a user that are worked on', '429'],
        ['BODIES.level', 'bytes', 'bodies of a level that are worked on', '429'],
      ),
      ...of(
        `${SERVER}/http/http2-sessions.ts`,
        ['MAX_STREAMS', 'count', 'open streams of an HTTP/2 connection', 'a stream is refused'],
        ['MAX_MEGABYTES', 'MB', 'memory of an HTTP/2 connection', 'the connection ends'],
        ['MAX_HEADER_LIST_BYTES', 'bytes', 'the headers of a request over HTTP/2', '431'],
        ['MAX_HEADER_PAIRS', 'count', 'headers of a request over HTTP/2', 'the stream ends'],
        ['MAX_FRAME_BYTES', 'bytes', 'a frame', 'the connection ends'],
        ['CONNECTION_WINDOW_BYTES', 'bytes', 'bodies in flight on a connection', 'the client waits'],
      ),
      ...of(
        `${SERVER}/fairness/connections.ts`,
        ['ANONYMOUS_IDLE_MS', 'ms', 'an idle connection without credentials', 'it ends'],
        ['MAX_ANONYMOUS', 'count', 'connections without credentials', 'the oldest of them ends'],
        ['MAX_PIPELINED', 'count', 'pipelined requests of a connection', 'the connection ends'],
      ),
      ...of(`${SERVER}/fairness/request-slots.ts`, [
        'QUEUE_LENGTH',
        'count',
        'requests of a connection that wait for a slot',
        '429',
      ]),
      ...of(
        `${SERVER}/json/value-limits.ts`,
        ['MAX_DEPTH', 'count', 'levels of a body in JSON, YAML or protobuf', '400'],
        ['MAX_VALUES', 'count', 'values of a body (objects, lists, scalars, uses of aliases)', '413'],
      ),
      ...of(
        `${SERVER}/body/body-parser.ts`,
        ['PARSE_MS', 'ms', 'parsing a body in its thread', '400'],
        ['MAX_THREAD_MB', 'MB', 'memory of that thread', '400'],
      ),
      ...of(
        `${SERVER}/errors.ts`,
        ['MAX_ERRORS', 'count', 'errors that an answer lists', '"and more errors"'],
        ['MAX_ERROR_TEXT', 'bytes', 'their text', '"and more errors"'],
      ),
      ...of(
        `${SERVER}/bounded-errors.ts`,
        ['MAX_COLLECTED', 'count', 'errors of an object', 'the rest is not checked'],
        ['MAX_COLLECTED_TEXT', 'bytes', 'their text', 'the rest is not checked'],
      ),
      ...of(
        `${SERVER}/rest/decode.ts`,
        ['MAX_COMPLAINTS', 'count', 'unknown and duplicate fields that an answer lists', 'the rest is left out'],
        ['MAX_CUSTOM_COMPLAINTS', 'count', 'the same of custom resources', 'the rest is left out'],
      ),
      ...of(`${SERVER}/store/object-parts.ts`, ['MAX_STORED_BYTES', 'bytes', 'an object as JSON', '413']),
      ...of(`${SERVER}/store/store.ts`, ['HISTORY_BYTES', 'bytes', 'the past that watches may ask for', '410']),
      ...of(`${SERVER}/watch/watch.ts`, [
        'BUFFER_BYTES',
        'bytes',
        'events that a watcher has not read',
        'the watch ends',
      ]),
      ...of(`${SERVER}/rest/selectors.ts`, ['MAX_TERMS', 'count', 'requirements of a selector', '400']),
      ...of(`${SERVER}/rest/update.ts`, [
        'MAX_PAUSED_ATTEMPTS',
        'count',
        'attempts of a large change of an object that others change',
        '409',
      ]),
      ...of(`${SERVER}/http/write-answer.ts`, ['MAX_YAML_BYTES', 'bytes', 'an answer in YAML, as JSON', '406']),
      ...of(
        `${SERVER}/dispatch.ts`,
        ['MAX_WARNINGS', 'count', 'characters of all warnings of an answer', 'each is cut'],
        ['MAX_WARNING', 'count', 'characters of a warning then', 'it is cut'],
      ),
      ...of(
        `${KUBE}/json/json-patch.ts`,
        ['MAX_OPERATIONS', 'count', 'operations of a JSON patch', '413'],
        ['MAX_COPIED_BYTES', 'bytes', 'bytes that its copies add', '422'],
        ['MAX_LEVELS', 'count', 'levels of its result', '422'],
      ),
    ],
  },
  {
    title: 'Streams into pods',
    limits: [
      ...of(
        `${SERVER}/streams/web-socket.ts`,
        ['MAX_MESSAGE', 'bytes', 'a WebSocket message', 'the connection ends with 1009'],
        ['MAX_FRAGMENTS', 'count', 'fragments of a message', 'the connection ends'],
        ['MAX_WAITING', 'bytes', 'messages that wait for their reader', 'the connection is not read'],
      ),
      ...of(
        `${SERVER}/streams/spdy-connection.ts`,
        ['MAX_FRAME', 'bytes', 'a SPDY frame', 'the connection ends'],
        ['MAX_STREAMS', 'count', 'open SPDY streams', 'the connection ends'],
        ['STREAM_BUFFER', 'bytes', 'data that waits for a slow reader', 'the connection is not read'],
      ),
      ...of(`${SERVER}/streams/spdy-headers.ts`, [
        'MAX_BLOCK',
        'bytes',
        'a block of SPDY headers, unpacked',
        'the connection ends',
      ]),
      ...of(`${SERVER}/streams/remote-command.ts`, [
        'MAX_SIZE_TEXT',
        'count',
        'characters of a terminal size',
        'it is ignored',
      ]),
    ],
  },
  {
    title: 'Definitions, rules and webhooks',
    limits: [
      ...of(
        `${KUBE}/cel/syntax/parser.ts`,
        ['MAX_LENGTH', 'count', 'characters of a CEL expression', 'it does not compile'],
        ['MAX_DEPTH', 'count', 'levels of an expression', 'it does not compile'],
        ['MAX_CHAIN', 'count', 'links of a chain of operators or selections', 'it does not compile'],
      ),
      ...of(
        `${KUBE}/cel/syntax/source.ts`,
        ['MAX_ISSUES', 'count', 'errors that are listed', 'the rest is left out'],
        ['MAX_SNIPPET', 'count', 'characters of a line that is shown', 'it is left out'],
      ),
      ...of(
        `${KUBE}/cel/check-rules.ts`,
        ['MAX_RULE_COST', 'count', 'estimated cost of a rule', 'the definition is refused'],
        ['MAX_TOTAL_COST', 'count', 'estimated cost of all rules', 'the definition is refused'],
      ),
      ...of(`${KUBE}/cel/compile.ts`, ['MAX_CALL_COST', 'count', 'cost of one evaluation', 'the object is refused']),
      ...of(`${KUBE}/cel/evaluator.ts`, [
        'MAX_MESSAGE_BYTES',
        'bytes',
        'the result of a messageExpression',
        'the message of the rule is used',
      ]),
      ...of(`${KUBE}/cel/schema-type.ts`, [
        'MAX_REQUEST',
        'bytes',
        'the size that estimates assume for unbounded values',
        'no refusal',
      ]),
      ...of(`${SERVER}/crd/definition-strategy.ts`, [
        'MAX_ERRORS',
        'count',
        'errors of a definition in one answer',
        'the rest is left out',
      ]),
      ...of(
        `${KUBE}/regexp/parse.ts`,
        ['MAX_REPEAT', 'count', 'a counted repetition', 'the pattern is refused'],
        ['MAX_DEPTH', 'count', 'levels of a pattern', 'the pattern is refused'],
      ),
      ...of(`${KUBE}/regexp/program.ts`, [
        'MAX_INSTRUCTIONS',
        'count',
        'instructions of a pattern',
        'the pattern is refused',
      ]),
      ...of(`${KUBE}/regexp/dfa.ts`, ['MAX_STATES', 'count', 'states that are kept', 'they are computed again']),
      ...of(`${KUBE}/quantity.ts`, ['MAX_EXPONENT', 'count', 'characters and exponent of a quantity', 'it is refused']),
      ...of(`${SERVER}/admission/call-webhook.ts`, [
        'MAX_ANSWER',
        'bytes',
        'the answer of a webhook',
        'the call has failed',
      ]),
      ...of(`${SERVER}/admission/configuration-rules.ts`, [
        'MAX_CONDITIONS',
        'count',
        'matchConditions of a webhook',
        '422',
      ]),
      ...of(`${SERVER}/admission/admission-policies.ts`, [
        'MAX_MESSAGE',
        'bytes',
        'the message of a policy',
        'another message is used',
      ]),
      ...of(
        `${SERVER}/crd/conversion.ts`,
        ['TIMEOUT_SECONDS', 's', 'a conversion webhook', 'the request fails'],
        ['MAX_BATCH', 'count', 'objects of one conversion', 'several are made'],
        ['MAX_ROUNDS', 'count', 'conversions of one list', 'the request fails'],
        ['MAX_KEPT', 'count', 'kept conversions', 'the oldest is dropped'],
        ['MAX_KEPT_BYTES', 'bytes', 'kept conversions', 'the oldest is dropped'],
      ),
    ],
  },
  {
    title: 'Clients of other clusters',
    limits: [
      ...of(
        `${KUBE}/client/caller.ts`,
        ['DEFAULT_TIMEOUT_MS', 'ms', 'a request', 'it fails'],
        ['MAX_WARNINGS', 'count', 'warnings that are remembered', 'the rest is not logged'],
      ),
      ...of(`${KUBE}/client/http/watch-stream.ts`, [
        'HIGH_WATER',
        'bytes',
        'events that wait to be read',
        'the connection is not read',
      ]),
      ...of(`${KUBE}/client/status.ts`, [
        'MAX_TEXT',
        'count',
        'characters of an answer that an error quotes',
        'it is cut',
      ]),
      ...of(`${KUBE}/client/config/edge.ts`, ['MAX_OUTPUT', 'bytes', 'the output of a credential plugin', 'it fails']),
    ],
  },
  {
    title: 'Envoys of Sesame',
    limits: [
      ...of(
        'operators/sesame/src/xds/limits.ts',
        ['XDS_LIMITS.requestBytes', 'bytes', 'a request', 'the stream ends'],
        ['XDS_LIMITS.incompleteBytes', 'bytes', 'incomplete requests of a connection', 'the stream ends'],
        ['XDS_LIMITS.requestMs', 'ms', 'the first request, or the rest of one', 'the stream ends'],
        ['XDS_LIMITS.sessionStreams', 'count', 'streams of a connection', 'a stream is refused'],
        ['XDS_LIMITS.streams', 'count', 'streams of all connections', 'a stream is refused'],
        ['XDS_LIMITS.names', 'count', 'names of a type on a stream', 'the stream ends'],
        ['XDS_LIMITS.nameLength', 'count', 'characters of a name', 'the stream ends'],
        ['XDS_LIMITS.sessionNameLength', 'count', 'characters of all names of a connection', 'the stream ends'],
        ['XDS_LIMITS.refusalLength', 'count', 'characters of the message of a refusal', 'the rest is cut off'],
        ['XDS_LIMITS.waitingRequests', 'count', 'requests that wait for the first resources', 'the stream ends'],
        ['MAX_UNANSWERED', 'count', 'responses of a type that are not answered', 'changes are combined'],
      ),
      ...of(
        'operators/sesame/src/envoy/decode.ts',
        ['LIMITS.depth', 'count', 'levels of a message', 'the stream ends'],
        ['LIMITS.fields', 'count', 'fields of a message', 'the stream ends'],
      ),
    ],
  },
  {
    title: 'Registries and packages of Crossplane',
    limits: [
      ...of(
        `${XPKG}/oci/client.ts`,
        ['MAX_MANIFEST_BYTES', 'bytes', 'a manifest', 'the package is refused'],
        ['MAX_TAG_PAGE_BYTES', 'bytes', 'a page of tags', 'the request fails'],
        ['MAX_TAG_PAGES', 'count', 'pages of tags', 'the request fails'],
        ['MAX_REFERRERS', 'count', 'signatures that are looked at', 'the rest is ignored'],
      ),
      ...of(
        `${XPKG}/oci/transport.ts`,
        ['MAX_REDIRECTS', 'count', 'redirects', 'the request fails'],
        ['MAX_ERROR_BYTES', 'bytes', 'the body of an error', 'the rest is not read'],
      ),
      ...of(`${XPKG}/oci/manifest.ts`, ['MAX_LAYERS', 'count', 'layers of an image', 'the package is refused']),
      ...of(`${XPKG}/xpkg/image-source.ts`, [
        'MAX_INDEX_DEPTH',
        'count',
        'indexes in indexes',
        'the package is refused',
      ]),
      ...of(`${XPKG}/xpkg/image-file.ts`, [
        'MAX_SMALL_BYTES',
        'bytes',
        'a manifest or config in an image file',
        'the file is refused',
      ]),
      ...of(`${XPKG}/xpkg/package-stream.ts`, [
        'MAX_CONFIG_BYTES',
        'bytes',
        'the config of an image',
        'the package is refused',
      ]),
      ...of(
        `${XPKG}/xpkg/archive/decompress.ts`,
        ['maxBytes', 'bytes', 'an unpacked layer', 'the package is refused'],
        ['maxRatio', 'count', 'unpacked bytes for each packed one, beyond 64 MiB', 'the package is refused'],
      ),
      ...of(
        `${XPKG}/xpkg/archive/tar-reader.ts`,
        ['maxEntries', 'count', 'entries of an archive', 'the package is refused'],
        ['maxHeaderBytes', 'bytes', 'names and pax records of an entry', 'the package is refused'],
      ),
      ...of(
        `${XPKG}/xpkg/documents/yaml-stream.ts`,
        ['maxBytes', 'bytes', 'package.yaml', 'the package is refused'],
        ['maxDocumentBytes', 'bytes', 'a document of it', 'the package is refused'],
        ['maxDocuments', 'count', 'documents of it', 'the package is refused'],
      ),
      ...of(`${XPKG}/xpkg/documents/document-parser.ts`, [
        'MAX_THREAD_MB',
        'MB',
        'memory of the thread that parses documents',
        'the package is refused',
      ]),
      ...of(`${XPKG}/xpkg/semver.ts`, [
        'MAX_CONSTRAINT',
        'count',
        'characters of a version constraint',
        'it is refused',
      ]),
      ...of(
        `${XPKG}/cosign/verify.ts`,
        ['MAX_PAYLOAD_BYTES', 'bytes', 'a signed payload', 'the signature does not count'],
        ['MAX_ATTESTATION_BYTES', 'bytes', 'an attestation', 'it does not count'],
      ),
    ],
  },
  {
    title: 'Peers of Submariner and Gimbal',
    limits: [
      ...of(
        'operators/submariner/src/drivers/vici.ts',
        ['MAX_PACKET', 'bytes', 'a packet of charon', 'the connection ends'],
        ['MAX_DEPTH', 'count', 'nested sections of a message', 'the connection ends'],
      ),
      ...of(
        'operators/submariner/src/gateway/nat/message.ts',
        ['LIMITS.depth', 'count', 'levels of a discovery message', 'it is dropped'],
        ['LIMITS.fields', 'count', 'fields of a discovery message', 'it is dropped'],
      ),
      ...of('operators/submariner/src/policy/read-policy.ts', [
        'MAX_RULES',
        'count',
        'rules of a policy',
        'the policy is not accepted',
      ]),
      ...of('operators/gimbal/src/discover/openstack/cloud.ts', [
        'MAX_PAGES',
        'count',
        'pages of a list',
        'the cycle fails',
      ]),
    ],
  },
];
