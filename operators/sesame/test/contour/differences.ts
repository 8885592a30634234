// Where Sesame differs from Contour on purpose: each entry is on the page docs/sesame-and-contour.md, and excuses the differences that the
// test beside it finds for its reason. A difference that no entry excuses fails the test.

export interface Difference {
  readonly id: string;
  /** The text on the page: the behaviour of both, and the reason. */
  readonly text: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    id: 'oldest-host',
    text: 'Of HTTPProxies with one `fqdn` the oldest keeps it, and the others get `DuplicateVhost`. Contour serves none of them, so an HTTPProxy in any namespace could take down a host of another one.',
  },
  {
    id: 'closed-hosts',
    text: 'The name of an HTTPProxy that is not valid as a whole is answered with 404, and its TLS connections are closed, where a wildcard of another object covers it. With Contour its requests reach the wildcard, which may ask nobody for permission.',
  },
  {
    id: 'one-bad-route',
    text: 'A route that is not valid answers 502 (503 where its Services are missing); all other routes of the HTTPProxy are served. Contour drops all routes of the HTTPProxy, or the host.',
  },
  {
    id: 'several-errors',
    text: 'Of an object with several mistakes both report errors, but not always the same ones first. Sesame names the path of each field.',
  },
  {
    id: 'parts-of-invalid-roots',
    text: 'HTTPProxies that a root includes are `Orphaned` while the root is not valid as a whole, with the name of that root. Which errors of a root end its evaluation differs a little.',
  },
  {
    id: 'oldest-path',
    text: 'A path that two Ingresses have for one host belongs to the oldest, and the other one gets an Event. With Contour nothing reports it.',
  },
  {
    id: 'ingress-without-service',
    text: 'A path of an Ingress whose Service cannot be used answers 503 and is reported by an Event. Contour leaves the path out, so that its requests reach the Service of a shorter path.',
  },
  {
    id: 'ingress-timeouts',
    text: 'The annotation `response-timeout` with a value that is no duration means no timeout, and an Event reports it. Contour uses Envoy’s 15 seconds.',
  },
  {
    id: 'exact-conditions',
    text: 'An `exact` condition is exact whatever stands beside it. Contour takes it as a prefix when a header or query condition follows it in the list.',
  },
  {
    id: 'zero-weights',
    text: 'Services whose weights are all 0 get no requests: the route answers 503. Contour splits requests evenly between them.',
  },
  {
    id: 'no-retries',
    text: '`retryPolicy.count: -1` (`num-retries: "-1"` of an Ingress) means no retry, as documented. Contour 1.33 leaves the number out, and Envoy retries once.',
  },
  {
    id: 'policies-of-answers',
    text: 'Header policies and rate limits of a route hold for its redirects and direct responses too. Contour ignores them there.',
  },
  {
    id: 'cookie-rewrites',
    text: 'Rewrites of cookies are attached to the route or the Service, with the same effect. Contour attaches them to each weighted cluster.',
  },
  {
    id: 'affinity-cookie',
    text: 'The cookie of the strategy `Cookie` is `X-Sesame-Session-Affinity`. After a move from `X-Contour-Session-Affinity` clients are balanced once more.',
  },
  {
    id: 'unknown-jwt-provider',
    text: '`jwtVerificationPolicy.require` with a provider that the root does not have is an error, and the route answers 502. Contour serves the route without verification if the root has no providers.',
  },
  {
    id: 'authorization-without-service',
    text: '`virtualhost.authorization` without `extensionRef` is an error unless `authPolicy.disabled` is set or there is a `globalExtAuth`. Contour serves the host without authorization.',
  },
  {
    id: 'authorization-without-termination',
    text: '`virtualhost.authorization` on a host whose TLS is passed through is an error. Contour ignores it.',
  },
  {
    id: 'plain-authorization',
    text: '`virtualhost.authorization` with a service of its own holds on a host without TLS too. Contour refuses it there.',
  },
  {
    id: 'empty-ranges',
    text: '`healthCheckPolicy.expectedStatuses` with an empty range is an error of the route. Contour sends it to Envoy, which refuses all clusters of the update.',
  },
  {
    id: 'health-checks',
    text: 'Health checks keep their interval before the first request; with Contour Envoy waits 60 seconds for the first check of a cluster without traffic.',
  },
  {
    id: 'misdirected-requests',
    text: 'A request that reaches a host over the connection of another one (HTTP/2 coalescing) is answered with 421 by a route. Contour runs a Lua script for each request of every host.',
  },
  {
    id: 'extension-weights',
    text: 'The weights of an ExtensionService’s Services count. Contour sends them without the setting that Envoy needs for them.',
  },
  {
    id: 'extension-tls',
    text: 'The TLS versions and ciphers of `envoy.cluster.upstreamTLS` hold for ExtensionServices too. Contour leaves them to Envoy.',
  },
  {
    id: 'global-authorization-timeout',
    text: '`globalExtAuth.responseTimeout` holds for hosts without TLS too. Contour uses it for hosts with TLS alone.',
  },
  {
    id: 'secret-names',
    text: 'The SDS name of a certificate does not change when it is renewed, so that a renewal changes no listener. Contour’s names have a digest of the certificate.',
  },
  {
    id: 'cluster-names',
    text: 'Every setting of a cluster is part of the digest in its name. With Contour two routes that differ only in a connect timeout, a client certificate or circuit breakers share one cluster, and the first of them wins.',
  },
  {
    id: 'checked-certificates',
    text: 'A certificate that does not fit its key, or that has expired, is an error of the objects that use it. Contour hands it to Envoy.',
  },
];
