// The configuration of Sesame, field by field, with its defaults: SesameConfiguration.spec and SesameDeployment.spec.configuration.
//
// The schema below is the one of the effective configuration: fields with a default are always present. The CRD's schema is derived from it
// (`crd-schema.ts`): without defaults, because a server that fills them in rewrites the user's spec, and permissive on values, because
// an invalid value is reported on the status of the resource, where the user sees all of them at once.
import {
  anyValue,
  array,
  boolean,
  type InputOf,
  integer,
  map,
  object,
  string,
  type TypeOf,
} from '@capstan/kube/values';
import { DEFAULT_NAMESPACE } from './group.ts';

/** Ciphers of listeners when none are given. */
export const DEFAULT_CIPHER_SUITES = [
  '[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]',
  '[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
];

/** Fields of the JSON access log when none are given. */
export const DEFAULT_JSON_FIELDS = [
  '@timestamp',
  'authority',
  'bytes_received',
  'bytes_sent',
  'downstream_local_address',
  'downstream_remote_address',
  'duration',
  'method',
  'path',
  'protocol',
  'request_id',
  'requested_server_name',
  'response_code',
  'response_flags',
  'uber_trace_id',
  'upstream_cluster',
  'upstream_host',
  'upstream_local_address',
  'upstream_service_time',
  'user_agent',
  'x_forwarded_for',
  'grpc_status',
  'grpc_status_number',
];

const text = (description: string) => string({ optional: true, description });
const flag = (description: string) => boolean({ default: false, description });
const count = (description: string) =>
  integer({ optional: true, format: 'int64', description: `${description} At least 1.` });
const port = (value: number, description: string) => integer({ default: value, format: 'int32', description });
const timeout = (description: string) =>
  string({ optional: true, description: `${description} A duration, infinity, or empty for Envoy’s default.` });

const reference = (what: string) =>
  object({ name: text('Its name.'), namespace: text('Its namespace.') }, { optional: true, description: what });

const tlsFiles = () =>
  object(
    {
      caFile: text('CA bundle (PEM) that client certificates are verified with.'),
      certFile: text('Certificate chain (PEM).'),
      keyFile: text('Private key (PEM).'),
    },
    { optional: true, description: 'Serves over TLS with these files.' },
  );

const xdsServer = object(
  {
    type: string({ default: 'sesame', description: 'sesame, or envoy as a synonym.' }),
    address: string({ default: '0.0.0.0', description: 'Address of the gRPC server.' }),
    port: port(8001, 'Port of the gRPC server.'),
    insecure: flag('Serves without TLS.'),
    tls: object(
      {
        caFile: string({
          default: '/certs/ca.crt',
          description: 'CA bundle that Envoy’s certificate is verified with.',
        }),
        certFile: string({ default: '/certs/tls.crt', description: 'Certificate of the server.' }),
        keyFile: string({ default: '/certs/tls.key', description: 'Private key of the server.' }),
      },
      { default: {}, description: 'Files of the server’s TLS; their content is read at each handshake.' },
    ),
  },
  { default: {}, description: 'The gRPC server that Envoy gets its configuration from.' },
);

const ingress = object(
  {
    className: text('Ingress classes that are served, separated by commas.'),
    statusAddress: text('Addresses for the status of objects, instead of those of Envoy’s Service.'),
  },
  { default: {}, description: 'Which Ingress and HTTPProxy objects are served.' },
);

const debug = object(
  {
    address: string({ default: '127.0.0.1', description: 'Address of the debug server.' }),
    port: port(6060, 'Port of the debug server.'),
    logLevel: string({ default: 'info', description: 'info or debug.' }),
    kubernetesLogLevel: integer({ default: 0, format: 'int32', description: 'Verbosity of the API client, 0 to 9.' }),
  },
  { default: {}, description: 'The debug server and the log.' },
);

const endpoint = (address: string, portNumber: number, what: string) =>
  object(
    { address: string({ default: address, description: 'Address.' }), port: port(portNumber, 'Port.') },
    { default: {}, description: what },
  );

const metricsEndpoint = (portNumber: number, what: string) =>
  object(
    {
      address: string({ default: '0.0.0.0', description: 'Address.' }),
      port: port(portNumber, 'Port.'),
      tls: tlsFiles(),
    },
    { default: {}, description: what },
  );

const httpListener = (portNumber: number, what: string) =>
  object(
    {
      address: string({ default: '0.0.0.0', description: 'Address.' }),
      port: port(portNumber, 'Port.'),
      accessLog: string({ default: '/dev/stdout', description: 'File of the access log.' }),
    },
    { default: {}, description: what },
  );

