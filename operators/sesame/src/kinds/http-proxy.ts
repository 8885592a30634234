import {
  array,
  conditions,
  defineKind,
  integer,
  type KindOf,
  number,
  object,
  optional,
  schemaOf,
  string,
} from '@capstan/kube';
import {
  authorizationPolicy,
  choice,
  compressionPolicy,
  cookieRewrites,
  count,
  duration,
  flag,
  headerPolicy,
  ipFilter,
  loadBalancerPolicy,
  matchConditions,
  nonEmpty,
  rateLimitPolicy,
  services,
  text,
  texts,
  timeoutPolicy,
  upstreamValidation,
} from './http-proxy-parts.ts';
import * as pattern from './patterns.ts';

const clientValidation = object(
  {
    caSecret: nonEmpty('Secret with ca.crt that client certificates are verified with.'),
    skipClientCertValidation: flag('Asks for a certificate and does not verify it.'),
    forwardClientCertificate: object(
      { subject: flag(), cert: flag(), chain: flag(), dns: flag(), uri: flag() },
      { optional: true, description: 'What of the certificate is sent to the service.' },
    ),
    crlSecret: nonEmpty('Secret with crl.pem.'),
    crlOnlyVerifyLeafCert: flag(),
    optionalClientCertificate: flag('Clients without a certificate are served too.'),
  },
  { optional: true },
);

const tls = object(
  {
    secretName: text('Secret with the certificate; NAMESPACE/NAME needs a delegation.'),
    minimumProtocolVersion: text('1.2 or 1.3.'),
    maximumProtocolVersion: text('1.2 or 1.3.'),
    passthrough: flag('TLS is not terminated; needs tcpproxy.'),
    clientValidation,
    enableFallbackCertificate: flag('Serves clients without SNI with the fallback certificate.'),
  },
  { optional: true },
);

const headerMatch = () =>
  array(
    object(
      { exact: text(), prefix: text(), suffix: text(), contains: text(), ignoreCase: flag() },
      {
        rules: [
          {
            rule:
              ['exact', 'prefix', 'suffix', 'contains'].map((name) => `(has(self.${name}) ? 1 : 0)`).join(' + ') +
              ' == 1',
            message: 'set exactly one of exact, prefix, suffix and contains',
          },
        ],
      },
    ),
    { optional: true },
  );

const authorization = object(
  {
    extensionRef: object({ apiVersion: nonEmpty(), namespace: nonEmpty(), name: nonEmpty() }, { optional: true }),
    serviceType: choice(['http', 'grpc'], 'grpc by default.'),
    httpSettings: object(
      {
        pathPrefix: text(),
        allowedAuthorizationHeaders: headerMatch(),
        allowedUpstreamHeaders: headerMatch(),
      },
      { optional: true },
    ),
    authPolicy: authorizationPolicy(),
    responseTimeout: duration(),
    failOpen: flag(),
    withRequestBody: object(
      {
        maxRequestBytes: integer({ optional: true, minimum: 1, format: 'int32' }),
        allowPartialMessage: flag(),
        packAsBytes: flag(),
      },
      { optional: true },
    ),
  },
  {
    optional: true,
    rules: [
      {
        rule: "!has(self.httpSettings) || (has(self.serviceType) && self.serviceType == 'http')",
        message: 'httpSettings need serviceType: http',
      },
    ],
  },
);

const token = () => string({ pattern: pattern.TOKEN });

const corsPolicy = object(
  {
    allowCredentials: flag(),
    allowOrigin: array(string(), { minItems: 1 }),
    allowMethods: array(token(), { minItems: 1 }),
    allowHeaders: array(token(), { optional: true, minItems: 1 }),
    exposeHeaders: array(token(), { optional: true, minItems: 1 }),
    maxAge: text(undefined, { pattern: pattern.DURATION_OR_ZERO }),
    allowPrivateNetwork: flag(),
  },
  { optional: true },
);

const jwtProviders = array(
  object(
    {
      name: string({ minLength: 1 }),
      default: flag(),
      issuer: text(),
      audiences: texts(),
      remoteJWKS: object(
        {
          uri: string({ minLength: 1 }),
          validation: upstreamValidation(),
          timeout: text(undefined, { pattern: pattern.DURATION }),
          cacheDuration: text(undefined, { pattern: pattern.DURATION }),
          dnsLookupFamily: choice(['auto', 'v4', 'v6']),
        },
        { optional: true },
      ),
      localJWKS: object({ secretName: string({ minLength: 1 }), key: nonEmpty() }, { optional: true }),
      forwardJWT: flag(),
    },
    {
      rules: [
        { rule: 'has(self.remoteJWKS) != has(self.localJWKS)', message: 'set exactly one of remoteJWKS and localJWKS' },
      ],
    },
  ),
  { optional: true },
);

