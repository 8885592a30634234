// Features of Sesame that users of Contour have requested, with the number of the issue in Contour's repository.

export interface RequestedFeature {
  readonly issues: readonly number[];
  readonly text: string;
}

export const FEATURES: readonly RequestedFeature[] = [
  { issues: [2491, 4113], text: 'Configuration takes effect without a restart.' },
  {
    issues: [4408],
    text: 'The condition `Applied` of a SesameConfiguration shows whether an edit is in force in every pod.',
  },
  { issues: [6266, 1286], text: 'Aggregated xDS with differences (`delta-ads`), which is the default.' },
  { issues: [1176, 3037], text: 'A resource that Envoy refuses harms only itself, and its object has a warning.' },
  {
    issues: [4241, 4364],
    text: '`pathRewritePolicy.replaceRegex` of a route rewrites paths by a regular expression with groups.',
  },
  {
    issues: [5649, 6064],
    text: '`virtualhost.fqdns` has more names of a host. Each is judged by itself, and the oldest HTTPProxy keeps a name that several have.',
  },
  {
    issues: [5554],
    text: '`fqdn: "*"` of an HTTPProxy is the host of every name that no other one has, with TLS too.',
  },
  {
    issues: [1493, 5240],
    text: 'A request that reaches a host over a connection that a client opened for another one (HTTP/2 coalescing) is answered with 421, without a script for each request.',
  },
  {
    issues: [320, 3883],
    text: '`virtualhost.errorPages`, and `envoy.errorPages` for all hosts, replace the answers of Envoy, or of services too, by status.',
  },
  {
    issues: [5317, 4531],
    text: '`outlierDetection` of a service, and `envoy.cluster.outlierDetection` for all services, leave out endpoints that answer with errors.',
  },
  {
    issues: [6657, 3420],
    text: '`virtualhost.authorization` works on hosts without TLS: each asks its own service.',
  },
  {
    issues: [2582],
    text: '`envoy.http3.enabled` of a SesameConfiguration serves hosts with TLS over HTTP/3.',
  },
  {
    issues: [2664, 3185],
    text: '`virtualhost.oidc` lets clients log in at a provider of OpenID Connect, without a service of its own for it.',
  },
  {
    issues: [4679],
    text: '`compressionPolicy` of a route or a virtual host chooses the compression of answers, or none.',
  },
  {
    issues: [29],
    text: '`envoyPatches` of a SesameConfiguration changes values of Envoy that have no field of their own, by JSON Patches of named resources. No patch can weaken a host ([sesame-patches.md](sesame-patches.md)).',
  },
  { issues: [2019], text: 'One route that is not valid takes down that route alone.' },
  { issues: [1886], text: 'Problems of an Ingress are Events on it.' },
  { issues: [1598], text: '`sesame explain HOST/PATH` names the objects and the field that a request is routed by.' },
];