const listener = object(
  {
    useProxyProtocol: flag('Expects the PROXY protocol on every connection.'),
    disableAllowChunkedLength: flag('Refuses requests with both Content-Length and chunked encoding.'),
    disableMergeSlashes: flag('Keeps runs of slashes in paths.'),
    serverHeaderTransformation: string({
      default: 'overwrite',
      description: 'overwrite, append_if_absent or pass_through.',
    }),
    connectionBalancer: string({ default: '', description: 'exact, or empty.' }),
    maxRequestsPerConnection: count('Requests of one connection.'),
    perConnectionBufferLimitBytes: count('Buffer of one connection, in bytes.'),
    maxRequestsPerIOCycle: count('Requests of one connection in one turn of the event loop.'),
    httpMaxConcurrentStreams: count('Concurrent streams of one HTTP/2 connection.'),
    maxConnectionsPerListener: count('Open connections of one listener.'),
    maxConnectionsToAcceptPerSocketEvent: count('Connections that are accepted at once.'),
    socketOptions: object(
      {
        tos: integer({ optional: true, format: 'int32', description: 'IP_TOS, 0 to 255.' }),
        trafficClass: integer({ optional: true, format: 'int32', description: 'IPV6_TCLASS, 0 to 255.' }),
      },
      { optional: true, description: 'Options of the listening sockets.' },
    ),
    compression: object(
      { algorithm: string({ default: 'gzip', description: 'gzip, brotli, zstd or disabled.' }) },
      { default: {}, description: 'Compression of responses.' },
    ),
    tls: object(
      {
        minimumProtocolVersion: string({ default: '1.2', description: '1.2 or 1.3.' }),
        maximumProtocolVersion: string({ default: '1.3', description: '1.2 or 1.3.' }),
        cipherSuites: array(string(), {
          default: DEFAULT_CIPHER_SUITES,
          description: 'Ciphers for TLS 1.2, or groups [A|B] of equal preference.',
        }),
        ecdhCurves: array(string(), { optional: true, description: 'Curves for ECDH; Envoy’s own by default.' }),
        fingerprint: object(
          { ja3: flag('Computes JA3 fingerprints of clients.'), ja4: flag('Computes JA4 fingerprints of clients.') },
          { optional: true, description: 'Fingerprints of TLS clients.' },
        ),
      },
      { default: {}, description: 'TLS of the HTTPS listener.' },
    ),
  },
  { default: {}, description: 'What all listeners of Envoy have in common.' },
);

const logging = object(
  {
    accessLogFormat: string({ default: 'envoy', description: 'envoy (text) or json.' }),
    accessLogFormatString: string({ default: '', description: 'Text format; Envoy’s own when empty.' }),
    jsonFields: array(string(), { default: DEFAULT_JSON_FIELDS, description: 'Fields of the JSON format.' }),
    accessLogLevel: string({
      default: 'info',
      description: 'info, error (from 300), critical (from 500) or disabled.',
    }),
  },
  { default: {}, description: 'Access logs.' },
);

const timeouts = object(
  {
    requestTimeout: timeout('For a whole request.'),
    connectionIdleTimeout: timeout('For a connection without requests.'),
    streamIdleTimeout: timeout('For a stream without traffic.'),
    maxConnectionDuration: timeout('For a connection as a whole.'),
    delayedCloseTimeout: timeout('Before a connection is closed that sent an error.'),
    connectionShutdownGracePeriod: timeout('Between the two GOAWAY frames of a draining connection.'),
    connectTimeout: string({ default: '2s', description: 'For connections to services. A duration above zero.' }),
  },
  { default: {}, description: 'Timeouts of Envoy.' },
);