const oidc = object(
  {
    authorizationEndpoint: string({ minLength: 1, description: 'Where clients log in: an https URI.' }),
    tokenEndpoint: object(
      {
        uri: string({ minLength: 1, description: 'Where Envoy gets tokens: an https URI.' }),
        validation: upstreamValidation(),
        timeout: text('5s by default.', { pattern: pattern.DURATION }),
        dnsLookupFamily: choice(['auto', 'v4', 'v6']),
      },
      { description: 'The endpoint of the provider that answers Envoy.' },
    ),
    clientID: string({ minLength: 1, description: 'The name of this client at the provider.' }),
    secretName: string({
      minLength: 1,
      description: 'Secret with client-secret, of the provider, and hmac-secret, 32 random bytes of your own.',
    }),
    scopes: array(string({ minLength: 1 }), { optional: true, description: 'openid by default.' }),
    callbackPath: text('/oauth2/callback by default; the provider must know it.', { pattern: pattern.ABSOLUTE_PATH }),
    logoutPath: text('/oauth2/logout by default.', { pattern: pattern.ABSOLUTE_PATH }),
    forwardAccessToken: flag('Services get the access token as a bearer token.'),
  },
  { optional: true, description: 'Clients log in at a provider of OpenID Connect before requests pass.' },
);

const virtualhost = object(
  {
    fqdn: text('The host name; may begin with *., or be * for every name that no other host has.', {
      minLength: 1,
      pattern: pattern.FQDN,
    }),
    fqdns: array(string({ minLength: 1, maxLength: 253, pattern: pattern.FQDN }), {
      optional: true,
      maxItems: 64,
      description: 'More names with the same routes. The oldest HTTPProxy keeps a name that several have.',
    }),
    tls,
    authorization,
    corsPolicy,
    rateLimitPolicy: rateLimitPolicy(),
    compressionPolicy: compressionPolicy(),
    jwtProviders,
    oidc,
    ipAllowPolicy: ipFilter('Only these addresses are served.'),
    ipDenyPolicy: ipFilter('These addresses are refused.'),
    errorPages: array(
      object({
        statusCodes: array(integer({ minimum: 400, maximum: 599, format: 'int32' }), { minItems: 1, maxItems: 64 }),
        body: text('The body of the answer; empty by default.', { maxLength: 16_384 }),
        contentType: text('text/html; charset=utf-8 by default.', { minLength: 1, maxLength: 256 }),
        responseStatusCode: integer({
          optional: true,
          minimum: 200,
          maximum: 599,
          format: 'int32',
          description: 'The status that clients get; that of the answer by default.',
        }),
        replaceServiceResponses: flag('Replaces answers of services too, not only those of Envoy itself.'),
      }),
      { optional: true, maxItems: 64, description: 'Answers that take the place of errors.' },
    ),
  },
  { optional: true, description: 'The host of its routes and includes; it turns the object into a root.' },
);

const REDIRECTS = [301, 302, 303, 307, 308];

const route = object({
  conditions: matchConditions(),
  services: services(),
  enableWebsockets: flag(),
  permitInsecure: flag('Serves over plain HTTP too instead of redirecting to HTTPS.'),
  authPolicy: authorizationPolicy(),
  timeoutPolicy: timeoutPolicy(),
  retryPolicy: object(
    {
      count: integer({ optional: true, minimum: -1, format: 'int64' }),
      perTryTimeout: duration(),
      retryOn: texts(),
      retriableStatusCodes: array(integer({ format: 'int32' }), { optional: true }),
    },
    { optional: true },
  ),
  healthCheckPolicy: object(
    {
      path: string(),
      host: text(),
      intervalSeconds: integer({ optional: true, format: 'int64' }),
      timeoutSeconds: integer({ optional: true, format: 'int64' }),
      unhealthyThresholdCount: count(),
      healthyThresholdCount: count(),
      expectedStatuses: array(
        object({
          start: integer({ minimum: 100, maximum: 599, format: 'int64' }),
          end: integer({ minimum: 101, maximum: 600, format: 'int64' }),
        }),
        { optional: true },
      ),
    },
    { optional: true },
  ),
  loadBalancerPolicy: loadBalancerPolicy(),
  pathRewritePolicy: object(
    {
      replacePrefix: array(object({ prefix: nonEmpty(), replacement: string({ minLength: 1 }) }), { optional: true }),
      replaceRegex: object(
        {
          pattern: string({
            minLength: 1,
            maxLength: 1024,
            description: 'The part of the path that is replaced (RE2).',
          }),
          substitution: string({ maxLength: 1024, description: 'Takes its place; \\1 stands for the first group.' }),
        },
        { optional: true, description: 'Rewrites by a regular expression, whatever condition the path has.' },
      ),
    },
    { optional: true },
  ),
  requestHeadersPolicy: headerPolicy('Headers of requests.'),
  responseHeadersPolicy: headerPolicy('Headers of responses.'),
  cookieRewritePolicies: cookieRewrites(),
  rateLimitPolicy: rateLimitPolicy(),
  compressionPolicy: compressionPolicy(),
  requestRedirectPolicy: object(
    {
      scheme: choice(['http', 'https']),
      hostname: text(undefined, { minLength: 1, maxLength: 253, pattern: pattern.HOST }),
      port: integer({ optional: true, minimum: 1, maximum: 65_535, format: 'int32' }),
      statusCode: optional(schemaOf<number>({ type: 'integer', enum: REDIRECTS, description: '302 by default.' })),
      path: text(undefined, { pattern: pattern.ABSOLUTE_PATH }),
      prefix: text(undefined, { pattern: pattern.ABSOLUTE_PATH }),
    },
    { optional: true },
  ),
  directResponsePolicy: object(
    { statusCode: integer({ minimum: 200, maximum: 599, format: 'int32' }), body: text() },
    { optional: true },
  ),
  internalRedirectPolicy: object(
    {
      maxInternalRedirects: integer({ optional: true, format: 'int32' }),
      redirectResponseCodes: array(schemaOf<number>({ type: 'integer', enum: REDIRECTS }), { optional: true }),
      allowCrossSchemeRedirect: choice(['Always', 'Never', 'SafeOnly'], 'Never by default.'),
      denyRepeatedRouteRedirect: flag(),
    },
    { optional: true },
  ),
  jwtVerificationPolicy: object({ require: text(), disabled: flag() }, { optional: true }),
  oidcPolicy: object({ disabled: flag('Clients need not log in.') }, { optional: true }),
  ipAllowPolicy: ipFilter('Takes the place of that of the virtual host.'),
  ipDenyPolicy: ipFilter('Takes the place of that of the virtual host.'),
});

