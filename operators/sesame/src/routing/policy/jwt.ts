// Verification of JSON web tokens: providers of a host, and the requirement of a route.
import { type Choice, type Envoy, hexHash, typed } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import { createResource, type Resource } from '../../xds/index.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { Reporter } from '../problems.ts';
import type { RoutingSettings } from '../settings.ts';
import { durationMs, seconds } from '../timeouts.ts';
import { CA_CERT, caSecretProblem, NO_SECRET } from '../upstream/tls-secret.ts';
import { dnsFamily, transport, type UpstreamValidation } from '../upstream/upstream.ts';

type Provider = NonNullable<ProxyVirtualHost['jwtProviders']>[number];

export interface JwtFilter {
  readonly filter: Envoy.Any;
  readonly clusters: readonly Resource[];
  readonly names: ReadonlySet<string>;
  readonly defaultProvider: string | undefined;
}

const TYPE = 'envoy.extensions.filters.http.jwt_authn.v3';

/** Undefined after an error was reported. */
export function jwtFilter(
  providers: readonly Provider[],
  namespace: string,
  lookup: Lookup,
  settings: RoutingSettings,
  reporter: Reporter,
): JwtFilter | undefined {
  const names = new Set<string>();
  const clusters: Resource[] = [];
  const entries: Record<string, Envoy.JwtProvider> = {};
  let defaultProvider: string | undefined;
  const fail = (reason: string, message: string): undefined => {
    reporter.error('JWTVerificationError', reason, message);
    return undefined;
  };
  for (const [index, provider] of providers.entries()) {
    const { name } = provider;
    const at = `spec.virtualhost.jwtProviders[${index}]`;
    if (names.has(name))
      return fail(
        'DuplicateProviderName',
        `${at}.name: ${JSON.stringify(name)} is another provider's; rename one of them`,
      );
    names.add(name);
    if (provider.default === true) {
      if (defaultProvider !== undefined)
        return fail(
          'MultipleDefaultProvidersSpecified',
          `${at}.default: ${JSON.stringify(defaultProvider)} is the default already; keep one of them`,
        );
      defaultProvider = name;
    }
    if (provider.remoteJWKS && provider.localJWKS)
      return fail('JWKSSourceConflict', `${at}: it has both remoteJWKS and localJWKS; keep one of them`);
    const source = provider.remoteJWKS
      ? remoteKeys(provider.remoteJWKS, namespace, lookup, settings, fail, `${at}.remoteJWKS`)
      : provider.localJWKS
        ? localKeys(provider.localJWKS, namespace, lookup, fail, `${at}.localJWKS`)
        : fail('JWKSSourceMissing', `${at}: it has neither remoteJWKS nor localJWKS; set one of them`);
    if (!source) return undefined;
    if (source.cluster) clusters.push(source.cluster);
    entries[name] = {
      issuer: provider.issuer,
      audiences: provider.audiences,
      forward: provider.forwardJWT ?? false,
      ...source.value,
    };
  }
  const filter = typed(`${TYPE}.JwtAuthentication`, {
    providers: entries,
    requirement_map: Object.fromEntries([...names].map((name) => [name, { provider_name: name }])),
  });
  return { filter, clusters, names, defaultProvider };
}

export function jwtRequirement(name: string): Envoy.Any {
  return typed(`${TYPE}.PerRouteConfig`, { requirement_name: name });
}

/** The keys of a provider: in Envoy's configuration, or where Envoy fetches them. */
type JwtKeys = Choice<Envoy.JwtProvider, 'local_jwks' | 'remote_jwks'>;
type Fail = (reason: string, message: string) => undefined;
type Keys = { readonly value: JwtKeys; readonly cluster?: Resource } | undefined;

