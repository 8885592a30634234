// Verification of JSON web tokens: providers of a host, and the requirement of a route.
import { type Message, typed } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import { createResource, type Resource } from '../../xds/index.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { Reporter } from '../problems.ts';
import type { RoutingSettings } from '../settings.ts';
import { CA_CERT, caSecretProblem } from '../upstream/tls-secret.ts';
import { dnsFamily, transport, type UpstreamValidation } from '../upstream/upstream.ts';
import { durationMs, seconds } from './timeouts.ts';

type Provider = NonNullable<ProxyVirtualHost['jwtProviders']>[number];

export interface JwtFilter {
  readonly filter: Message;
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
  const entries: Record<string, Message> = {};
  let defaultProvider: string | undefined;
  const fail = (reason: string, message: string): undefined => {
    reporter.error('JWTVerificationError', reason, message);
    return undefined;
  };
  for (const provider of providers) {
    const { name } = provider;
    if (names.has(name))
      return fail('DuplicateProviderName', `Spec.VirtualHost.JWTProviders is invalid: duplicate name ${name}`);
    names.add(name);
    if (provider.default === true) {
      if (defaultProvider !== undefined)
        return fail(
          'MultipleDefaultProvidersSpecified',
          'Spec.VirtualHost.JWTProviders is invalid: at most one provider can be set as the default',
        );
      defaultProvider = name;
    }
    if (provider.remoteJWKS && provider.localJWKS)
      return fail(
        'JWKSSourceConflict',
        `Spec.VirtualHost.JWTProviders is invalid: ${name} has both remoteJWKS and localJWKS`,
      );
    const source = provider.remoteJWKS
      ? remoteKeys(provider.remoteJWKS, namespace, lookup, settings, fail)
      : provider.localJWKS
        ? localKeys(provider.localJWKS, namespace, lookup, fail)
        : fail(
            'JWKSSourceMissing',
            `Spec.VirtualHost.JWTProviders is invalid: ${name} has neither remoteJWKS nor localJWKS`,
          );
    if (!source) return undefined;
    if (source.cluster) clusters.push(source.cluster);
    entries[name] = {
      ...(provider.issuer && { issuer: provider.issuer }),
      ...(provider.audiences && { audiences: provider.audiences }),
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

export function jwtRequirement(name: string): Message {
  return typed(`${TYPE}.PerRouteConfig`, { requirement_name: name });
}

type Fail = (reason: string, message: string) => undefined;
type Keys = { readonly value: Message; readonly cluster?: Resource } | undefined;

function localKeys(spec: NonNullable<Provider['localJWKS']>, namespace: string, lookup: Lookup, fail: Fail): Keys {
  const ref = secretReference(spec.secretName, namespace);
  const secret = lookup.secret(ref.namespace, ref.name);
  const content = secret?.data[spec.key ?? 'jwks'] ?? secret?.data[spec.key ?? ''];
  if (!secret || !content || !isDelegated(lookup, ref, namespace))
    return fail(
      'LocalJWKSInvalid',
      `Spec.VirtualHost.JWTProviders.LocalJWKS is invalid: Secret ${ref.namespace}/${ref.name} with the key ${spec.key ?? 'jwks'} is not there or not delegated`,
    );
  try {
    const parsed: unknown = JSON.parse(content.toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('keys' in parsed)) throw new Error('no keys');
  } catch {
    return fail(
      'LocalJWKSInvalid',
      `Spec.VirtualHost.JWTProviders.LocalJWKS is invalid: Secret ${ref.namespace}/${ref.name} does not hold a JSON web key set`,
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
): Keys {
  const at = 'Spec.VirtualHost.JWTProviders.RemoteJWKS';
  let url: URL;
  try {
    url = new URL(spec.uri);
  } catch {
    return /:\d+(\/|$)/.test(spec.uri)
      ? fail('RemoteJWKSPortInvalid', `${at}.URI has an invalid port: ${spec.uri}`)
      : fail('RemoteJWKSURIInvalid', `${at}.URI is invalid: ${spec.uri}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return fail(
      'RemoteJWKSSchemeInvalid',
      `${at}.URI has invalid scheme ${JSON.stringify(url.protocol.slice(0, -1))}, must be http or https`,
    );
  const isTls = url.protocol === 'https:';
  let validation: UpstreamValidation | undefined;
  if (spec.validation) {
    if (!isTls)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.UpstreamValidation must not be specified when URI scheme is http.`,
      );
    const ref = secretReference(spec.validation.caSecret, namespace);
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'RemoteJWKSCACertificateNotDelegated',
        `${at}.UpstreamValidation.CACertificate Secret ${ref.namespace}/${ref.name} is not configured for certificate delegation`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? caSecretProblem(secret) : 'Secret not found';
    if (!secret || problem !== undefined)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.UpstreamValidation is invalid: invalid CA Secret "${ref.namespace}/${ref.name}": ${problem ?? ''}`,
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
      `${at}.Timeout is invalid: ${JSON.stringify(spec.timeout)} is not a duration`,
    );
  const cache = spec.cacheDuration === undefined ? 300_000 : durationMs(spec.cacheDuration);
  if (cache === undefined)
    return fail(
      'RemoteJWKSCacheDurationInvalid',
      `${at}.CacheDuration is invalid: ${JSON.stringify(spec.cacheDuration)} is not a duration`,
    );
  const family = spec.dnsLookupFamily ? spec.dnsLookupFamily : settings.envoy.cluster.dnsLookupFamily;
  if (!['auto', 'v4', 'v6', 'all'].includes(family))
    return fail(
      'RemoteJWKSDNSLookupFamilyInvalid',
      `${at}.DNSLookupFamily has an invalid value ${JSON.stringify(family)}, must be auto, all, v4 or v6`,
    );
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const isStandard = port === (isTls ? 443 : 80);
  const name = `dnsname/${url.protocol.slice(0, -1)}/${url.hostname}${isStandard ? '' : `/${port}`}`;
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
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: url.hostname, port_value: port } } } }],
          },
        ],
      },
      ...transport({ protocol: isTls ? 'tls' : '', validation, sni: url.hostname }, settings),
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