const tcpInclude = () => object({ name: string(), namespace: text() }, { optional: true });

const subCondition = object({
  type: string(),
  status: string(),
  reason: string(),
  message: string(),
});

/** Conditions as every kind has them, with a list of single problems. */
export function detailedConditions() {
  const { json } = conditions();
  const details = array(subCondition, { optional: true }).json;
  const item = json.items ?? {};
  const items = { ...item, properties: { ...item.properties, errors: details, warnings: details } };
  return optional(schemaOf<DetailedCondition[]>({ ...json, items }));
}

export interface DetailedCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
  errors?: { type: string; status: string; reason: string; message: string }[];
  warnings?: { type: string; status: string; reason: string; message: string }[];
}

/** A root, with a virtual host, or a part that roots include. */
export const HTTPProxy = defineKind({
  group: 'projectsesame.io',
  version: 'v1',
  kind: 'HTTPProxy',
  plural: 'httpproxies',
  shortNames: ['proxy', 'proxies'],
  scope: 'Namespaced',
  description: 'Routes of a host, or a part of them that other HTTPProxies include.',
  spec: object({
    virtualhost,
    routes: array(route, { optional: true }),
    includes: array(object({ name: string({ minLength: 1 }), namespace: text(), conditions: matchConditions() }), {
      optional: true,
    }),
    tcpproxy: object(
      {
        services: services(),
        include: tcpInclude(),
        includes: tcpInclude(),
        loadBalancerPolicy: loadBalancerPolicy(),
        healthCheckPolicy: object(
          {
            intervalSeconds: integer({ optional: true, format: 'int64' }),
            timeoutSeconds: integer({ optional: true, format: 'int64' }),
            unhealthyThresholdCount: integer({ optional: true, format: 'int32' }),
            healthyThresholdCount: integer({ optional: true, format: 'int32' }),
          },
          { optional: true },
        ),
      },
      { optional: true },
    ),
    ingressClassName: text(),
  }),
  status: object(
    {
      currentStatus: string({ optional: true }),
      description: string({ optional: true }),
      conditions: detailedConditions(),
      loadBalancer: object(
        {
          ingress: array(
            object({
              ip: text(),
              hostname: text(),
              ipMode: text(),
              ports: array(object({ port: number(), protocol: string(), error: text() }), { optional: true }),
            }),
            { optional: true },
          ),
        },
        { optional: true },
      ),
    },
    // `kubectl get` shows it until a Sesame has read the object; it stays when none does.
    { default: { currentStatus: 'NotReconciled', description: 'Waiting for controller' } },
  ),
  printerColumns: [
    { name: 'FQDN', jsonPath: '.spec.virtualhost.fqdn' },
    { name: 'TLS Secret', jsonPath: '.spec.virtualhost.tls.secretName' },
    { name: 'Status', jsonPath: '.status.currentStatus' },
    { name: 'Status Description', jsonPath: '.status.description' },
  ],
});
export type HTTPProxy = KindOf<typeof HTTPProxy>;
export type ProxySpec = HTTPProxy['spec'];
export type ProxyRoute = NonNullable<ProxySpec['routes']>[number];
export type ProxyService = NonNullable<ProxyRoute['services']>[number];
export type ProxyVirtualHost = NonNullable<ProxySpec['virtualhost']>;
export type MatchCondition = NonNullable<ProxyRoute['conditions']>[number];
export type HeaderPolicySpec = NonNullable<ProxyRoute['requestHeadersPolicy']>;