const cluster = object(
  {
    dnsLookupFamily: string({ default: 'auto', description: 'auto, v4, v6 or all.' }),
    maxRequestsPerConnection: count('Requests of one connection to a service.'),
    perConnectionBufferLimitBytes: count('Buffer of one connection to a service, in bytes.'),
    circuitBreakers: object(
      {
        maxConnections: count('Connections.'),
        maxPendingRequests: count('Requests that wait for a connection.'),
        maxRequests: count('Requests at the same time.'),
        maxRetries: count('Retries at the same time.'),
        perHostMaxConnections: count('Connections to one endpoint.'),
      },
      { optional: true, description: 'Limits of services that have none of their own.' },
    ),
    outlierDetection: object(
      {
        disabled: boolean({ optional: true, description: 'Switches it off.' }),
        consecutiveServerErrors: count('Errors in a row; 5 by default.'),
        splitExternalLocalOriginErrors: boolean({
          optional: true,
          description: 'Counts failed connections by themselves, not as server errors.',
        }),
        consecutiveLocalOriginFailures: count('Failed connections in a row, counted by themselves; 5 by default.'),
        interval: text('Between two looks at the endpoints; 10s by default.'),
        baseEjectionTime: text('How long an endpoint is left out the first time; 30s by default.'),
        maxEjectionTime: text('How long an endpoint is left out at most; 300s by default.'),
        maxEjectionPercent: count('Endpoints that are left out at the same time; 50 by default.'),
      },
      { optional: true, description: 'Leaves out endpoints that answer with errors, of services that decide nothing.' },
    ),
    upstreamTLS: object(
      {
        minimumProtocolVersion: string({ default: '1.2', description: '1.2 or 1.3.' }),
        maximumProtocolVersion: string({ default: '1.3', description: '1.2 or 1.3.' }),
        cipherSuites: array(string(), { optional: true, description: 'Ciphers for TLS 1.2.' }),
        ecdhCurves: array(string(), { optional: true, description: 'Curves for ECDH.' }),
      },
      { default: {}, description: 'TLS to services.' },
    ),
  },
  { default: {}, description: 'Connections to services.' },
);

/** Placement of Envoy’s pods and publication of its Service: acted on by the operator only. */
export const nodePlacement = () =>
  object(
    {
      nodeSelector: map(string(), { optional: true, description: 'Labels of nodes that pods may run on.' }),
      tolerations: array(
        object({
          key: text('Key of the taint.'),
          operator: text('Exists or Equal.'),
          value: text('Value of the taint.'),
          effect: text('NoSchedule, PreferNoSchedule or NoExecute.'),
          tolerationSeconds: integer({ optional: true, format: 'int64' }),
        }),
        { optional: true, description: 'Taints of nodes that pods may run on.' },
      ),
    },
    { optional: true, description: 'Where pods run.' },
  );

export const networkPublishing = () =>
  object(
    {
      type: string({
        default: 'LoadBalancerService',
        description: 'LoadBalancerService, NodePortService or ClusterIPService.',
      }),
      externalTrafficPolicy: string({ default: 'Local', description: 'Local or Cluster.' }),
      ipFamilyPolicy: string({
        default: 'SingleStack',
        description: 'SingleStack, PreferDualStack or RequireDualStack.',
      }),
      serviceAnnotations: map(string(), { optional: true, description: 'Annotations of Envoy’s Service.' }),
    },
    { optional: true, description: 'How Envoy is reached from outside.' },
  );

const headers = (what: string) =>
  object(
    {
      set: map(string(), { optional: true, description: 'Headers that are set.' }),
      remove: array(string(), { optional: true, description: 'Headers that are removed.' }),
    },
    { optional: true, description: what },
  );

const envoy = object(
  {
    listener,
    service: object(
      {
        name: string({ default: 'envoy', description: 'Its name.' }),
        namespace: string({ default: DEFAULT_NAMESPACE, description: 'Its namespace; default the one of Sesame.' }),
      },
      { default: {}, description: 'The Service whose addresses go into the status of objects.' },
    ),
    http: httpListener(8080, 'The listener for HTTP.'),
    https: httpListener(8443, 'The listener for HTTPS.'),
    http3: object(
      {
        enabled: flag(
          'Serves hosts with TLS over HTTP/3 too, at the address and port of the listener for HTTPS, over UDP.',
        ),
        advertisedPort: port(443, 'The UDP port at which clients reach it, which answers over HTTPS name.'),
      },
      { default: {}, description: 'HTTP/3.' },
    ),
    metrics: metricsEndpoint(8002, 'Where Envoy serves its statistics.'),
    health: endpoint('0.0.0.0', 8002, 'Where Envoy serves its readiness.'),
    omEnforcedHealth: object(
      { address: string({ default: '0.0.0.0' }), port: integer({ optional: true, format: 'int32' }) },
      { optional: true, description: 'A further readiness listener that the overload manager may close.' },
    ),
    clientCertificate: reference('The Secret with the certificate that Envoy shows to services.'),
    network: object(
      {
        numTrustedHops: integer({ default: 0, format: 'int64', description: 'Trusted proxies in X-Forwarded-For.' }),
        adminPort: integer({ default: 9001, format: 'int32', description: 'Port of the admin page; 0 for none.' }),
        stripTrailingHostDot: flag('Removes the dot at the end of a host.'),
      },
      { default: {}, description: 'Network settings of Envoy.' },
    ),
    managed: object(
      { networkPublishing: networkPublishing(), nodePlacement: nodePlacement() },
      { optional: true, description: 'For a SesameDeployment only: how its Envoy runs.' },
    ),
    logging,
    defaultHTTPVersions: array(string(), {
      default: ['HTTP/1.1', 'HTTP/2'],
      description: 'HTTP versions of listeners: HTTP/1.1, HTTP/2.',
    }),
    timeouts,
    cluster,
    runtimeSettings: map(string(), { optional: true, description: 'Keys of Envoy’s runtime.' }),
    errorPages: array(
      object({
        statusCodes: array(integer({ format: 'int32' }), { description: 'Statuses of answers, from 400 to 599.' }),
        body: text('The body of the answer; empty by default.'),
        contentType: text('text/html; charset=utf-8 by default.'),
        responseStatusCode: integer({ optional: true, format: 'int32', description: 'The status that clients get.' }),
        replaceServiceResponses: boolean({
          optional: true,
          description: 'Replaces answers of services too, not only those of Envoy itself.',
        }),
      }),
      { optional: true, description: 'Error pages of all hosts that have none of their own for a status.' },
    ),
  },
  { default: {}, description: 'What Envoy is configured with.' },
);