function localKeys(
  spec: NonNullable<Provider['localJWKS']>,
  namespace: string,
  lookup: Lookup,
  fail: Fail,
  at: string,
): Keys {
  const ref = secretReference(spec.secretName, namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace))
    return fail(
      'LocalJWKSInvalid',
      `${at}.secretName: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
    );
  const secret = lookup.secret(ref.namespace, ref.name);
  if (!secret) return fail('LocalJWKSInvalid', `${at}.secretName: Secret ${where} cannot be used: ${NO_SECRET}`);
  const key = spec.key ?? 'jwks';
  const content = secret.data[key];
  if (!content) return fail('LocalJWKSInvalid', `${at}.key: Secret ${where} has no key ${JSON.stringify(key)}; add it`);
  try {
    const parsed: unknown = JSON.parse(content.toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('keys' in parsed) || !Array.isArray(parsed.keys))
      throw new Error('no keys');
  } catch {
    return fail(
      'LocalJWKSInvalid',
      `${at}.key: ${JSON.stringify(key)} of Secret ${where} is not a JSON web key set; put one there, {"keys": [...]}`,
    );
  }
  return { value: { local_jwks: { inline_string: content.toString('utf8') } } };
}

function remoteKeys(
  spec: NonNullable<Provider['remoteJWKS']>,
  namespace: string,
  lookup: Lookup,
  settings: RoutingSettings,
  fail: Fail,
  at: string,
): Keys {
  let url: URL;
  try {
    url = new URL(spec.uri);
  } catch {
    return /:\d+(\/|$)/.test(spec.uri)
      ? fail(
          'RemoteJWKSPortInvalid',
          `${at}.uri: the port of ${JSON.stringify(spec.uri)} is none; use a number from 1 to 65535`,
        )
      : fail(
          'RemoteJWKSURIInvalid',
          `${at}.uri: ${JSON.stringify(spec.uri)} is no URI; write one such as https://issuer.example.com/keys`,
        );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return fail(
      'RemoteJWKSSchemeInvalid',
      `${at}.uri: the scheme of ${JSON.stringify(spec.uri)} is not known; use http or https`,
    );
  const isTls = url.protocol === 'https:';
  let validation: UpstreamValidation | undefined;
  if (spec.validation) {
    if (!isTls)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.validation: there is nothing to verify over http; use https in uri, or remove it`,
      );
    const ref = secretReference(spec.validation.caSecret, namespace);
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'RemoteJWKSCACertificateNotDelegated',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? caSecretProblem(secret) : NO_SECRET;
    if (!secret || problem !== undefined)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} cannot be used: ${problem ?? ''}`,
      );
    validation = {
      caName: `${ref.namespace}/${ref.name}`,
      ca: secret.data[CA_CERT] ?? Buffer.alloc(0),
      subjectNames: [spec.validation.subjectName],
    };
  }
  const timeout = spec.timeout === undefined ? 1_000 : durationMs(spec.timeout);
  if (timeout === undefined)
    return fail(
      'RemoteJWKSTimeoutInvalid',
      `${at}.timeout: ${JSON.stringify(spec.timeout)} is not a duration; write one such as 1s`,
    );
  const cache = spec.cacheDuration === undefined ? 300_000 : durationMs(spec.cacheDuration);
  if (cache === undefined)
    return fail(
      'RemoteJWKSCacheDurationInvalid',
      `${at}.cacheDuration: ${JSON.stringify(spec.cacheDuration)} is not a duration; write one such as 5m`,
    );
  const family = spec.dnsLookupFamily ? spec.dnsLookupFamily : settings.envoy.cluster.dnsLookupFamily;
  if (!['auto', 'v4', 'v6', 'all'].includes(family))
    return fail(
      'RemoteJWKSDNSLookupFamilyInvalid',
      `${at}.dnsLookupFamily: ${JSON.stringify(family)} is not known; use auto, all, v4 or v6`,
    );
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const isStandard = port === (isTls ? 443 : 80);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  // Providers of one address may verify it in different ways.
  const own =
    validation || spec.dnsLookupFamily
      ? `/${hexHash(JSON.stringify([validation?.caName, validation?.subjectNames, family]), 5)}`
      : '';
  const name = `dnsname/${url.protocol.slice(0, -1)}/${hostname}${isStandard ? '' : `/${port}`}${own}`;
  const cluster = createResource({
    type: 'cds',
    name,
    value: {
      name,
      type: family === 'all' ? 'LOGICAL_DNS' : 'STRICT_DNS',
      dns_lookup_family: dnsFamily(family),
      connect_timeout: '2s',
      load_assignment: {
        cluster_name: name,
        endpoints: [
          {
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: hostname, port_value: port } } } }],
          },
        ],
      },
      ...transport({ protocol: isTls ? 'tls' : '', validation, sni: hostname }, settings),
    },
  });
  return {
    value: {
      remote_jwks: {
        http_uri: { uri: spec.uri, cluster: name, timeout: seconds(timeout) },
        cache_duration: seconds(cache),
      },
    },
    cluster,
  };
}