const allowedHeaders = (description: string) =>
  array(
    object({
      exact: text('The name.'),
      prefix: text('What the name begins with.'),
      suffix: text('What the name ends with.'),
      contains: text('A part of the name.'),
      ignoreCase: boolean({ optional: true, description: 'Case does not count.' }),
    }),
    { optional: true, description },
  );

const globalExtAuth = object(
  {
    extensionRef: object(
      { apiVersion: text('projectsesame.io/v1alpha1.'), name: text('Its name.'), namespace: text('Its namespace.') },
      { optional: true, description: 'The ExtensionService that authorises requests.' },
    ),
    serviceType: string({ default: 'grpc', description: 'grpc or http.' }),
    httpSettings: object(
      {
        pathPrefix: text('Comes before the path of the request.'),
        allowedAuthorizationHeaders: allowedHeaders('Headers of the request that the service gets.'),
        allowedUpstreamHeaders: allowedHeaders('Headers of its answer that the backend gets.'),
      },
      { optional: true, description: 'Settings for the service type http.' },
    ),
    responseTimeout: text('How long an answer may take.'),
    failOpen: flag('Lets requests pass while the service does not answer.'),
    authPolicy: object(
      {
        disabled: flag('Off unless a route turns it on.'),
        context: map(string(), { optional: true, description: 'Sent to the service with each request.' }),
      },
      { optional: true, description: 'What holds for all routes.' },
    ),
    withRequestBody: object(
      {
        maxRequestBytes: integer({ default: 1024, format: 'int64', description: 'Bytes of the body that are sent.' }),
        allowPartialMessage: flag('Sends a longer body in part.'),
        packAsBytes: flag('Sends the body as bytes.'),
      },
      { optional: true, description: 'Sends the body of requests.' },
    ),
  },
  { optional: true, description: 'Authorisation of every host.' },
);

const optionalFlag = (description: string) => boolean({ optional: true, description });

const rateLimitEntry = object({
  genericKey: object({ key: text('The key.'), value: text('The value.') }, { optional: true }),
  requestHeader: object({ headerName: text('The header.'), descriptorKey: text('The key.') }, { optional: true }),
  requestHeaderValueMatch: object(
    {
      headers: array(
        object({
          name: text('The header.'),
          present: optionalFlag('It is there.'),
          notpresent: optionalFlag('It is not there.'),
          contains: text('A part of its value.'),
          notcontains: text('No part of its value.'),
          ignoreCase: optionalFlag('Case does not count.'),
          exact: text('Its value.'),
          notexact: text('Not its value.'),
          regex: text('What its value matches (RE2).'),
          treatMissingAsEmpty: optionalFlag('One that is missing counts as empty.'),
        }),
        { optional: true },
      ),
      expectMatch: optionalFlag('The headers match, which is the default, or do not.'),
      value: text('The value.'),
    },
    { optional: true },
  ),
  remoteAddress: object({}, { optional: true }),
});

const rateLimitService = object(
  {
    extensionService: text('The ExtensionService, as namespace/name.'),
    domain: string({ default: '', description: 'Domain of the descriptors.' }),
    failOpen: flag('Lets requests pass while the service does not answer.'),
    enableXRateLimitHeaders: flag('Adds X-RateLimit headers to responses.'),
    enableResourceExhaustedCode: flag('Answers gRPC with RESOURCE_EXHAUSTED.'),
    defaultGlobalRateLimitPolicy: object(
      {
        disabled: boolean({ optional: true, description: 'No descriptors.' }),
        descriptors: array(object({ entries: array(rateLimitEntry, { optional: true }) }), {
          optional: true,
          description: 'What is sent to the service.',
        }),
      },
      { optional: true, description: 'Descriptors for every host.' },
    ),
  },
  { optional: true, description: 'The global rate limit service.' },
);

const tracing = object(
  {
    includePodDetail: boolean({ default: true, description: 'Adds name and namespace of the pod.' }),
    serviceName: string({ default: 'sesame', description: 'Name of the service in traces.' }),
    overallSampling: string({ default: '100', description: 'Percentage of requests.' }),
    clientSampling: string({ default: '100', description: 'Percentage of requests that ask for a trace.' }),
    randomSampling: string({ default: '100', description: 'Percentage of other requests.' }),
    maxPathTagLength: integer({ default: 256, format: 'int64', description: 'Characters of the path.' }),
    customTags: array(
      object({
        tagName: string({ description: 'Its name.' }),
        literal: text('A fixed value.'),
        requestHeaderName: text('The header that has the value.'),
      }),
      { optional: true, description: 'Tags of every span.' },
    ),
    extensionService: text('The ExtensionService that collects traces, as namespace/name.'),
  },
  { optional: true, description: 'Tracing.' },
);

const envoyPatches = array(
  object({
    name: string({ description: 'Its name in status, plan and explain.' }),
    type: string({ description: 'Cluster, Listener, FilterChain or VirtualHost.' }),
    resource: string({
      description: 'The resource as `sesame cli` prints its name: default/web/80, ingress_https/shop.example.com.',
    }),
    operations: array(
      object({
        op: string({ description: 'add, remove, replace, move, copy or test.' }),
        path: string({ description: 'The field: /connect_timeout.' }),
        from: text('The source of move and copy.'),
        value: anyValue({ optional: true, description: 'The new value.' }),
      }),
      { description: 'Operations of JSON Patch (RFC 6902).' },
    ),
  }),
  { optional: true, description: 'Changes of generated resources, which have no field of their own.' },
);

/** The configuration with every default. */
export const configurationSchema = object(
  {
    xdsServer,
    ingress,
    debug,
    health: endpoint('0.0.0.0', 8000, 'Where Sesame serves its health.'),
    metrics: metricsEndpoint(8000, 'Where Sesame serves its metrics.'),
    envoy,
    gateway: object(
      {
        controllerName: text('Serves the Gateways of GatewayClasses with this controller.'),
        gatewayRef: reference('Serves this Gateway alone.'),
      },
      { default: {}, description: 'Gateway API.' },
    ),
    httpproxy: object(
      {
        disablePermitInsecure: flag('Ignores permitInsecure of routes.'),
        rootNamespaces: array(string(), {
          optional: true,
          description: 'Namespaces that root HTTPProxies may be in; all by default.',
        }),
        fallbackCertificate: reference('The Secret with the certificate for clients without SNI.'),
      },
      { default: {}, description: 'HTTPProxy.' },
    ),
    leaderElection: object(
      {
        configmap: object(
          {
            name: string({ default: 'leader-elect', description: 'Its name.' }),
            namespace: string({ default: DEFAULT_NAMESPACE, description: 'Its namespace; default the one of Sesame.' }),
          },
          { default: {}, description: 'The lock: a Lease of this name.' },
        ),
        disableLeaderElection: flag('Every replica writes status.'),
        leaseDuration: string({ default: '15s', description: 'How long a lease holds without a renewal.' }),
        renewDeadline: string({ default: '10s', description: 'How long the leader tries to renew.' }),
        retryPeriod: string({ default: '2s', description: 'Between attempts.' }),
      },
      { default: {}, description: 'Which replica writes status.' },
    ),
    enableExternalNameService: flag('Allows Services of type ExternalName.'),
    globalExtAuth,
    rateLimitService,
    policy: object(
      {
        requestHeaders: headers('Headers of requests.'),
        responseHeaders: headers('Headers of responses.'),
        applyToIngress: flag('For Ingress objects too.'),
      },
      { default: {}, description: 'Headers for every route.' },
    ),
    tracing,
    featureFlags: array(string(), { optional: true, description: 'Features that are switched on.' }),
    envoyPatches,
  },
  { default: {} },
);

/** A configuration with all defaults filled in. */
export type FullConfiguration = TypeOf<typeof configurationSchema>;
/** A configuration as users write it. */
export type ConfigurationSpec = InputOf<typeof configurationSchema>;
